"""LightGBM scores our models as we do, and we score its models as it does."""

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
from swaprank.exchange.from_lightgbm import read
from swaprank.exchange.peer_files import read_peer
from swaprank.exchange.tree_building import PeerTree, build_forest
from swaprank.models.forest import Forest, split_gains
from tests.exchange.damaged_files import outcomes
from tests.exchange.fitted_models import NAMES, TREE_RANKERS, documents, fitted
from tests.exchange.orders import assert_same
from tests.exchange.peer_seeds import (
    N_DOCUMENTS,
    N_QUERIES,
    lightgbm_seeds,
    peer_data,
    train_lightgbm,
)
from tests.exchange.test_tree_building import chain
from tests.models.random_forests import random_documents, random_forest

lgb = pytest.importorskip("lightgbm")
TINY = float(np.float32(1e-35))


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
    assert_same(sr.load_peer(path).predict(X), ranker.predict(X), 1e-14)


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


@settings(max_examples=15, deadline=None)
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
    with pytest.raises(sr.ExportError, match=r"Rename it \(rename="):
        export(forest, ["b", name], {}, tmp_path / "model.txt", "lightgbm")
    with pytest.raises(sr.ExportError, match="two features would be called 'a_b'"):
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
    with pytest.raises(sr.ExportError, match="lightgbm holds only trees; found a linear model"):
        fitted("linear").export(tmp_path / "model.txt", to="lightgbm")


def test_thresholds_that_lightgbm_reads_as_zero_are_warned_about(tmp_path: Path) -> None:
    stump = build_forest([PeerTree([0], [1e-36], [True], [~0], [~1], [1.0, 2.0])], 1)
    with pytest.warns(sr.ExportWarning, match="LightGBM reads values from -1e-35 to 1e-35 as 0") as caught:
        booster_of(stump, tmp_path)
    assert caught[0].filename == __file__


