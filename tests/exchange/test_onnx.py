"""ONNX Runtime scores what is exported."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

import swaprank as sr
from swaprank.arrays import Features, Floats
from swaprank.exchange.exported import Export
from swaprank.exchange.peer_files import read_peer
from swaprank.exchange.to_onnx import content
from swaprank.exchange.tree_building import PeerTree, build_forest
from swaprank.models.forest import single_leaf
from swaprank.models.served import Mixture, ServedModel, Trees, WeightedSum
from tests.exchange.fitted_models import NAMES, RANKERS, TREE_RANKERS, documents, fitted
from tests.exchange.orders import assert_same
from tests.exchange.portable_seeds import exported, load, onnx_seeds
from tests.models.random_forests import naive_scores, random_documents, random_forest

PLAIN_RANKERS = [name for name in RANKERS if name not in TREE_RANKERS]
DOUBLE = ("linear", "smoothrank", "sum of linear models", "kernel machine", "polynomial machine", "trees and linear")
"""Computed in double precision by us as well."""
WITHOUT_TREES = [
    name
    for name in PLAIN_RANKERS
    if name not in ("trees and linear", "trees on a net", "stack of everything", "other columns")
]


def run(model: bytes, X: Features) -> Floats:
    """The scores of ONNX Runtime, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    (scores,) = session.run(["scores"], {"features": X})
    assert scores.shape == (len(X), 1)
    assert scores.dtype == np.float32
    return np.asarray(scores[:, 0])


def file_of(ranker: str, folder: Path, **options: Any) -> bytes:
    fitted(ranker).export(folder / "model.onnx", to="onnx", **options)
    return (folder / "model.onnx").read_bytes()


def scores_of(model: ServedModel, n_features: int, X: Features) -> Floats:
    names = tuple(f"f{at}" for at in range(n_features))
    return run(content(Export("onnx", model, names, {}, "m", "refuse", False, None)), X)


@pytest.mark.parametrize("name", TREE_RANKERS)
def test_scores_of_trees_are_ours_rounded_once(name: str, tmp_path: Path) -> None:
    X = documents(name)
    own = fitted(name).model_.score(X)
    np.testing.assert_array_equal(run(file_of(name, tmp_path), X), own.astype(np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN_RANKERS)
def test_scores_of_other_models_are_ours(name: str, tmp_path: Path) -> None:
    X = documents(name)
    assert_same(run(file_of(name, tmp_path), X), fitted(name).model_.score(X), 1e-7 if name in DOUBLE else 5e-7)


@pytest.mark.parametrize("name", WITHOUT_TREES)
def test_the_reference_evaluator_agrees(name: str, tmp_path: Path) -> None:
    X = documents(name)
    (scores,) = ReferenceEvaluator(load(file_of(name, tmp_path))).run(None, {"features": X})
    assert_same(np.asarray(scores)[:, 0], fitted(name).model_.score(X), 5e-7)


@given(
    seed=st.integers(0, 2**32 - 1), n_leaves=st.lists(st.integers(1, 12), max_size=4), share=st.sampled_from((0, 0.5))
)
@settings(max_examples=25)
def test_random_forests_are_scored_and_read_exactly(seed: int, n_leaves: list[int], share: float) -> None:
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, n_leaves, set_share=share)
    X, model = random_documents(rng, 60), exported(forest)
    own = naive_scores(forest, X)
    np.testing.assert_array_equal(run(model, X), own.astype(np.float32))
    np.testing.assert_allclose(run(model, X[:1]), own[:1], rtol=1e-7)
    peer = read_peer(load(model))
    np.testing.assert_array_equal(peer.model.score(X), own)


def test_real_documents_are_scored_exactly(shared_data: Path, tmp_path: Path) -> None:
    data = sr.read(shared_data / "mslr-sample" / "test.txt.xz")
    ranker = sr.LambdaMART(n_trees=20).fit(data)
    ranker.export(tmp_path / "model.onnx", to="onnx")
    scores = run((tmp_path / "model.onnx").read_bytes(), np.array(data.features))
    np.testing.assert_array_equal(scores, ranker.predict(data).astype(np.float32))


def test_many_trees_are_summed_in_double_precision() -> None:
    rng = np.random.default_rng(0)
    forest, X = random_forest(rng, [8] * 500, set_share=0.0), random_documents(rng, 100)
    np.testing.assert_array_equal(run(exported(forest), X), forest.score(X).astype(np.float32))


def test_a_deep_chain_and_forests_without_nodes() -> None:
    n = 5000
    limits, values = np.arange(n, 0, -1.0), np.arange(n + 1.0)
    chain = PeerTree([0] * n, limits, [False] * n, [*range(1, n), ~n], [~at for at in range(n)], values.tolist())
    for forest in (build_forest([chain], 1), build_forest([], 1, 0.75), single_leaf(0.25, 1, 4)):
        X = np.array([[-1], [0.5], [2500], [n], [np.nan], [np.inf]], np.float32)
        np.testing.assert_array_equal(run(exported(forest), X), forest.score(X).astype(np.float32))
        np.testing.assert_array_equal(read_peer(load(exported(forest))).model.score(X), forest.score(X))


def test_a_mixture_subtracts_the_center_before_it_rounds() -> None:
    forest = build_forest([PeerTree([0], [0.5], [True], [~0], [~1], [1000.001, 1000.002])], 1, base_score=0.1)
    top = WeightedSum(np.array([1.0]), np.zeros(1, np.float32), 0.0)
    model = Mixture((Trees(forest),), np.array([1000.1]), np.array([1e-3]), top)
    X = np.array([[0.0], [1.0]], np.float32)
    np.testing.assert_allclose(scores_of(model, 1, X), [1.0, 2.0], rtol=1e-6)


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    model = load(file_of("trees of categories", tmp_path, name="shop", rename={"price": 'price "net" €'}))
    onnx.checker.check_model(model, full_check=True)
    assert (model.producer_name, model.graph.name) == ("swaprank", "shop")
    assert {each.domain: each.version for each in model.opset_import} == {"": 9, "ai.onnx.ml": 3}
    props = {each.key: json.loads(each.value) for each in model.metadata_props}
    assert props["feature_names"] == [*NAMES[:4], 'price "net" €']
    assert set(props["categories"]) == {"clicks", 'price "net" €'}
    peer = read_peer(model)
    assert peer.feature_names == (*NAMES[:4], 'price "net" €')
    assert peer.categories[3] == fitted("trees of categories").categories_["clicks"]


def test_without_onnx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = onnx_seeds()[0]
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(sr.errors.MissingExtraError, match=r"swaprank\[onnx\]"):
        fitted("trees").export(tmp_path / "model.onnx", to="onnx")
    (tmp_path / "model.onnx").write_bytes(model)
    with pytest.raises(sr.errors.MissingExtraError, match=r"swaprank\[onnx\]"):
        sr.import_model(tmp_path / "model.onnx")
    assert not [path for path in tmp_path.iterdir() if path.name != "model.onnx"]


def test_a_model_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swaprank.exchange.to_onnx._LARGEST_FILE", 100)
    with pytest.raises(sr.errors.ExportError, match="an ONNX file has at most 100"):
        exported(random_forest(np.random.default_rng(0), [9], set_share=1.0))
