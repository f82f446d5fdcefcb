"""Forests in files: they are loaded unchanged, and invalid ones are errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from swaprank.errors import ModelFileError
from swaprank.model_files.container import read_model, write_model
from swaprank.models.forest import ARRAYS, Forest
from swaprank.models.forest_scoring import score
from tests.models.random_forests import naive_scores, random_documents, random_forest

FOREST = random_forest(np.random.default_rng(0), [4, 1, 9])
NO_SETS = random_forest(np.random.default_rng(0), [4, 1, 9], set_share=0)


def through_a_file(path: Path, forest: Forest) -> Forest:
    write_model(path, "forest", *forest.to_parts())
    found = read_model(path)
    return Forest.from_parts(found.meta, found.arrays)


@pytest.mark.parametrize("forest", [FOREST, NO_SETS], ids=["sets", "no sets"])
def test_a_forest_comes_back_and_scores_the_same(tmp_path: Path, forest: Forest) -> None:
    again = through_a_file(tmp_path / "a.swaprank", forest)
    X = random_documents(np.random.default_rng(1), 50)
    assert (score(again, X) == score(forest, X)).all()
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(forest, name))
    through_a_file(tmp_path / "b.swaprank", again)
    assert (tmp_path / "a.swaprank").read_bytes() == (tmp_path / "b.swaprank").read_bytes()


def test_only_files_of_forests_with_sets_have_the_arrays_of_sets() -> None:
    assert len(FOREST.words) > 0
    assert FOREST.to_parts().arrays.keys() == ARRAYS.keys()
    assert NO_SETS.to_parts().arrays.keys() == ARRAYS.keys() - {"n_words", "words"}


def test_an_empty_forest_comes_back(tmp_path: Path) -> None:
    assert through_a_file(tmp_path / "a.swaprank", FOREST.truncated(0)).n_trees == 0


@pytest.mark.slow
@settings(max_examples=400)
@given(
    name=st.sampled_from(
        ["left", "right", "feature", "tree_nodes", "tree_leaves", "node_count", "leaf_count", "n_words", "words"]
    ),
    at=st.integers(0, 20),
    value=st.integers(-12, 12) | st.integers(-(2**31), 2**31 - 1) | st.integers(0, 2**32 - 1),
)
def test_a_tampered_index_is_found_or_harmless(name: str, at: int, value: int) -> None:
    arrays = {key: array.copy() for key, array in FOREST.to_parts().arrays.items()}
    possible = np.iinfo(arrays[name].dtype)
    assume(at < len(arrays[name]) and arrays[name][at] != value and possible.min <= value <= possible.max)
    arrays[name][at] = value
    try:
        forest = Forest.from_parts(FOREST.to_parts().meta, arrays)
    except ModelFileError:
        return
    # Any feature and any set is valid, and any count of a leaf that has no parent.
    assert name in ("feature", "words") or (name, at) == ("leaf_count", 4)
    X = random_documents(np.random.default_rng(2), 20)
    assert (score(forest, X) == naive_scores(forest, X)).all()


@pytest.mark.parametrize("name", ["n_features", "base_score", "left", "leaf_value", "n_words", "words"])
def test_a_missing_part_is_named(name: str) -> None:
    meta, arrays = FOREST.to_parts()
    arrays.pop(name, None)
    meta.pop(name, None)
    with pytest.raises(ModelFileError, match=f"the forest has no {name}"):
        Forest.from_parts(meta, arrays)


@pytest.mark.parametrize(("name", "value"), [("n_features", "5"), ("n_features", 2), ("base_score", None)])
def test_wrong_parameters_are_refused(name: str, value: object) -> None:
    with pytest.raises(ModelFileError, match="the forest's"):
        Forest.from_parts(FOREST.to_parts().meta | {name: value}, FOREST.to_parts().arrays)
