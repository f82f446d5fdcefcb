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
from swaprank.models.forest import Forest
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
    model = read(graph_of(both), tmp_path).model
    assert isinstance(model, Forest)
    assert model.leaf_value.tolist() == [2.5]


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
        assert read(model, tmp_path).model.n_stages == 2
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


def scaler(source: str, target: str, offset: list[float], scale: list[float]) -> Any:
    return helper.make_node("Scaler", [source], [target], domain="ai.onnx.ml", offset=offset, scale=scale)


def with_constants(model: Any, **constants: Any) -> Any:
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
    return model


def scaled_models() -> dict[str, tuple[Any, type]]:
    """Graphs that scale features before a random forest, and the type of their input."""
    rng = np.random.default_rng(3)
    forest = random_forest(rng, [6, 6, 4], set_share=0.0)
    n = forest.n_features
    offset, scale = (rng.normal(size=n), rng.choice([-1, 1], n) * rng.lognormal(size=n))
    trees, floats = ensemble(forest, source="S"), {"a": offset.astype(np.float32), "b": scale.astype(np.float32)}
    doubles = ensemble(forest, np.float64, source="S", target="Z")
    last = helper.make_node("Cast", ["Z"], ["Y"], to=TensorProto.FLOAT)

    def arithmetic(first: str, second: str) -> list[Any]:
        return [helper.make_node(first, ["X", "a"], ["T"]), helper.make_node(second, ["T", "b"], ["S"])]

    both = [scaler("X", "T", offset.tolist(), scale.tolist()), scaler("T", "S", [0.1], [3.0])]
    return {
        "Scaler": (graph_of(scaler("X", "S", offset.tolist(), scale.tolist()), trees, n_features=n), np.float32),
        "two scalers": (graph_of(*both, trees, n_features=n), np.float32),
        "Sub, Mul": (with_constants(graph_of(*arithmetic("Sub", "Mul"), trees, n_features=n), **floats), np.float32),
        "Mul, Add": (
            with_constants(graph_of(*arithmetic("Mul", "Add"), trees, n_features=n), a=floats["b"], b=floats["a"]),
            np.float32,
        ),
        "Sub, Div in double precision": (
            with_constants(
                graph_of(*arithmetic("Sub", "Div"), doubles, last, n_features=n, elem_type=TensorProto.DOUBLE),
                a=offset,
                b=scale,
            ),
            np.float64,
        ),
    }


@pytest.mark.parametrize("name", scaled_models())
def test_scalers_before_the_trees(name: str, tmp_path: Path) -> None:
    """Scores are those of onnxruntime, with values at the new thresholds and next to them."""
    model, dtype = scaled_models()[name]
    forest = read(model, tmp_path).model
    assert isinstance(forest, Forest)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(len(forest.threshold) * 3, forest.n_features)).astype(np.float32)
    for step in range(3):
        for node, (feature, threshold) in enumerate(zip(forest.feature, forest.threshold, strict=True)):
            up = np.float32(np.inf if step == 1 else -np.inf)
            X[3 * node + step, feature] = threshold if step == 0 else np.nextafter(threshold, up)
    X[rng.random(X.shape) < 0.05] = np.nan
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    theirs = session.run(None, {"X": X.astype(dtype)})[0][:, 0]
    np.testing.assert_allclose(forest.score(X), theirs, rtol=1e-5, atol=1e-5 * np.abs(theirs).max())


def test_scalers_that_cannot_be_read(tmp_path: Path) -> None:
    zero = graph_of(scaler("X", "S", [0.0], [0.0]), regressor(source="S"))
    clip = graph_of(helper.make_node("Clip", ["X"], ["S"]), regressor(source="S"))
    bad = graph_of(scaler("X", "S", [0.0, 0.0], [1.0, 1.0]), regressor(3, source="S"))
    for model, message in ((zero, "multiplies a feature by 0"), (clip, "the operator 'Clip'"), (bad, "damaged")):
        with pytest.raises(sr.errors.ModelFileError, match=message):
            read(model, tmp_path)


def score_classifier(**changed: Any) -> Any:
    """A classifier that adds up one score, as onnxmltools writes it for XGBoost's rank:ndcg."""
    tree = regressor(post_transform="LOGISTIC", base_values=[-0.25])
    names = {f"target_{name}": f"class_{name}" for name in ("treeids", "nodeids", "ids", "weights")}
    attributes = {
        names.get(each.name, each.name): helper.get_attribute_value(each)
        for each in tree.attribute
        if each.name != "n_targets"
    }
    attributes |= {"classlabels_int64s": [0, 1]} | changed
    node = helper.make_node("TreeEnsembleClassifier", ["X"], ["label", "P"], domain="ai.onnx.ml", **attributes)
    model = graph_of(node)
    del model.graph.output[:]
    model.graph.output.extend(
        [
            helper.make_tensor_value_info("label", TensorProto.INT64, [None]),
            helper.make_tensor_value_info("P", TensorProto.FLOAT, [None, 2]),
        ]
    )
    return model


def test_a_classifier_that_has_one_score(tmp_path: Path) -> None:
    model = score_classifier()
    X = np.random.default_rng(0).uniform(size=(50, 5)).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    probability = session.run(None, {"X": X})[1][:, 1]
    scores = read(model, tmp_path).model.score(X)
    np.testing.assert_allclose(1 / (1 + np.exp(-scores)), probability, rtol=1e-5)
    assert sr.import_model(model, check=X).agreement_ is not None
    for wrong in ({"class_ids": [0, 1, 0, 1]}, {"class_ids": [1] * 4}, {"classlabels_int64s": [0, 1, 2]}):
        with pytest.raises(sr.errors.ModelFileError, match="a classifier of"):
            read(score_classifier(**wrong), tmp_path)


def test_rankers_of_xgboost_that_onnxmltools_converts(tmp_path: Path) -> None:
    onnxmltools = pytest.importorskip("onnxmltools", reason="onnxmltools is not installed")
    from onnxmltools.convert.common.data_types import FloatTensorType

    from tests.exchange.peer_seeds import peer_data, train_xgboost

    X, booster = np.nan_to_num(peer_data().X), train_xgboost(base_score=0.5)
    model = onnxmltools.convert_xgboost(booster, initial_types=[("X", FloatTensorType([None, 6]))])
    ranker = sr.import_model(model, check=X)
    # It takes the base score for a probability.
    np.testing.assert_allclose(ranker.predict(X) + 0.5, sr.import_model(booster).predict(X), atol=1e-6)
