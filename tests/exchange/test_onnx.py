"""ONNX: what is exported is scored by ONNX Runtime, and ensembles of trees are read."""

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
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import swaprank as sr
from swaprank.arrays import Features, Floats
from swaprank.exchange.export import Export
from swaprank.exchange.peer_files import PeerModel, read_peer
from swaprank.exchange.served_models import Mixture, ServedModel, Trees, WeightedSum
from swaprank.exchange.to_onnx import content
from swaprank.exchange.tree_building import PeerTree, build_forest
from swaprank.models.forest import single_leaf
from tests.exchange.damaged_files import outcomes
from tests.exchange.fitted_models import NAMES, RANKERS, TREE_RANKERS, documents, fitted
from tests.exchange.orders import assert_same
from tests.exchange.portable_seeds import MODES, ensemble, exported, graph_of, load, onnx_seeds, regressor
from tests.models.random_forests import naive_scores, random_documents, random_forest

PLAIN_RANKERS = [name for name in RANKERS if name not in TREE_RANKERS]
DOUBLE = ("linear", "smoothrank", "sum of linear models", "kernel machine", "polynomial machine", "trees and linear")
"""Computed in double precision by us as well."""
WITHOUT_TREES = [
    name for name in PLAIN_RANKERS if name not in ("trees and linear", "stack of everything", "other columns")
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


def read(model: Any, folder: Path) -> PeerModel:
    (folder / "model.onnx").write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return read_peer(folder / "model.onnx")


def scores_of(model: ServedModel, n_features: int, X: Features) -> Floats:
    names = tuple(f"f{at}" for at in range(n_features))
    return run(content(Export("onnx", model, names, {}, "m", "refuse", False, None)), X)


@pytest.mark.parametrize("name", TREE_RANKERS)
def test_scores_of_trees_are_ours_rounded_once(name: str, tmp_path: Path) -> None:
    X = documents(name)
    own = fitted(name).model_.score(X)
    np.testing.assert_array_equal(run(file_of(name, tmp_path), X), own.astype(np.float32))


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
@settings(max_examples=25, deadline=None)
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


@pytest.mark.parametrize("name", TREE_RANKERS)
def test_what_is_written_is_read_again(name: str, tmp_path: Path) -> None:
    X = documents(name)
    read_again = sr.load_peer(load(file_of(name, tmp_path)))
    assert read_again.library_ == "ONNX"
    np.testing.assert_allclose(read_again.predict(X), fitted(name).model_.score(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("missing_true", [0, 1])
def test_every_test_of_a_number_is_read_as_onnxruntime_scores_it(mode: str, missing_true: int, tmp_path: Path) -> None:
    tree = regressor(
        nodes_modes=[mode, "LEAF", "LEAF"] * 2,
        nodes_values=[0.1, 0.0, 0.0] * 2,
        nodes_missing_value_tracks_true=[missing_true, 0, 0] * 2,
        base_values=[0.25],
        aggregate_function="AVERAGE",
    )
    limit = np.float32(0.1)
    values = [limit, np.nextafter(limit, np.float32(1)), np.nextafter(limit, np.float32(0)), np.nan, np.inf, -np.inf]
    X = np.zeros((len(values), 5), np.float32)
    X[:, 0], X[:, 1] = values, values[::-1]
    model = graph_of(tree)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    theirs = session.run(None, {"X": X})[0][:, 0]
    np.testing.assert_allclose(read(model, tmp_path).model.score(X), theirs, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ensembles_of_the_fifth_version_are_read(dtype: type, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    forest, X = random_forest(rng, [6, 4, 2]), random_documents(rng, 200)
    found = read(graph_of(ensemble(forest, dtype)), tmp_path).model
    np.testing.assert_allclose(found.score(X) + forest.base_score, naive_scores(forest, X), atol=1e-5)


def test_a_single_leaf_of_the_fifth_version_is_read(tmp_path: Path) -> None:
    one = build_forest([PeerTree([0], [0.0], [False], [~0], [~1], [2.5, 0.0])], 5)
    both = ensemble(one, nodes_falsenodeids=[0], nodes_falseleafs=[1])
    assert read(graph_of(both), tmp_path).model.leaf_value.tolist() == [2.5]


def test_operators_around_the_trees_and_unknown_widths(tmp_path: Path) -> None:
    before = [helper.make_node("Identity", ["X"], ["A"]), helper.make_node("Cast", ["A"], ["B"], to=TensorProto.DOUBLE)]
    after = [helper.make_node("Flatten", ["C"], ["D"]), helper.make_node("Cast", ["D"], ["Y"], to=TensorProto.FLOAT)]
    tree = regressor(source="B", target="C", post_transform="LOGISTIC")
    model = read(graph_of(*before, tree, *after, n_features="width"), tmp_path)
    assert (model.model.n_features, model.feature_names) == (2, None)
    X = np.array([[0.0, 1.0], [1.0, 0.0]], np.float32)
    np.testing.assert_array_equal(model.model.score(X), [-1.5 + 1.25, 0.25 - 0.5])  # the scores before LOGISTIC
    with pytest.raises(sr.ModelFileError, match="'Cast'"):  # rounds scores to whole numbers
        read(graph_of(tree, helper.make_node("Cast", ["C"], ["Y"], to=TensorProto.INT64)), tmp_path)


def stump(**changed: Any) -> Any:
    return ensemble(build_forest([PeerTree([0], [0.5], [True], [~0], [~1], [-1.0, 1.0])], 5), **changed)


def external() -> Any:
    model = load(onnx_seeds()[0])
    tensor = next(each.t for each in model.graph.node[1].attribute if each.name == "nodes_values_as_tensor")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/hostname")
    return model


def with_metadata(**values: Any) -> Any:
    model = graph_of(regressor())
    model.producer_name = "swaprank"
    helper.set_model_props(model, {name: json.dumps(value) for name, value in values.items()})
    return model


def classifier() -> Any:
    model = graph_of(helper.make_node("TreeEnsembleClassifier", ["X"], ["label", "Y"], domain="ai.onnx.ml"))
    model.graph.output.add(name="label")
    return model


def members(*values: float) -> Any:
    return numpy_helper.from_array(np.array(values, np.float32))


MEMBER = {"nodes_modes": numpy_helper.from_array(np.array([6], np.uint8))}
WRONG = [
    (graph_of(helper.make_node("MatMul", ["X", "X"], ["Y"])), "the operator 'MatMul'"),
    (graph_of(regressor(source="A"), helper.make_node("Exp", ["X"], ["A"])), "the operator 'Exp'"),
    (graph_of(regressor(), helper.make_node("Concat", ["X", "X"], ["X2"], axis=1)), None),
    (graph_of(regressor(source="A"), helper.make_node("Concat", ["X", "X"], ["A"], axis=1)), "the operator 'Concat'"),
    (graph_of(regressor(source="A", target="Z")), "'Y', which nothing makes"),
    (graph_of(helper.make_node("Identity", ["Y"], ["Y"])), "a cycle"),
    (classifier(), "2 outputs, and the operators TreeEnsembleClassifier"),
    (graph_of(regressor(n_targets=2)), "2 outputs for a document"),
    (graph_of(regressor(aggregate_function="MIN")), "aggregate_function is MIN"),
    (graph_of(regressor(post_transform="PROBIT")), "post_transform is PROBIT"),
    (graph_of(stump(post_transform=1)), "post_transform is SOFTMAX;"),
    (graph_of(regressor(nodes_modes=["BRANCH_EQ", "LEAF", "LEAF"] * 2)), "the mode BRANCH_EQ"),
    (graph_of(regressor(nodes_modes=["BRANCH", "LEAF", "LEAF"] * 2)), "the mode 'BRANCH', which is not known"),
    (graph_of(regressor(nodes_truenodeids=[7, 0, 0] * 2)), "a child that does not exist"),
    (graph_of(regressor(nodes_truenodeids=[0, 0, 0] * 2)), "two parents"),
    (graph_of(regressor(nodes_nodeids=[0, 1, 1] * 2)), "the same number"),
    (graph_of(regressor(nodes_treeids=[0, 1, 0, 1, 0, 1], nodes_nodeids=[0, 0, 1, 1, 2, 2])), "stand together"),
    (graph_of(regressor(nodes_featureids=[5, 0, 0] * 2)), "splits on a feature that is not one of the 5"),
    (graph_of(regressor(nodes_values=[np.nan, 0.0, 0.0] * 2)), "threshold"),
    (graph_of(regressor(nodes_values=[1.0] * 5)), "no nodes_values, or not 6 numbers"),
    (graph_of(regressor(target_ids=[0, 0, 0, 1])), "a second score"),
    (graph_of(regressor(target_nodeids=[1, 1, 1, 2])), "a leaf has two values"),
    (graph_of(regressor(target_weights=[np.inf] * 4)), "leaf_value"),
    (graph_of(regressor(base_values=[1.0, 2.0])), "2 base values"),
    (graph_of(regressor(), n_features=2_000_000), "2,000,000 features"),
    (graph_of(stump(tree_roots=[0] * 100_000)), "is in two trees"),
    (graph_of(stump(tree_roots=[1])), "a root that does not exist"),
    (graph_of(stump(nodes_truenodeids=[2])), "a child that does not exist"),
    (graph_of(stump(nodes_trueleafs=[0])), "two parents"),
    (graph_of(stump(**MEMBER)), "no membership_values"),
    (graph_of(stump(**MEMBER, membership_values=members(3.0))), "sends missing values, but not unknown categories"),
    (graph_of(stump(**MEMBER, membership_values=members(2.5))), "not a whole number"),
    (graph_of(stump(**MEMBER, membership_values=members(-1.0))), "not a whole number"),
    (external(), "in another file"),
    (with_metadata(feature_names=["a"]), "not a list of 5 names"),
    (with_metadata(feature_names=list("abcde"), categories={"x": []}), "not those of its features"),
    (graph_of(regressor()).SerializeToString()[:-30], "not an ONNX model"),
]


@pytest.mark.parametrize(("model", "message"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_with_a_file_is_said(model: Any, message: str | None, tmp_path: Path) -> None:
    if message is None:
        assert read(model, tmp_path).model.n_trees == 2
        return
    with pytest.raises(sr.ModelFileError, match=message):
        read(model, tmp_path)


def test_large_sets_are_refused_before_they_take_memory(tmp_path: Path) -> None:
    """Ten thousand sets of one category with a large number would take 20 GB."""
    n = 10_000
    chain = PeerTree([0] * n, [0.0] * n, [False] * n, [*range(1, n), ~n], [~at for at in range(n)], [0.0] * (n + 1))
    members = numpy_helper.from_array(np.tile(np.array([2.0**24 - 1, np.nan], np.float32), n))
    modes = numpy_helper.from_array(np.full(n, 6, np.uint8))
    node = ensemble(build_forest([chain], 5), nodes_modes=modes, membership_values=members)
    with pytest.raises(sr.ModelFileError, match="too many to be a model"):
        read(graph_of(node), tmp_path)


def test_damaged_files_give_an_error_or_a_safe_model(tmp_path: Path) -> None:
    assert min(outcomes(onnx_seeds(), tmp_path).values()) > 5


def test_without_onnx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = onnx_seeds()[0]
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(sr.MissingExtraError, match=r"swaprank\[onnx\]"):
        fitted("trees").export(tmp_path / "model.onnx", to="onnx")
    with pytest.raises(sr.MissingExtraError, match=r"swaprank\[onnx\]"):
        read(model, tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.name != "model.onnx"]


def test_metadata_of_others_are_their_own(tmp_path: Path) -> None:
    model = graph_of(regressor())
    helper.set_model_props(model, {"feature_names": "a,b,c,d,e"})
    assert read(model, tmp_path).feature_names is None


def test_other_objects_of_onnx_are_refused() -> None:
    with pytest.raises(sr.ParameterError, match="a ModelProto; found NodeProto"):
        read_peer(regressor())


def test_a_model_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swaprank.exchange.to_onnx._LARGEST_FILE", 100)
    with pytest.raises(sr.ExportError, match="an ONNX file has at most 100"):
        exported(random_forest(np.random.default_rng(0), [9], set_share=1.0))
