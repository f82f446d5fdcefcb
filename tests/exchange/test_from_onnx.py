"""Ensembles of trees in ONNX are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import swaprank as sr
from swaprank.exchange.peer_files import read_peer
from swaprank.exchange.tree_building import PeerModel, PeerTree, build_forest
from tests.exchange.damaged_files import outcomes
from tests.exchange.fitted_models import TREE_RANKERS, documents, fitted
from tests.exchange.portable_seeds import MODES, ensemble, graph_of, load, onnx_seeds, regressor
from tests.exchange.test_onnx import file_of
from tests.models.random_forests import naive_scores, random_documents, random_forest


def read(model: Any, folder: Path) -> PeerModel:
    (folder / "model.onnx").write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return read_peer(folder / "model.onnx")


@pytest.mark.parametrize("name", TREE_RANKERS)
def test_what_is_written_is_read_again(name: str, tmp_path: Path) -> None:
    X = documents(name)
    read_again = sr.import_model(load(file_of(name, tmp_path)))
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
    with pytest.raises(sr.errors.ModelFileError, match="'Cast'"):  # rounds scores to whole numbers
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
    (classifier(), "no class_ids"),
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
    with pytest.raises(sr.errors.ModelFileError, match=message):
        read(model, tmp_path)


def test_large_sets_are_refused_before_they_take_memory(tmp_path: Path) -> None:
    """Ten thousand sets of one category with a large number would take 20 GB."""
    n = 10_000
    chain = PeerTree([0] * n, [0.0] * n, [False] * n, [*range(1, n), ~n], [~at for at in range(n)], [0.0] * (n + 1))
    members = numpy_helper.from_array(np.tile(np.array([2.0**24 - 1, np.nan], np.float32), n))
    modes = numpy_helper.from_array(np.full(n, 6, np.uint8))
    node = ensemble(build_forest([chain], 5), nodes_modes=modes, membership_values=members)
    with pytest.raises(sr.errors.ModelFileError, match="too many to be a model"):
        read(graph_of(node), tmp_path)


@pytest.mark.slow
def test_damaged_files_give_an_error_or_a_safe_model(tmp_path: Path) -> None:
    assert min(outcomes(onnx_seeds(), tmp_path).values()) > 5


def test_metadata_of_others_are_their_own(tmp_path: Path) -> None:
    model = graph_of(regressor())
    helper.set_model_props(model, {"feature_names": "a,b,c,d,e"})
    assert read(model, tmp_path).feature_names is None


def test_other_objects_of_onnx_are_refused() -> None:
    with pytest.raises(sr.errors.ParameterError, match="a ModelProto; found NodeProto"):
        read_peer(regressor())
