"""Solr's models of trees, weights and layers."""

import json
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.exchange.exported import Export
from swaprank.exchange.feature_sets import feature_set
from swaprank.exchange.to_solr import content
from swaprank.exchange.tree_building import PeerTree, build_forest
from swaprank.models.served import FeedForward, ServedModel, Trees, WeightedSum
from tests.exchange import solr_rules
from tests.exchange.fitted_models import LINEAR_RANKERS, NAMES, documents, fitted, without_missing
from tests.exchange.orders import assert_same, largest_sum
from tests.exchange.test_ranklib import chain
from tests.models.random_forests import random_documents, random_forest

HELD = ("trees", "one leaf", "sum of trees", *LINEAR_RANKERS, "net", "sigmoid net")


def exported(ranker: str, folder: Path, **options: Any) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.errors.ExportWarning)
        fitted(ranker).export(folder / "model.json", "solr", **options)
    return (folder / "model.json").read_bytes()


def written(model: ServedModel, n_features: int, missing: Literal["refuse", "zero"] = "zero") -> bytes:
    names = tuple(f"f{at}" for at in range(n_features))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.errors.ExportWarning)
        return content(Export("solr", model, names, {}, "m", missing, False, None))


@pytest.mark.parametrize("name", HELD)
def test_scores_are_ours_to_single_precision(name: str, tmp_path: Path) -> None:
    X = without_missing(documents(name))
    assert_same(solr_rules.scores(exported(name, tmp_path), list(NAMES), X), fitted(name).predict(X))


def test_missing_values_go_where_the_trees_have_learned(tmp_path: Path) -> None:
    X = documents(name := "trees of missing values")
    body = exported(name, tmp_path)
    assert json.loads(body)["params"]["isNullSameAsZero"] is False
    assert_same(solr_rules.scores(body, list(NAMES), X), fitted(name).predict(X))
    as_zero = np.where(np.isnan(X), np.float32(0), X)
    found = solr_rules.scores(exported(name, tmp_path, missing="zero"), list(NAMES), X)
    assert_same(found, fitted(name).predict(as_zero))


def test_missing_values_need_a_default_value_of_the_features(tmp_path: Path) -> None:
    features = [{"name": name, "class": "…", "params": {"defaultValue": "NaN"}, "store": "shop"} for name in NAMES]
    ranker = fitted("trees of missing values")
    ranker.export(tmp_path / "model.json", "solr", features=features)
    assert json.loads((tmp_path / "model.json").read_bytes())["store"] == "shop"
    features[0]["params"] = {}
    with pytest.warns(
        sr.errors.ExportWarning, match=r'missing values of \'bm25\' as 0.*"defaultValue": "NaN".*Solr 9\.2'
    ) as caught:
        ranker.export(tmp_path / "model.json", "solr", features=features)
    assert caught[0].filename == __file__


def with_nulls(**values: str) -> list[dict[str, Any]]:
    return [{"name": name, "class": "…", "params": {"defaultValue": values.get(name, "NaN")}} for name in NAMES]


def test_nan_in_the_features_goes_where_zero_goes_if_zero_is_what_it_stands_for(tmp_path: Path) -> None:
    X = documents(name := "trees of missing values")
    body = exported(name, tmp_path, missing="zero", features=with_nulls())
    # Without this parameter, Solr sends NaN right, whatever the threshold.
    assert json.loads(body)["params"]["isNullSameAsZero"] is False
    as_zero = np.where(np.isnan(X), np.float32(0), X)
    assert_same(solr_rules.scores(body, list(NAMES), X), fitted(name).predict(as_zero))
    assert exported(name, tmp_path, missing="zero", features=with_nulls(**dict.fromkeys(NAMES, "0"))) == exported(
        name, tmp_path, missing="zero", features=list(NAMES)
    )


