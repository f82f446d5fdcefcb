"""CatBoost's models are read: its JSON, its binary files and live models."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import catboost
import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import AnyArray, Features
from swaprank.exchange import from_catboost
from swaprank.exchange.peer_files import read_peer
from swaprank.exchange.tree_building import PeerModel
from tests.exchange.damaged_files import damaged, outcomes
from tests.exchange.fitted_models import NAMES, at_thresholds, data, data_with_missing
from tests.exchange.portable_seeds import catboost_json, catboost_seeds, catboost_split

QUIET = {"verbose": False, "allow_writing_files": False, "random_seed": 0, "thread_count": 1}
POLICIES = ("SymmetricTree", "Depthwise", "Lossguide")
LOSSES = ("YetiRank", "QueryRMSE", "RMSE", "Logloss", "PairLogit")


def pool(missing: bool, loss: str = "RMSE") -> Any:
    train = (data_with_missing() if missing else data())[0]
    qid = np.repeat(np.arange(train.n_queries), np.diff(train.indptr))
    labels = train.labels > 1 if loss == "Logloss" else train.labels
    return catboost.Pool(train.features, labels.astype(int), group_id=qid, feature_names=list(NAMES))


@cache
def trained(loss: str, policy: str = "SymmetricTree", nan_mode: str = "Min", **options: Any) -> Any:
    """A small model; without missing values in training if nan_mode is "Forbidden"."""
    shape = {"iterations": 6, "depth": 4, "learning_rate": 0.3, "grow_policy": policy, "nan_mode": nan_mode}
    model = catboost.CatBoost({"loss_function": loss, **shape, **QUIET, **options})
    return model.fit(pool(nan_mode != "Forbidden", loss))


def documents(forest: Any, missing: bool) -> Features:
    test = np.array((data_with_missing() if missing else data())[2].features)
    return np.concatenate((test, at_thresholds(forest, test, np.random.default_rng(0))))


def raw(model: Any, X: Features) -> AnyArray:
    return np.asarray(model.predict(X, prediction_type="RawFormulaVal"))


@pytest.mark.slow
@pytest.mark.parametrize("nan_mode", ["Min", "Max", "Forbidden"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_scores_are_those_of_catboost(loss: str, policy: str, nan_mode: str) -> None:
    model = trained(loss, policy, nan_mode)
    peer = read_peer(model)
    X = documents(peer.model, nan_mode != "Forbidden")
    scores = peer.model.score(X)
    if loss == "RMSE":  # it has a bias, which CatBoost adds last
        np.testing.assert_allclose(scores, raw(model, X), rtol=1e-14, atol=1e-14)
    else:
        np.testing.assert_array_equal(scores, raw(model, X))
    assert (peer.library, peer.feature_names, peer.objective) == ("CatBoost", NAMES, loss)


def test_ordered_boosting_scale_and_sums_of_models() -> None:
    ordered = trained("YetiRank", boosting_type="Ordered")
    both = catboost.sum_models([ordered, trained("QueryRMSE")], [0.5, 2.0])
    both.set_scale_and_bias(3.0, -0.25)
    for model in (ordered, both):
        forest = read_peer(model).model
        X = documents(forest, missing=True)
        np.testing.assert_allclose(forest.score(X), raw(model, X), rtol=1e-13, atol=1e-13)


def test_files_and_live_models_are_the_same(tmp_path: Path) -> None:
    train = data()[0]
    qid = np.repeat(np.arange(train.n_queries), np.diff(train.indptr))
    ranker = catboost.CatBoostRanker(loss_function="YetiRank", iterations=3, depth=2, **QUIET)
    ranker.fit(train.features, train.labels.astype(int), group_id=qid)
    ranker.save_model(str(tmp_path / "model.cbm"))
    ranker.save_model(str(tmp_path / "model.json"), format="json")
    ranker.save_model(str(tmp_path / "model.onnx"), format="onnx")
    X = np.array(train.features)
    for source in (ranker, tmp_path / "model.cbm", tmp_path / "model.json"):
        loaded = sr.import_model(source)
        np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
        assert loaded.library_ == "CatBoost"
    np.testing.assert_allclose(sr.import_model(tmp_path / "model.onnx").predict(X), ranker.predict(X), atol=1e-7)


@pytest.mark.parametrize("loss", ["YetiRank", "RMSE"])
def test_contributions_are_those_of_catboost(loss: str) -> None:
    """Of symmetric trees. Leaves without documents have a share of 2^-32 here, and none in CatBoost."""
    model = trained(loss)
    theirs = model.get_feature_importance(pool(missing=True), type="ShapValues")
    X = np.array(data_with_missing()[0].features)
    np.testing.assert_allclose(read_peer(model).model.contributions(X), theirs, atol=1e-6)


@pytest.mark.parametrize("policy", POLICIES[1:])
def test_contributions_of_other_trees_add_up_to_the_score(policy: str) -> None:
    """CatBoost's own do not for some trees, so they are no truth to compare with."""
    forest = read_peer(trained("YetiRank", policy)).model
    X = documents(forest, missing=True)
    np.testing.assert_allclose(forest.contributions(X).sum(axis=1), forest.score(X), atol=1e-6)


def read(found: Any, folder: Path) -> PeerModel:
    (folder / "model.json").write_text(found if isinstance(found, str) else json.dumps(found))
    return read_peer(folder / "model.json")


