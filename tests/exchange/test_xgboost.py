"""XGBoost scores our models as we do, but for single precision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.exchange.export import export
from swaprank.exchange.peer_files import read_peer
from swaprank.exchange.tree_building import PeerTree, build_forest
from swaprank.models.forest import Forest, split_gains
from tests.exchange.fitted_models import NAMES, TREE_RANKERS, documents, fitted
from tests.exchange.orders import assert_same, largest_sum
from tests.exchange.peer_seeds import peer_data, shop_frame, train_xgboost
from tests.exchange.test_tree_building import chain
from tests.models.random_forests import random_documents, random_forest

xgb = pytest.importorskip("xgboost")
LARGEST = float(np.finfo(np.float32).max)
KNOWS_DATA_FRAMES = tuple(map(int, xgb.__version__.split(".")[:2])) >= (3, 1)
"""Earlier versions do not save the categories of data frames."""


def matrix(X: Any, names: Any = None, categorical: Any = ()) -> Any:
    types = ["c" if feature in categorical else "float" for feature in range(X.shape[1])]
    return xgb.DMatrix(X, feature_names=names, feature_types=types, enable_categorical=True, nthread=1)


def booster_of(forest: Forest, folder: Path) -> Any:
    """XGBoost's reading of a forest of ours, without names."""
    export(forest, [str(at + 1) for at in range(forest.n_features)], {}, folder / "model.json", "xgboost")
    return xgb.Booster({"nthread": 1}, model_file=str(folder / "model.json"))


@pytest.fixture(params=TREE_RANKERS)
def exported(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, sr.Ranker, Any]:
    ranker = fitted(request.param)
    ranker.export(tmp_path / "model.json", to="xgboost")
    return request.param, ranker, xgb.Booster({"nthread": 1}, model_file=str(tmp_path / "model.json"))


def test_scores_are_the_same(exported: tuple[str, sr.Ranker, Any], tmp_path: Path) -> None:
    name, ranker, booster = exported
    X = documents(name)
    data = matrix(X, list(NAMES), [at for at, each in enumerate(NAMES) if each in ranker.categories_])
    scores = booster.predict(data)
    assert_same(scores, ranker.predict(X))
    assert_same(booster.inplace_predict(X, validate_features=False), ranker.predict(X))
    assert_same(booster.predict(data, output_margin=True), ranker.predict(X))
    for form in ("json", "ubj"):
        booster.save_model(tmp_path / f"again.{form}")
        again = xgb.Booster({"nthread": 1}, model_file=tmp_path / f"again.{form}")
        np.testing.assert_array_equal(again.predict(data), scores)
        # Leaf values are rounded, and added in double precision.
        assert_same(sr.import_model(tmp_path / f"again.{form}").predict(X), ranker.predict(X), 1e-7)


@pytest.mark.parametrize("exported", [name for name in TREE_RANKERS if name != "sum of trees"], indirect=True)
def test_contributions_gains_and_the_first_trees_are_the_same(exported: tuple[str, sr.Ranker, Any]) -> None:
    name, ranker, booster = exported
    assert isinstance(ranker.model_, Forest)
    X = documents(name)
    data = matrix(X, list(NAMES), [at for at, each in enumerate(NAMES) if each in ranker.categories_])
    np.testing.assert_allclose(booster.predict(data, pred_contribs=True), ranker.model_.contributions(X), atol=1e-6)
    gains = dict(zip(NAMES, split_gains(ranker.model_), strict=True))
    for feature, gain in booster.get_score(importance_type="total_gain").items():
        assert gain == pytest.approx(gains[feature], rel=1e-5)
    n_trees = min(ranker.model_.n_trees, 5)
    assert_same(booster[:n_trees].predict(data), ranker.model_.truncated(n_trees).score(X))


def test_the_file_is_what_xgboost_itself_saves(exported: tuple[str, sr.Ranker, Any], tmp_path: Path) -> None:
    """All keys and values but the version, how base_score is written, and parameters of the objective."""
    _, ranker, booster = exported
    ranker.export(tmp_path / "model.json", to="xgboost")
    own, saved = json.loads((tmp_path / "model.json").read_bytes()), json.loads(booster.save_raw("json"))
    for model in (own, saved):
        del model["version"], model["learner"]["objective"]["lambdarank_param"]
        model["learner"]["learner_model_param"]["base_score"] = "0"
        if not KNOWS_DATA_FRAMES:
            model["learner"]["gradient_booster"]["model"].pop("cats", None)
    assert own == saved


@settings(max_examples=15)
@given(st.integers(0, 2**31), st.lists(st.integers(1, 12), max_size=5))
def test_any_forest_is_scored_the_same(tmp_path_factory: pytest.TempPathFactory, seed: int, leaves: list[int]) -> None:
    rng = np.random.default_rng(seed)
    forest, X = random_forest(rng, leaves), random_documents(rng, 60)
    # Infinite values are no data for XGBoost.
    X[np.isinf(X)] = 3
    folder = tmp_path_factory.mktemp("any")
    scores = forest.score(X)
    assert_same(booster_of(forest, folder).inplace_predict(X), scores, largest=largest_sum(forest))
    assert_same(read_peer(folder / "model.json").model.score(X), scores, 1e-7, largest_sum(forest))