@pytest.fixture(scope="module")
def shop() -> Any:
    """A data frame with text and numbers as categories, labels, and query ids."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    n = N_QUERIES * N_DOCUMENTS
    frame = pandas.DataFrame(
        {
            "bm25": rng.normal(size=n).astype(np.float32),
            "brand": pandas.Categorical(rng.choice(["nike", "puma", "Größe 7"], n)),
            "shop": pandas.Categorical(rng.choice([3, 7, 90], n)),
            "same": pandas.Categorical(["one"] * n),
        }
    )
    y = ((frame.brand == "nike").astype(int) + (frame.shop == 90) + (frame.bm25 > 0)).to_numpy()
    return frame, y, peer_data().qid


def test_data_frames_with_categories_go_right_in(shop: Any, tmp_path: Path) -> None:
    frame, y, qid = shop
    ranker = sr.LambdaMART(n_trees=8, n_leaves=6, min_docs_in_leaf=5).fit(frame, y, qid=qid)
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
    np.testing.assert_array_equal(sr.load_peer(booster).predict(frame), ranker.predict(frame))


def test_numbers_that_are_no_categories_of_lightgbm_are_refused(tmp_path: Path) -> None:
    forest = random_forest(np.random.default_rng(0), [5], n_features=2, set_share=1)
    for categories in (("-1", "0"), ("5", "1048576")):
        with pytest.raises(sr.ExportError, match="takes categories that are numbers from 0 to 1,048,575, but 'b' has"):
            export(forest, ["a", "b"], {"b": categories}, tmp_path / "model.txt", "lightgbm")


OPTIONS: dict[str, dict[str, Any]] = {
    "lambdarank": {},
    "rank_xendcg": {"objective": "rank_xendcg"},
    "dart": {"boosting": "dart", "drop_rate": 0.5},
    "goss": {"data_sample_strategy": "goss"},
    "categories": {"categorical": True},
    "categories one by one": {"categorical": True, "max_cat_to_onehot": 100},
    "NaN is read as 0": {"use_missing": False},
    "monotone": {"objective": "regression", "monotone_constraints": [1, 0, -1, 0, 0, 0]},
    "binary": {"objective": "binary", "y": (peer_data().y > 1).astype(int)},
    "poisson": {"objective": "poisson"},
    "deep": {"num_leaves": 60, "min_data_in_leaf": 1},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_models_of_lightgbm_are_scored_the_same_bit_for_bit(name: str, tmp_path: Path) -> None:
    booster, X = train_lightgbm(**OPTIONS[name]), peer_data().X
    scores = booster.predict(X, raw_score=True)
    booster.save_model(tmp_path / "model.txt")
    for peer in (read_peer(booster), read_peer(str(tmp_path / "model.txt"))):
        np.testing.assert_array_equal(peer.model.score(X), scores)
        np.testing.assert_allclose(peer.model.contributions(X), booster.predict(X, pred_contrib=True), atol=1e-12)
        assert peer.library == "LightGBM"
        assert peer.feature_names is None
        assert peer.objective == OPTIONS[name].get("objective", "lambdarank")
    ranker = sr.load_peer(booster)
    np.testing.assert_array_equal(ranker.predict(X), scores)
    ranker.export(tmp_path / "again.txt", to="lightgbm")
    np.testing.assert_array_equal(lgb.Booster(model_file=str(tmp_path / "again.txt")).predict(X), scores)


def test_averaged_trees() -> None:
    booster = train_lightgbm(boosting="rf", bagging_freq=1, bagging_fraction=0.5, objective="regression")
    assert_same(read_peer(booster).model.score(peer_data().X), booster.predict(peer_data().X), 1e-14)


def test_the_best_trees_of_a_model_that_stopped_early() -> None:
    X, y, _ = peer_data()
    groups = [N_DOCUMENTS] * N_QUERIES
    train = lgb.Dataset(X, y, group=groups, free_raw_data=False)
    vali = train.create_valid(X, np.random.default_rng(0).permutation(y), group=groups)
    options = {"objective": "lambdarank", "min_data_in_leaf": 2, "verbosity": -1, "eval_at": [5]}
    stop = [lgb.early_stopping(3, verbose=False)]
    booster = lgb.train(options, train, 30, valid_sets=[vali], callbacks=stop, keep_training_booster=True)
    assert 0 < booster.best_iteration < booster.current_iteration()
    np.testing.assert_array_equal(read_peer(booster).model.score(X), booster.predict(X))


def test_the_ranker_of_lightgbm() -> None:
    X, y, _ = peer_data()
    ranker = lgb.LGBMRanker(n_estimators=5, num_leaves=7, verbosity=-1, n_jobs=1)
    with pytest.raises(sr.ParameterError, match="the LGBMRanker is not fitted"):
        read_peer(ranker)
    with pytest.raises(sr.ParameterError, match="a model of LightGBM is a Booster or an LGBMRanker; found Dataset"):
        read_peer(lgb.Dataset(X))
    ranker.fit(X, y, group=[N_DOCUMENTS] * N_QUERIES)
    np.testing.assert_array_equal(read_peer(ranker).model.score(X), ranker.booster_.predict(X))


def stump_text(threshold: float, missing: int, default_left: bool) -> bytes:
    text = lightgbm_stump().decode()
    text = text.replace("threshold=0.5\n", f"threshold={threshold!r}\n")
    return text.replace("decision_type=8\n", f"decision_type={4 * missing + 2 * default_left}\n").encode()


def lightgbm_stump() -> bytes:
    from swaprank.exchange.export import Export
    from swaprank.exchange.served_models import Trees
    from swaprank.exchange.to_lightgbm import content

    forest = build_forest([PeerTree([0], [0.5], [False], [~0], [~1], [1.0, 2.0])], 1)
    return content(Export("lightgbm", Trees(forest), ("a",), {}, "m", "refuse", False, None))


@pytest.mark.parametrize("default_left", [True, False])
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_what_is_missing_and_what_is_zero(missing: int, default_left: bool) -> None:
    """All kinds of missing values at thresholds around 0, against LightGBM itself."""
    edges = [-TINY, -1e-36, 0.0, 1e-36, TINY]
    X = np.array(
        [[-1.0], [np.nextafter(np.float32(-TINY), np.float32(-1))], *([x] for x in edges), [2e-35], [1.0], [np.nan]]
    )
    X = X.astype(np.float32)
    n_refused = 0
    for threshold in (-0.5, -2e-35, *edges, 2e-35, 0.5, 1e300):
        text = stump_text(threshold, missing, default_left)
        # -0.5, -2e-35, 2e-35, …: zeros go to the other side than the numbers around them.
        inconsistent = missing == 1 and abs(threshold) > TINY and default_left != (threshold > 0)
        if inconsistent:
            n_refused += 1
            with pytest.raises(sr.ModelFileError, match="zero_as_missing"):
                read(text)
            continue
        scores = lgb.Booster(model_str=text.decode()).predict(X)
        np.testing.assert_array_equal(read(text).model.score(X), scores, f"threshold {threshold}")
    assert n_refused == (0 if missing != 1 else 2 if default_left else 3)


def test_categories_of_data_frames_are_found_by_their_names(shop: Any) -> None:
    frame, y, _ = shop
    booster = train_lightgbm(data=frame, y=y)
    ranker = sr.load_peer(booster)
    assert ranker.categories_["brand"] == ("Größe 7", "nike", "puma")
    assert ranker.categories_["shop"] == ("3", "7", "90")
    assert ranker.categories_["same"] == ("one",)
    np.testing.assert_array_equal(ranker.predict(frame), booster.predict(frame))
    mixed = frame.assign(brand=frame.brand.cat.set_categories(["puma", "zara", "nike"]))
    np.testing.assert_array_equal(ranker.predict(mixed), booster.predict(mixed))
    ordered = frame.assign(same=frame.shop.cat.as_ordered())
    with pytest.raises(sr.ModelFileError, match="3 columns of the training data had pandas categories, but the file"):
        sr.load_peer(train_lightgbm(data=ordered, y=y))


def test_categories_without_names_are_numbers() -> None:
    peer = read_peer(train_lightgbm(categorical=True))
    assert peer.categories[4] == tuple(map(str, range(len(peer.categories[4]))))
    assert 30 < len(peer.categories[4]) <= 40


def test_what_cannot_be_read_is_refused() -> None:
    for options, message in (
        ({"objective": "multiclass", "num_class": 5}, r"several scores per document \(num_class=5\)"),
        ({"objective": "regression", "linear_tree": True}, "its leaves are linear models"),
        ({"zero_as_missing": True}, "it was trained with zero_as_missing"),
    ):
        with pytest.raises(sr.ModelFileError, match=message):
            read_peer(train_lightgbm(2, **options))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version=v4", "version=v9", "its version is v9; known are v2, v3, v4"),
        ("feature_names=a", "feature_names=a b", "it has 1 features, but 2 names"),
        ("tree_sizes=", "tree_sizes=5 ", "it is truncated: there are fewer trees than the file says"),
        ("end of trees", "end", "it is truncated: the end of the trees is missing"),
        ("num_leaves=2", "num_leaves=3", "leaf_value has 2 values, not 3"),
        ("left_child=-1", "left_child=7", "tree 0: node 0 has the child 7"),
        ("left_child=-1\n", "", "tree 0: there is no 'left_child'"),
        ("split_feature=0", "split_feature=1", "splits on a feature that is not one of the 1"),
        ("threshold=0.5", "threshold=nan", "threshold"),
        ("leaf_value=1.0 2.0", "leaf_value=1.0 inf", "leaf_value"),
        ("leaf_value=1.0 2.0", "leaf_value=1.0 x", "could not convert string to float"),
        ("decision_type=8", "decision_type=1", "tree 0: there is no 'cat_boundaries'"),
        ("decision_type=8", "decision_type=12", "decision_type has a value that LightGBM does not write"),
        ("leaf_count=1 1", "leaf_count=1 -1", "the weights or counts of its leaves"),
        ("pandas_categorical:[]", 'pandas_categorical:[["a"]]', "the file does not say which"),
        ("pandas_categorical:[]", "pandas_categorical:7", "pandas_categorical is not a list"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = lightgbm_stump().decode()
    assert old in text
    (tmp_path / "model.txt").write_text(text.replace(old, new))
    with pytest.raises(sr.ModelFileError, match=message):
        read_peer(tmp_path / "model.txt")


def test_damaged_files_give_an_error_or_a_safe_model(tmp_path: Path) -> None:
    assert min(outcomes(lightgbm_seeds(), tmp_path, n_files=200).values()) > 20


def test_a_truncated_file_is_an_error(tmp_path: Path) -> None:
    for seed in lightgbm_seeds():
        for length in range(5, seed.index(b"end of trees"), 13):
            (tmp_path / "model.txt").write_bytes(seed[:length])
            with pytest.raises(sr.ModelFileError):
                read_peer(tmp_path / "model.txt")


def test_real_data(shared_data: Path, tmp_path: Path) -> None:
    data = sr.read(shared_data / "mq2008" / "S1.txt.xz")
    train = lgb.Dataset(data.features, data.labels, group=np.diff(data.indptr))
    booster = lgb.train({"objective": "lambdarank", "verbosity": -1, "num_leaves": 31}, train, 100)
    ranker = sr.load_peer(booster)
    np.testing.assert_array_equal(ranker.predict(data), booster.predict(data.features))
    ours = sr.LambdaMART(n_trees=50).fit(data)
    for name, model in (("theirs.txt", ranker), ("ours.txt", ours)):
        model.export(tmp_path / name, to="lightgbm")
        again = lgb.Booster(model_file=str(tmp_path / name))
        np.testing.assert_array_equal(again.predict(data.features), model.predict(data))
    assert json.dumps(again.dump_model())