def test_a_symmetric_tree_by_hand(tmp_path: Path) -> None:
    splits = [catboost_split(0, 0.5), catboost_split(1, -1.5)]
    tree = {"splits": splits, "leaf_values": [1, 2, 4, 8], "leaf_weights": [1, 2, 0, 4]}
    model = read(catboost_json([tree], scale_and_bias=[2, [0.25]]), tmp_path).model
    X = np.array([[0.5, -1.5, 0], [1, -2, 0], [0, 0, 0], [1, 0, 0], [np.nan, np.nan, 0]], np.float32)
    np.testing.assert_array_equal(model.score(X), 2 * np.array([1, 2, 4, 8, 4]) + 0.25)


LEAF = {"value": 1.0, "weight": 1}
STUMP = {"splits": [catboost_split(0, 0.5)], "leaf_values": [1, 2]}
FLOATS = catboost_json([])["features_info"]["float_features"]


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (catboost_json([STUMP | {"leaf_values": [1, 2, 3, 4]}]), "tree 0: it has 4 leaf values for 1 splits"),
        (catboost_json([STUMP], scale_and_bias=[1, [0.0, 0.0, 0.0]]), "3 scores for a document"),
        (catboost_json([{"value": [1.0, 2.0]}], nested=True), "several values per leaf"),
        (
            catboost_json([STUMP | {"splits": [catboost_split(7, 0.5)]}]),
            "splits on feature 7, which is not in the file",
        ),
        (catboost_json([STUMP | {"splits": [{"split_type": "OnlineCtr", "border": 1}]}]), "of type 'OnlineCtr'"),
        (catboost_json([STUMP | {"splits": [catboost_split(0, float("nan"))]}]), "threshold"),
        (catboost_json([STUMP | {"leaf_values": [1, float("nan")]}]), "leaf_value"),
        (catboost_json([STUMP | {"leaf_weights": [1, -1]}]), "the weights or counts of its leaves"),
        (catboost_json([STUMP | {"leaf_weights": [1]}]), "the weights or counts of its leaves"),
        (catboost_json([STUMP | {"leaf_values": [[1], [2]]}]), "damaged|leaf_value"),
        (catboost_json([{"split": catboost_split(0, 1), "left": LEAF}], nested=True), "tree 0: there is no .right"),
        (catboost_json([], features_info={"categorical_features": [{}]}), "has categorical_features, which only"),
        (catboost_json([], features_info={"float_features": []}), "it has 0 features"),
        (catboost_json([], features_info={"float_features": FLOATS[:1] * 2}), "there twice"),
        (
            catboost_json([], features_info={"float_features": [FLOATS[0] | {"flat_feature_index": 10**9}]}),
            "has the column 1000000000",
        ),
        (
            catboost_json([], features_info={"float_features": [FLOATS[0] | {"nan_value_treatment": "x"}]}),
            "treats missing values 'x'",
        ),
        ('{"features_info": {}, "trees": ' + '{"left":' * 100_000, "not JSON|nested too deeply"),
    ],
    ids=range(17),
)
def test_what_is_wrong_with_a_file_is_said(found: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(sr.errors.ModelFileError, match=message):
        read(found, tmp_path)


def test_models_that_only_catboost_computes_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = np.array(["a", "b", "c"])[rng.integers(3, size=60)]
    rows = [[word, value] for word, value in zip(words, rng.normal(size=60).tolist(), strict=True)]
    labels = (words == "a").astype(int)
    with_categories = catboost.CatBoostClassifier(iterations=2, depth=2, **QUIET).fit(rows, labels, cat_features=[0])
    with_categories.save_model(str(tmp_path / "model.cbm"))
    for source in (with_categories, tmp_path / "model.cbm"):
        with pytest.raises(sr.errors.ModelFileError, match="which only CatBoost computes: train on numbers alone"):
            read_peer(source)
    classes = catboost.CatBoostClassifier(loss_function="MultiClass", iterations=2, depth=2, **QUIET)
    classes.fit(rng.normal(size=(60, 2)), rng.integers(3, size=60))
    with pytest.raises(sr.errors.ModelFileError, match="3 scores for a document"):
        read_peer(classes)
    with pytest.raises(sr.errors.ParameterError, match="must be fitted"):
        read_peer(catboost.CatBoostRanker())


def test_binary_files_need_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.cbm").write_bytes(b"CBM1" + bytes(100))
    with pytest.raises(sr.errors.ModelFileError, match="CatBoost cannot read it"):
        read_peer(tmp_path / "model.cbm")
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(sr.errors.MissingExtraError, match="pip install catboost; or save the model with format='json'"):
        read_peer(tmp_path / "model.cbm")


@pytest.mark.slow
def test_damaged_files_give_an_error_or_a_safe_model(tmp_path: Path) -> None:
    assert min(outcomes(catboost_seeds(), tmp_path, printable=True).values()) > 5


@pytest.mark.slow
def test_damaged_binary_files_never_end_the_process(tmp_path: Path) -> None:
    """CatBoost itself crashes on some of them."""
    trained("RMSE").save_model(str(tmp_path / "whole.cbm"))
    whole, rng = (tmp_path / "whole.cbm").read_bytes(), np.random.default_rng(0)
    for content in (whole[:200], whole[:-40], *(damaged(whole, rng) for _ in range(6))):
        (tmp_path / "model.cbm").write_bytes(content)
        try:
            ranker = sr.import_model(tmp_path / "model.cbm")
        except sr.errors.ModelFileError:
            continue
        assert np.isfinite(ranker.predict(np.zeros((1, ranker.n_features_in_)))).all()


def test_a_crash_of_catboost_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_catboost, "_TO_JSON", "import os; os.abort()")
    (tmp_path / "model.cbm").write_bytes(b"CBM1" + bytes(100))
    with pytest.raises(sr.errors.ModelFileError, match="it is damaged: CatBoost crashed while it read it"):
        read_peer(tmp_path / "model.cbm")