def test_thresholds_at_the_ends_of_single_precision(tmp_path: Path) -> None:
    for threshold in (LARGEST, -LARGEST, 0.0, -0.0, 1e-45, -1e-45, 123456792.0, 0.1):
        stump = build_forest([PeerTree([0], [threshold], [False], [~0], [~1], [1.0, 2.0])], 1)
        near = np.nextafter(np.float32(threshold), np.array([-LARGEST, threshold, LARGEST], np.float32))[:, None]
        np.testing.assert_array_equal(booster_of(stump, tmp_path).inplace_predict(near), stump.score(near))
        np.testing.assert_array_equal(read_peer(tmp_path / "model.json").model.score(near), stump.score(near))


def test_a_very_deep_tree_and_a_set_without_categories(tmp_path: Path) -> None:
    forest = build_forest([chain(5000)], n_features=1)
    X = np.array([[-1.0], [2499.5], [1e9], [np.nan]], np.float32)
    np.testing.assert_array_equal(booster_of(forest, tmp_path).inplace_predict(X), forest.score(X))
    np.testing.assert_array_equal(read_peer(tmp_path / "model.json").model.score(X), forest.score(X))
    for words, missing_left in ((0, False), (2**32 - 1, True)):
        tree = PeerTree([0], [0.0], [missing_left], [~0], [~1], [1.0, 2.0], sets={0: np.array([words], np.uint32)})
        forest, X = build_forest([tree], 1), np.array([[0.0], [7.0], [np.nan], [99.0]], np.float32)
        np.testing.assert_array_equal(booster_of(forest, tmp_path).inplace_predict(X), forest.score(X))


def test_names(tmp_path: Path) -> None:
    forest = random_forest(np.random.default_rng(0), [3], n_features=4)
    names = ["Größe", 'a "b"', "a\\b", "x=1, y"]
    export(forest, names, {}, tmp_path / "model.json", "xgboost")
    assert xgb.Booster(model_file=str(tmp_path / "model.json")).feature_names == names
    assert read_peer(tmp_path / "model.json").feature_names == tuple(names)
    for name in ("a[0]", "a<b", "a\nb", ""):
        with pytest.raises(sr.errors.ExportError, match="XGBoost cannot hold the feature name"):
            export(forest, ["x", "y", "z", name], {}, tmp_path / "model.json", "xgboost")


def test_what_xgboost_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sr.errors.ExportError, match="xgboost holds only trees; found a net of 2 hidden layers"):
        fitted("net").export(tmp_path / "model.json", to="xgboost")
    large = build_forest([PeerTree(leaf_value=[1e39])], 1)
    with pytest.raises(sr.errors.ExportError, match="single precision"):
        export(large, ["a"], {}, tmp_path / "model.json", "xgboost")
    sets = random_forest(np.random.default_rng(0), [5], n_features=2, set_share=1)
    with pytest.raises(sr.errors.ExportError, match="names of categories that are not ASCII, such as of 'b'"):
        export(sets, ["a", "b"], {"b": ("Größe", "x")}, tmp_path / "model.json", "xgboost")
    with pytest.raises(sr.errors.ExportError, match="but 'b' has -1 to 1"):
        export(sets, ["a", "b"], {"b": ("-1", "1")}, tmp_path / "model.json", "xgboost")


@pytest.mark.skipif(not KNOWS_DATA_FRAMES, reason="XGBoost before 3.1 does not know the categories of data frames")
def test_categories_of_data_frames_are_found_by_their_names(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    frame, y = shop_frame("adidas")
    ranker = sr.LambdaMART(n_trees=8, n_leaves=6, min_docs_in_leaf=5).fit(frame, y, qid=peer_data().qid)
    ranker.export(tmp_path / "model.json", to="xgboost")
    own, theirs = xgb.Booster(model_file=str(tmp_path / "model.json")), train_xgboost(data=frame, y=y)
    others = frame.assign(
        brand=frame.brand.cat.set_categories(["puma", "nike", "adidas"]), shop=frame.shop.cat.set_categories([90, 3, 7])
    )
    for booster, expected in ((own, ranker), (theirs, sr.import_model(theirs))):
        for data in (frame, others):
            assert_same(booster.predict(xgb.DMatrix(data, enable_categorical=True, nthread=1)), expected.predict(data))
    assert sr.import_model(theirs).categories_ == {"brand": ("adidas", "nike", "puma"), "shop": ("3", "7", "90")}
    assert_same(sr.import_model(own).predict(others), ranker.predict(frame), 1e-7)
    # Numbers are categories as they are, also without a data frame.
    codes = np.column_stack((frame.bm25, frame.brand.cat.codes, frame.shop.astype(int))).astype(np.float32)
    assert_same(own.inplace_predict(codes, validate_features=False), ranker.predict(frame))


def test_real_data(shared_data: Path, tmp_path: Path) -> None:
    data = sr.read(shared_data / "mq2008" / "S1.txt.xz")
    qid = np.repeat(np.arange(data.n_queries), np.diff(data.indptr))
    train = xgb.DMatrix(data.features, data.labels, qid=qid, nthread=1)
    booster = xgb.train({"objective": "rank:ndcg", "nthread": 1}, train, 50)
    ranker, ours = sr.import_model(booster), sr.LambdaMART(n_trees=50).fit(data)
    assert_same(ranker.predict(data), booster.predict(train))
    for model in (ranker, ours):
        model.export(tmp_path / "model.json", to="xgboost")
        assert_same(xgb.Booster(model_file=str(tmp_path / "model.json")).predict(train), model.predict(data))
