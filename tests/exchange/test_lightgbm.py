"""LightGBM scores our models as we do."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
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
from tests.exchange.orders import assert_same
from tests.exchange.peer_seeds import peer_data, shop_frame
from tests.exchange.test_tree_building import chain
from tests.models.random_forests import random_documents, random_forest

lgb = pytest.importorskip("lightgbm")


def booster_of(forest: Forest, folder: Path) -> Any:
    """LightGBM's reading of a forest of ours."""
    names = [f"f{at}" for at in range(forest.n_features)]
    export(forest, names, {}, folder / "model.txt", "lightgbm")
    return lgb.Booster(model_file=str(folder / "model.txt"))


@pytest.fixture(params=TREE_RANKERS)
def exported(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, sr.Ranker, Path]:
    ranker = fitted(request.param)
    ranker.export(tmp_path / "model.txt", to="lightgbm")
    return request.param, ranker, tmp_path / "model.txt"


def test_scores_are_the_same_bit_for_bit(exported: tuple[str, sr.Ranker, Path]) -> None:
    name, ranker, path = exported
    booster, X = lgb.Booster(model_file=str(path)), documents(name)
    scores = booster.predict(X)
    if name == "sum of trees":
        # One forest instead of two, whose scores were added in the end.
        assert_same(scores, ranker.predict(X), 1e-14)
    else:
        np.testing.assert_array_equal(scores, ranker.predict(X))
    again = lgb.Booster(model_str=booster.model_to_string())
    np.testing.assert_array_equal(again.predict(X), scores)
    assert_same(sr.import_model(path).predict(X), ranker.predict(X), 1e-14)


def test_treelite_gives_the_same_scores(exported: tuple[str, sr.Ranker, Path]) -> None:
    treelite = pytest.importorskip("treelite")
    name, ranker, path = exported
    X = documents(name)
    scores = treelite.gtil.predict(treelite.frontend.load_lightgbm_model(str(path)), X.astype(np.float64))
    assert_same(scores.ravel(), ranker.predict(X), 1e-14)


@pytest.mark.parametrize("exported", [name for name in TREE_RANKERS if name != "sum of trees"], indirect=True)
def test_contributions_and_importances_are_the_same(exported: tuple[str, sr.Ranker, Path]) -> None:
    name, ranker, path = exported
    assert isinstance(ranker.model_, Forest)
    booster, X = lgb.Booster(model_file=str(path)), documents(name)
    np.testing.assert_allclose(booster.predict(X, pred_contrib=True), ranker.model_.contributions(X), atol=1e-12)
    np.testing.assert_allclose(booster.feature_importance("gain"), split_gains(ranker.model_), rtol=1e-5)


def test_the_dump_of_lightgbm_is_complete(exported: tuple[str, sr.Ranker, Path]) -> None:
    _, ranker, path = exported
    dump = lgb.Booster(model_file=str(path)).dump_model()
    assert dump["feature_names"] == [name.replace(" ", "_") for name in NAMES]
    assert dump["objective"] == "lambdarank"
    assert not dump["average_output"]
    assert len(dump["tree_info"]) == sum(part.n_trees for part in getattr(ranker.model_, "members", [ranker.model_]))


@settings(max_examples=15)
@given(st.integers(0, 2**31), st.lists(st.integers(1, 12), max_size=5))
def test_any_forest_is_scored_the_same(tmp_path_factory: pytest.TempPathFactory, seed: int, leaves: list[int]) -> None:
    rng = np.random.default_rng(seed)
    forest, X = random_forest(rng, leaves), random_documents(rng, 60)
    # Numbers between -1 and 0 are no categories; LightGBM takes them for 0.
    X[(X < 0) & (X > -1)] = -1
    folder = tmp_path_factory.mktemp("any")
    booster = booster_of(forest, folder)
    np.testing.assert_array_equal(booster.predict(X), forest.score(X))
    np.testing.assert_array_equal(read_peer(folder / "model.txt").model.score(X), forest.score(X))
    np.testing.assert_allclose(booster.predict(X, pred_contrib=True), forest.contributions(X), atol=1e-9)


def test_a_very_deep_tree(tmp_path: Path) -> None:
    forest = build_forest([chain(5000)], n_features=1)
    X = np.array([[-1.0], [2499.5], [1e9], [np.nan]], np.float32)
    np.testing.assert_array_equal(booster_of(forest, tmp_path).predict(X), forest.score(X))
    np.testing.assert_array_equal(read_peer(tmp_path / "model.txt").model.score(X), forest.score(X))


def test_counts_that_are_too_large_for_lightgbm_are_scaled(tmp_path: Path) -> None:
    forest = random_forest(np.random.default_rng(3), [7, 4], set_share=0)
    large = replace(forest, node_count=forest.node_count * 2**30, leaf_count=forest.leaf_count * 2**30)
    X = random_documents(np.random.default_rng(4), 50)
    found = booster_of(large, tmp_path).predict(X, pred_contrib=True)
    np.testing.assert_allclose(found, forest.contributions(X), atol=1e-6)