@pytest.mark.parametrize("left", [True, False])
def test_nan_in_the_features_of_trees_that_send_missing_values_where_zero_goes(left: bool) -> None:
    stump = PeerTree([0], [1.0 if left else -1.0], [left], [~0], [~1], [0.0, 1.0])
    features = feature_set([{"name": "price", "params": {"defaultValue": "NaN"}}])
    model = Trees(build_forest([stump], n_features=1))
    body = content(Export("solr", model, ("price",), {}, "m", "refuse", False, features))
    X = np.array([[np.nan], [0.0], [-2.0], [2.0]], np.float32)
    assert solr_rules.scores(body, ["price"], X).tolist() == model.forest.score(X).tolist()
    assert json.loads(body)["params"]["trees"][0]["root"]["missing"] == ("left" if left else "right")


def test_nan_in_the_features_of_linear_models_is_warned_about(tmp_path: Path) -> None:
    with pytest.warns(sr.errors.ExportWarning, match="'bm25' and 4 more: .* for trees only"):
        fitted("linear").export(tmp_path / "model.json", "solr", features=with_nulls(), missing="zero")


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n_leaves=st.lists(st.integers(1, 12), max_size=5))
def test_random_forests(seed: int, n_leaves: list[int]) -> None:
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, n_leaves, set_share=0.0)
    X = random_documents(rng, 30)
    names = [f"f{at}" for at in range(5)]
    as_zero = np.where(np.isnan(X), np.float32(0), X)
    assert_same(
        solr_rules.scores(written(Trees(forest), 5), names, X), forest.score(as_zero), largest=largest_sum(forest)
    )


def stump(threshold: np.float32) -> Trees:
    return Trees(build_forest([PeerTree([0], [float(threshold)], [True], [~0], [~1], [1.0, 2.0])], n_features=1))


def around(threshold: np.float32) -> Any:
    with np.errstate(over="ignore"):
        below, above = (np.nextafter(threshold, np.float32(side)) for side in (-np.inf, np.inf))
        return np.array([below, threshold, above, threshold - np.float32(1e-6), threshold + np.float32(1e-6)])[:, None]


@pytest.mark.slow
@settings(max_examples=300)
@given(size=st.floats(-45, 37), sign=st.sampled_from([-1, 1]))
def test_the_slack_of_1e_6_moves_no_value(size: float, sign: int) -> None:
    threshold = np.float32(sign * 10**size)
    model = stump(threshold)
    with warnings.catch_warnings(action="error"):
        body = content(Export("solr", model, ("f0",), {}, "m", "zero", False, None))
    X = around(threshold)
    assert (solr_rules.scores(body, ["f0"], X) == model.forest.score(X)).all()


LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize("others", [(), (0.0,), (0.5, -3.0), (LARGEST,)])
@pytest.mark.parametrize("tiny", [1e-3, -2e-8, 1e-9, -2e-20, 1e-38, 1e-45])
def test_a_feature_of_tiny_thresholds_is_multiplied(tiny: float, others: tuple[float, ...]) -> None:
    limits = [tiny, *others]
    forest = build_forest([PeerTree([0], [t], [True], [~0], [~1], [1.0, 2.0**at]) for at, t in enumerate(limits)], 2)
    with warnings.catch_warnings(action="error"):
        body = content(Export("solr", Trees(forest), ("f0", "f1"), {}, "m", "zero", False, None))
    (feature,) = json.loads(body)["features"]
    assert feature.get("norm", {"params": {"avg": "0.0"}})["params"]["avg"] == "0.0"
    X = np.concatenate([around(np.float32(limit)) for limit in (*limits, 1.0)])
    X = X[np.isfinite(X)][:, None]
    assert (solr_rules.scores(body, ["f0", "f1"], X) == forest.score(np.column_stack((X, X)))).all()


