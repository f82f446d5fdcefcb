"""The C file is compiled, and its scores are ours: those of trees to the last bit."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import Features, Floats
from swaprank.data.categories import Categories
from swaprank.exchange.export import export
from swaprank.exchange.exported import Export
from swaprank.exchange.to_c import content
from swaprank.exchange.tree_building import PeerTree, build_forest
from swaprank.models.forest import Forest, single_leaf
from swaprank.models.served import Trees
from tests.exchange.fitted_models import NAMES, RANKERS, documents, fitted
from tests.exchange.orders import assert_same
from tests.models.random_forests import naive_scores, random_documents, random_forest

COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler"),
    pytest.mark.skipif(sys.platform == "win32", reason="shared libraries are made in another way"),
]
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")

EXACT = ("trees", "one leaf", "trees of missing values", "trees of categories")
NEARLY = ("sum of trees", "linear", "smoothrank", "sum of linear models", "trees and linear")
"""Our own sums are in another order."""


def compiled(text: bytes, folder: Path, *flags: str) -> ctypes.CDLL:
    """A shared library of a C file; a warning is an error."""
    (folder / "model.c").write_bytes(text)
    command = [str(COMPILER), *STRICT, *(flags or ("-O1",)), "-shared", "-fPIC", "model.c", "-o", "model.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "model.so"))


def pointer(array: Any, kind: Any) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(kind))


def many(library: ctypes.CDLL, X: Features, name: str = "m") -> Floats:
    X, scores = np.ascontiguousarray(X, np.float32), np.full(len(X) + 1, 7.5)
    scorer = getattr(library, f"{name}_score_many")
    scorer.restype = None
    scorer(pointer(X, ctypes.c_float), ctypes.c_size_t(len(X)), pointer(scores, ctypes.c_double))
    assert scores[-1] == 7.5
    return scores[:-1]


def one_by_one(library: ctypes.CDLL, X: Features, name: str = "m") -> Floats:
    scorer = getattr(library, f"{name}_score")
    scorer.restype = ctypes.c_double
    return np.array([scorer(pointer(row, ctypes.c_float)) for row in np.ascontiguousarray(X, np.float32)])


def written(
    forest: Forest, names: tuple[str, ...] | None = None, categories: dict[str, Categories] | None = None
) -> bytes:
    names = names or tuple(f"f{at}" for at in range(forest.n_features))
    return content(Export("c", Trees(forest), names, categories or {}, "m", "refuse", False, None))


@pytest.mark.parametrize("name", RANKERS)
def test_scores_are_ours(name: str, tmp_path: Path) -> None:
    fitted(name).export(tmp_path / "model.c", to="c", name="m")
    library = compiled((tmp_path / "model.c").read_bytes(), tmp_path)
    X = documents(name)
    own, found = fitted(name).model_.score(X), many(library, X)
    if name in EXACT:
        np.testing.assert_array_equal(found, own)
    else:
        assert_same(found, own, 1e-14 if name in NEARLY else 1e-7 if name.endswith("machine") else 5e-7)
    np.testing.assert_array_equal(one_by_one(library, X[::7]), found[::7])


@given(
    seed=st.integers(0, 2**32 - 1), n_leaves=st.lists(st.integers(1, 12), max_size=5), share=st.sampled_from((0, 0.5))
)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_forests_are_scored_to_the_last_bit(
    seed: int, n_leaves: list[int], share: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = np.random.default_rng(seed)
    forest, X = random_forest(rng, n_leaves, set_share=share), random_documents(rng, 150)
    library = compiled(written(forest), tmp_path_factory.mktemp("c"), "-O2")
    own = naive_scores(forest, X)
    for n in (150, 70, 64, 9, 8, 3, 0):
        np.testing.assert_array_equal(many(library, X[:n]), own[:n])
    np.testing.assert_array_equal(one_by_one(library, X), own)


def test_real_documents_are_scored_exactly(shared_data: Path, tmp_path: Path) -> None:
    data = sr.read(shared_data / "mslr-sample" / "test.txt.xz")
    ranker = sr.LambdaMART(n_trees=20).fit(data)
    ranker.export(tmp_path / "model.c", to="c", name="m")
    library = compiled((tmp_path / "model.c").read_bytes(), tmp_path)
    np.testing.assert_array_equal(many(library, data.features), ranker.predict(data))


def test_a_deep_chain_and_forests_without_nodes(tmp_path: Path) -> None:
    n = 5000
    limits, values = np.arange(n, 0, -1.0), np.arange(n + 1.0)
    chain = PeerTree([0] * n, limits, [False] * n, [*range(1, n), ~n], [~at for at in range(n)], values.tolist())
    X = np.array([[-1], [0.5], [2500], [n], [np.nan], [np.inf], [-np.inf], [-0.0], [0.0]], np.float32)
    for at, forest in enumerate((build_forest([chain], 1), build_forest([], 1, 0.75), single_leaf(0.1, 1, 4))):
        (folder := tmp_path / str(at)).mkdir()
        library = compiled(written(forest), folder)
        np.testing.assert_array_equal(many(library, X), forest.score(X))
        np.testing.assert_array_equal(one_by_one(library, X), forest.score(X))


def test_numbers_at_the_borders_of_single_precision(tmp_path: Path) -> None:
    limits = np.array([np.finfo(np.float32).max, np.finfo(np.float32).tiny, 1e-45, -0.0, -np.finfo(np.float32).max])
    stumps = [PeerTree([0], [limit], [at % 2 == 0], [~0], [~1], [-(2.0**-at), 0.1]) for at, limit in enumerate(limits)]
    forest = build_forest(stumps, 1, base_score=-1e-300)
    values = limits.astype(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        near = [np.nextafter(values, np.float32(towards)) for towards in (-np.inf, np.inf)]
    X = np.concatenate((values, *near, [np.nan, np.inf, -np.inf, 0.0])).astype(np.float32)[:, None]
    np.testing.assert_array_equal(many(compiled(written(forest), tmp_path), X), naive_scores(forest, X))


def test_names_and_categories_are_data(tmp_path: Path) -> None:
    """Whatever names are, they are strings of the program."""
    names = ('a"); }', "*/ int x;", "back\\slash\n", "??/ trigraph", "prix €", "")
    categories = {names[2]: ("nike", "b\\", 'q"', "é", "??="), names[4]: ("2", "10", "nike"), names[5]: ()}
    forest = build_forest([PeerTree([0], [0.5], [True], [~0], [~1], [-1.0, 1.0])], 6)
    library = compiled(written(forest, names, categories), tmp_path)
    found = (ctypes.c_char_p * 6).in_dll(library, "m_feature_names")
    assert tuple(name.decode() for name in found if name is not None) == names
    library.m_category.restype = ctypes.c_float
    for feature, known in ((2, categories[names[2]]), (4, categories[names[4]])):
        for code, value in enumerate(known):
            assert library.m_category(ctypes.c_size_t(feature), ctypes.c_char_p(value.encode())) == code
    for feature, value in ((2, "2"), (4, "1"), (4, ""), (0, "nike"), (5, "nike"), (99, "nike")):
        assert np.isnan(library.m_category(ctypes.c_size_t(feature), ctypes.c_char_p(value.encode())))
    with pytest.raises(sr.errors.ExportError, match="zero byte"):
        written(forest, ("a\0b", *names[1:]))


def test_two_models_in_one_program(tmp_path: Path) -> None:
    """Also in one file, and as C++."""
    fitted("trees of categories").export(tmp_path / "a.c", to="c", name="shop ranker")
    fitted("stack of everything").export(tmp_path / "b.c", to="c", name="2nd")
    both = (tmp_path / "a.c").read_bytes() + (tmp_path / "b.c").read_bytes()
    library = compiled(both, tmp_path)
    X = documents("trees")[:50]
    np.testing.assert_array_equal(many(library, X, "shop_ranker"), fitted("trees of categories").model_.score(X))
    assert_same(many(library, X, "model_2nd"), fitted("stack of everything").model_.score(X), 5e-7)
    if compiler := shutil.which("g++"):
        flags = (*STRICT[1:], "-std=c++17", "-x", "c++", "-c", "-o", "model.o")
        subprocess.run([compiler, *flags, "model.c"], cwd=tmp_path, check=True)


def test_the_name_comes_from_the_file(tmp_path: Path) -> None:
    export(single_leaf(0.5, 1, 4), ["a"], {}, tmp_path / "re-ranker.v2.c", "c")
    text = (tmp_path / "re-ranker.v2.c").read_text("ascii")
    assert "double re_ranker_score(const float *x);" in text
    assert "#define RE_RANKER_N_FEATURES 1\n" in text
    assert "math.h" not in text  # trees need no library
    assert NAMES[0] not in text