def test_compiled_by_tl2cgen(tmp_path: Path) -> None:
    treelite, tl2cgen = pytest.importorskip("treelite"), pytest.importorskip("tl2cgen")
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    fitted("trees of missing values").export(tmp_path / "model.txt", to="lightgbm")
    model = treelite.frontend.load_lightgbm_model(str(tmp_path / "model.txt"))
    tl2cgen.export_lib(model, "gcc", tmp_path / "model.so")
    X = documents("trees of missing values")
    scores = tl2cgen.Predictor(tmp_path / "model.so").predict(tl2cgen.DMatrix(X.astype(np.float64)))
    assert_same(scores.ravel(), fitted("trees of missing values").predict(X), 1e-14)


@pytest.mark.parametrize("name", ['a"b', "a:b", "a\\b", "a\nb", "[a]", "", "a,b", "a\x00"])
def test_names_that_lightgbm_cannot_hold_are_refused(name: str, tmp_path: Path) -> None:
    forest = random_forest(np.random.default_rng(0), [3], n_features=2)
    with pytest.raises(sr.errors.ExportError, match=r"Rename it \(rename="):
        export(forest, ["b", name], {}, tmp_path / "model.txt", "lightgbm")
    with pytest.raises(sr.errors.ExportError, match="two features would be called 'a_b'"):
        export(forest, ["a b", "a_b"], {}, tmp_path / "model.txt", "lightgbm")
    assert not (tmp_path / "model.txt").exists()


def test_names_that_it_can_hold(tmp_path: Path) -> None:
    forest, names = (
        random_forest(np.random.default_rng(0), [3], n_features=4),
        ["Größe", "a=b", "threshold", "num_leaves"],
    )
    export(forest, names, {}, tmp_path / "model.txt", "lightgbm")
    booster = lgb.Booster(model_file=str(tmp_path / "model.txt"))
    assert booster.feature_name() == booster.dump_model()["feature_names"] == names
    assert read_peer(tmp_path / "model.txt").feature_names == tuple(names)
    export(forest, ["1", "2", "3", "4"], {}, tmp_path / "model.txt", "lightgbm")
    assert read_peer(tmp_path / "model.txt").feature_names is None


def test_other_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(sr.errors.ExportError, match="lightgbm holds only trees; found a linear model"):
        fitted("linear").export(tmp_path / "model.txt", to="lightgbm")


def test_thresholds_that_lightgbm_reads_as_zero_are_warned_about(tmp_path: Path) -> None:
    stump = build_forest([PeerTree([0], [1e-36], [True], [~0], [~1], [1.0, 2.0])], 1)
    with pytest.warns(sr.errors.ExportWarning, match="LightGBM reads values from -1e-35 to 1e-35 as 0") as caught:
        booster_of(stump, tmp_path)
    assert caught[0].filename == __file__


def test_data_frames_with_categories_go_right_in(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    frame, y = shop_frame("Größe 7")
    ranker = sr.LambdaMART(n_trees=8, n_leaves=6, min_docs_in_leaf=5).fit(frame, y, qid=peer_data().qid)
    ranker.export(tmp_path / "model.txt", to="lightgbm")
    booster = lgb.Booster(model_file=str(tmp_path / "model.txt"))
    with pytest.raises(ValueError, match="categorical_feature do not match"):
        booster.predict(frame)
    # Numbers are categories as they are; text in any order, with categories that are unknown.
    numbers = frame.assign(shop=frame.shop.astype(int))
    np.testing.assert_array_equal(booster.predict(numbers), ranker.predict(frame))
    others = numbers.assign(
        brand=numbers.brand.cat.set_categories(["zara", "puma", "nike"]), shop=[13, 7, 90] * (len(y) // 3)
    )
    np.testing.assert_array_equal(
        booster.predict(others), ranker.predict(others.assign(shop=others.shop.astype("category")))
    )
    np.testing.assert_array_equal(sr.import_model(booster).predict(frame), ranker.predict(frame))


def test_numbers_that_are_no_categories_of_lightgbm_are_refused(tmp_path: Path) -> None:
    forest = random_forest(np.random.default_rng(0), [5], n_features=2, set_share=1)
    for categories in (("-1", "0"), ("5", "1048576")):
        with pytest.raises(
            sr.errors.ExportError, match="takes categories that are numbers from 0 to 1,048,575, but 'b' has"
        ):
            export(forest, ["a", "b"], {"b": categories}, tmp_path / "model.txt", "lightgbm")


def test_real_data(shared_data: Path, tmp_path: Path) -> None:
    data = sr.read(shared_data / "mq2008" / "S1.txt.xz")
    train = lgb.Dataset(data.features, data.labels, group=np.diff(data.indptr))
    booster = lgb.train({"objective": "lambdarank", "verbosity": -1, "num_leaves": 31}, train, 100)
    ranker = sr.import_model(booster)
    np.testing.assert_array_equal(ranker.predict(data), booster.predict(data.features))
    ours = sr.LambdaMART(n_trees=50).fit(data)
    for name, model in (("theirs.txt", ranker), ("ours.txt", ours)):
        model.export(tmp_path / name, to="lightgbm")
        again = lgb.Booster(model_file=str(tmp_path / name))
        np.testing.assert_array_equal(again.predict(data.features), model.predict(data))
    assert json.dumps(again.dump_model())