def test_thresholds_that_cannot_be_written_are_counted() -> None:
    forest = build_forest([PeerTree([0], [t], [True], [~0], [~1], [1.0, 2.0]) for t in (0.0, 1e30, 1e-9, -2e-20)], 1)
    with pytest.warns(
        sr.errors.ExportWarning, match=r"changes 2 of the 4 thresholds by up to 1e-13: 'f0' has both tiny and huge"
    ):
        content(Export("solr", Trees(forest), ("f0",), {}, "m", "zero", False, None))
    for exact in (0.0, 0.5, 1e-6, 16.000002, 31.999998, 32.0, -0.75, LARGEST, -LARGEST):
        X = around(np.float32(exact))
        model = stump(np.float32(exact))
        with warnings.catch_warnings(action="error"):
            body = content(Export("solr", model, ("f0",), {}, "m", "zero", False, None))
        assert "norm" not in json.loads(body)["features"][0]
        assert (solr_rules.scores(body, ["f0"], X) == model.forest.score(X)).all()


def test_features_that_are_not_used_are_not_asked_for(tmp_path: Path) -> None:
    body = exported("trees", tmp_path, features=["unused", *NAMES])
    assert [feature["name"] for feature in json.loads(body)["features"]] == list(NAMES)
    model = WeightedSum(np.array([0.0, 2.0, 0.0]), np.zeros(3, np.float32), 0.0)
    assert json.loads(written(model, 3))["params"] == {"weights": {"f1": 2.0}}
    X = np.ones((1, 3), np.float32)
    nothing = WeightedSum(np.zeros(3), np.zeros(3, np.float32), 0.0)
    assert solr_rules.scores(written(nothing, 3), ["f0", "f1", "f2"], X).tolist() == [0.0]


def test_a_constant_feature_of_a_net_is_left_out() -> None:
    arrays = (np.array([3.0, 2.0], np.float32), np.array([0.0, 4.0], np.float32), np.zeros(2, np.float32))
    layers = ((np.array([[9.0, 1.0]], np.float32), np.ones(1, np.float32)), (np.ones((1, 1), np.float32),) * 2)
    net = FeedForward(np.zeros(2, np.bool_), *arrays, ((layers[0]), (layers[1][0], np.zeros(1, np.float32))), "relu")
    body = written(net, 2)
    assert [feature["name"] for feature in json.loads(body)["features"]] == ["f1"]
    assert solr_rules.scores(body, ["f0", "f1"], np.array([[8.0, 5.0]], np.float32)).tolist() == [13.0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trees of categories", "solr compares numbers only, but the trees have sets of categories of 'price'"),
        ("relu net with logarithms", "solr has no logarithm, which the net takes of 'age'"),
        ("kernel machine", "solr holds only trees, linear models and nets; found a kernel machine. Use onnx or c"),
        ("trees and linear", "found an ensemble of trees and a linear model"),
    ],
)
def test_what_it_cannot_hold(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(sr.errors.ExportError, match=message):
        exported(name, tmp_path)


def test_means_for_missing_values_are_warned_about(tmp_path: Path) -> None:
    for name in ("linear", "net"):
        with pytest.warns(sr.errors.ExportWarning, match="Solr reads a missing value as 0") as caught:
            fitted(name).export(tmp_path / "model.json", "solr")
        assert caught[0].filename == __file__


def test_weights_that_are_infinite_in_single_precision_are_refused() -> None:
    for weight, bias in ((1e39, 0.0), (1.0, -1e39)):
        with pytest.raises(sr.errors.ExportError, match=r"a weight of the model is infinite\. Use ranklib, onnx or c"):
            written(WeightedSum(np.array([weight]), np.zeros(1, np.float32), bias), 1)


def test_deep_trees() -> None:
    X = np.array([[0.5], [3.5], [1000.0]], np.float32)
    assert (solr_rules.scores(written(Trees(chain(100)), 1), ["f0"], X) == chain(100).score(X)).all()
    with pytest.raises(sr.errors.ExportError, match="a depth of 100; tree 0 has 5,000"):
        written(Trees(chain(5000)), 1)
