"""XGBoost scores our models as we do, and we score its models as it does, but for single precision."""

from __future__ import annotations

import json
import struct
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
from swaprank.exchange.ubjson import loads
from swaprank.models.forest import Forest, split_gains
from tests.exchange.damaged_files import outcomes
from tests.exchange.fitted_models import NAMES, TREE_RANKERS, documents, fitted
from tests.exchange.orders import assert_same
from tests.exchange.peer_seeds import (
    N_DOCUMENTS,
    N_QUERIES,
    peer_data,
    train_xgboost,
    xgboost_seeds,
)
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
        assert_same(sr.load_peer(tmp_path / f"again.{form}").predict(X), ranker.predict(X), 1e-7)


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


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31), st.lists(st.integers(1, 12), max_size=5))
def test_any_forest_is_scored_the_same(tmp_path_factory: pytest.TempPathFactory, seed: int, leaves: list[int]) -> None:
    rng = np.random.default_rng(seed)
    forest, X = random_forest(rng, leaves), random_documents(rng, 60)
    # Infinite values are no data for XGBoost.
    X[np.isinf(X)] = 3
    folder = tmp_path_factory.mktemp("any")
    scores = forest.score(X)
    assert_same(booster_of(forest, folder).inplace_predict(X), scores)
    assert_same(read_peer(folder / "model.json").model.score(X), scores, 1e-7)


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
        with pytest.raises(sr.ExportError, match="XGBoost cannot hold the feature name"):
            export(forest, ["x", "y", "z", name], {}, tmp_path / "model.json", "xgboost")


def test_what_xgboost_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sr.ExportError, match="xgboost holds only trees; found a net of 2 hidden layers"):
        fitted("net").export(tmp_path / "model.json", to="xgboost")
    large = build_forest([PeerTree(leaf_value=[1e39])], 1)
    with pytest.raises(sr.ExportError, match="single precision"):
        export(large, ["a"], {}, tmp_path / "model.json", "xgboost")
    sets = random_forest(np.random.default_rng(0), [5], n_features=2, set_share=1)
    with pytest.raises(sr.ExportError, match="names of categories that are not ASCII, such as of 'b'"):
        export(sets, ["a", "b"], {"b": ("Größe", "x")}, tmp_path / "model.json", "xgboost")
    with pytest.raises(sr.ExportError, match="but 'b' has -1 to 1"):
        export(sets, ["a", "b"], {"b": ("-1", "1")}, tmp_path / "model.json", "xgboost")


@pytest.fixture(scope="module")
def shop() -> Any:
    """A data frame with text and numbers as categories, labels, and query ids."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    n = N_QUERIES * N_DOCUMENTS
    frame = pandas.DataFrame(
        {
            "bm25": rng.normal(size=n).astype(np.float32),
            "brand": pandas.Categorical(rng.choice(["nike", "puma", "adidas"], n)),
            "shop": pandas.Categorical(rng.choice([3, 7, 90], n)),
        }
    )
    y = ((frame.brand == "nike").astype(int) + (frame.shop == 90) + (frame.bm25 > 0)).to_numpy()
    return frame, y


@pytest.mark.skipif(not KNOWS_DATA_FRAMES, reason="XGBoost before 3.1 does not know the categories of data frames")
def test_categories_of_data_frames_are_found_by_their_names(shop: Any, tmp_path: Path) -> None:
    frame, y = shop
    ranker = sr.LambdaMART(n_trees=8, n_leaves=6, min_docs_in_leaf=5).fit(frame, y, qid=peer_data().qid)
    ranker.export(tmp_path / "model.json", to="xgboost")
    own, theirs = xgb.Booster(model_file=str(tmp_path / "model.json")), train_xgboost(data=frame, y=y)
    others = frame.assign(
        brand=frame.brand.cat.set_categories(["puma", "nike", "adidas"]), shop=frame.shop.cat.set_categories([90, 3, 7])
    )
    for booster, expected in ((own, ranker), (theirs, sr.load_peer(theirs))):
        for data in (frame, others):
            assert_same(booster.predict(xgb.DMatrix(data, enable_categorical=True, nthread=1)), expected.predict(data))
    assert sr.load_peer(theirs).categories_ == {"brand": ("adidas", "nike", "puma"), "shop": ("3", "7", "90")}
    assert_same(sr.load_peer(own).predict(others), ranker.predict(frame), 1e-7)
    # Numbers are categories as they are, also without a data frame.
    codes = np.column_stack((frame.bm25, frame.brand.cat.codes, frame.shop.astype(int))).astype(np.float32)
    assert_same(own.inplace_predict(codes, validate_features=False), ranker.predict(frame))


def test_names_of_categories_that_xgboost_has_cut_are_refused(tmp_path: Path) -> None:
    model = json.loads(xgboost_seeds()[0])
    column = {"offsets": [0, 2, 3], "values": [-61, -92, 98]}
    model["learner"]["gradient_booster"]["model"]["cats"] = {"enc": [column] * 6}
    model["version"] = [3, 2, 0]
    (tmp_path / "model.json").write_text(json.dumps(model))
    with pytest.raises(sr.ModelFileError, match=r"XGBoost before 3\.4 cuts names of categories that are not ASCII"):
        read_peer(tmp_path / "model.json")
    model["version"] = [3, 4, 0]
    (tmp_path / "model.json").write_text(json.dumps(model))
    assert read_peer(tmp_path / "model.json").categories[0] == ("ä", "b")


OPTIONS: dict[str, dict[str, Any]] = {
    "rank:ndcg": {},
    "rank:pairwise": {"objective": "rank:pairwise"},
    "dart": {"booster": "dart", "rate_drop": 0.5},
    "binary:logistic": {"objective": "binary:logistic", "y": (peer_data().y > 1).astype(int)},
    "count:poisson": {"objective": "count:poisson"},
    "reg:gamma": {"objective": "reg:gamma", "y": peer_data().y + 1},
    "base score": {"objective": "reg:squarederror", "base_score": 2.5},
    "pruned, with deleted nodes": {"objective": "reg:squarederror", "tree_method": "exact", "gamma": 5},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 20, "max_depth": 0},
    "forest": {"num_parallel_tree": 3, "subsample": 0.5},
    "monotone": {"objective": "reg:squarederror", "monotone_constraints": "(1,0,0,0,0,0)"},
    "categories, hist": {"categorical": True, "max_cat_to_onehot": 1},
    "categories, approx": {"categorical": True, "max_cat_to_onehot": 1, "tree_method": "approx"},
    "categories one by one": {"categorical": True, "max_cat_to_onehot": 100},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_models_of_xgboost_are_scored_the_same(name: str, tmp_path: Path) -> None:
    booster, X = train_xgboost(**OPTIONS[name]), peer_data().X
    is_categorical = "categorical" in OPTIONS[name]
    data = matrix(X, None, [4, 5] if is_categorical else [])
    scores = booster.predict(data, output_margin=True)
    peers = [read_peer(booster)]
    for form in ("json", "ubj"):
        booster.save_model(tmp_path / f"model.{form}")
        peers.append(read_peer(tmp_path / f"model.{form}"))
    for peer in peers:
        assert_same(peer.model.score(X), scores)
        np.testing.assert_array_equal(peer.model.score(X), peers[0].model.score(X))
        assert peer.objective == OPTIONS[name].get("objective", "rank:ndcg")
    np.testing.assert_allclose(peers[0].model.contributions(X), booster.predict(data, pred_contribs=True), atol=2e-6)
    ranker = sr.load_peer(booster)
    ranker.export(tmp_path / "again.json", to="xgboost")
    assert_same(xgb.Booster(model_file=str(tmp_path / "again.json")).predict(data), scores)
    ranker.export(tmp_path / "model.txt", to="lightgbm")
    np.testing.assert_array_equal(sr.load_peer(tmp_path / "model.txt").predict(X), ranker.predict(X))


@pytest.mark.parametrize("n_parallel", [1, 2])
def test_the_best_trees_of_a_ranker_that_stopped_early(n_parallel: int, tmp_path: Path) -> None:
    X, y, qid = peer_data()
    ranker = xgb.XGBRanker(
        n_estimators=40, early_stopping_rounds=3, n_jobs=1, verbosity=0, num_parallel_tree=n_parallel, subsample=0.8
    )
    with pytest.raises(sr.ParameterError, match="the XGBRanker is not fitted"):
        read_peer(ranker)
    other = np.random.default_rng(0).permutation(y)
    ranker.fit(X, y, qid=qid, eval_set=[(X, other)], eval_qid=[qid], verbose=False)
    assert ranker.best_iteration + 1 < ranker.get_booster().num_boosted_rounds()
    assert_same(read_peer(ranker).model.score(X), ranker.predict(X))
    for form in ("json", "ubj"):
        ranker.save_model(tmp_path / f"ranker.{form}")
        again = xgb.XGBRanker()
        again.load_model(tmp_path / f"ranker.{form}")
        assert_same(read_peer(tmp_path / f"ranker.{form}").model.score(X), again.predict(X))
    booster = ranker.get_booster()
    booster.save_model(tmp_path / "booster.ubj")
    for peer in (read_peer(booster), read_peer(tmp_path / "booster.ubj")):
        assert peer.model.n_trees == booster.num_boosted_rounds() * n_parallel
        assert_same(peer.model.score(X), booster.predict(matrix(X)))


def test_a_number_that_stands_for_missing_values_is_refused() -> None:
    X, y, qid = peer_data()
    filled = np.nan_to_num(X, nan=-999)
    ranker = xgb.XGBRanker(n_estimators=3, missing=-999.0, n_jobs=1).fit(filled, y, qid=qid)
    scores = ranker.predict(filled)
    with pytest.raises(sr.ParameterError, match=r"its predict reads -999\.0 as a missing value, but here only NaN"):
        read_peer(ranker)
    assert_same(read_peer(ranker.set_params(missing=np.nan)).model.score(X), scores)


def test_what_cannot_be_read_is_refused() -> None:
    X = np.nan_to_num(peer_data().X)
    for options, message in (
        ({"objective": "multi:softprob", "num_class": 5}, r"several scores per document \(num_class=5\)"),
        ({"objective": "reg:squarederror", "y": np.ones((len(X), 2))}, r"several scores per document \(num_target=2\)"),
    ):
        with pytest.raises(sr.ModelFileError, match=message):
            read_peer(train_xgboost(2, data=X, **options))
    linear = xgb.train({"booster": "gblinear", "verbosity": 0}, xgb.DMatrix(X, peer_data().y, nthread=1), 1)
    with pytest.raises(sr.ModelFileError, match="its booster is gblinear; known are the trees of gbtree and dart"):
        read_peer(linear)
    with pytest.raises(sr.ParameterError, match="a model of XGBoost is a Booster or an XGBRanker; found DMatrix"):
        read_peer(matrix(X))


def changed(path: list[Any], value: Any) -> bytes:
    """A small model in which one value is another."""
    model = json.loads(xgboost_seeds()[2])
    tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
    inner: Any = {"tree": tree, "learner": model["learner"]}
    for key in path[:-1]:
        inner = inner[key]
    assert path[-1] in inner or isinstance(inner, list)
    inner[path[-1]] = value
    return json.dumps(model).encode()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["tree", "left_children", 0], 0, "there is no node 0, or it has two parents"),
        (["tree", "left_children", 0], 99, "there is no node 99"),
        (["tree", "left_children", 0], 1.5, "left_children has a number that is not whole"),
        (["tree", "left_children", 0], "x", "left_children is not a list of numbers"),
        (["tree", "split_conditions"], [1.0], "split_conditions has not one value for each node"),
        (["tree", "split_conditions", -1], float("nan"), r"the forest's leaf_value\[\d+\] is nan"),
        (["tree", "split_indices"], None, "split_indices is not a list of numbers"),
        (["tree", "split_indices", 0], 77, "splits on a feature that is not one of the 6"),
        (["tree", "sum_hessian", -1], -1.0, "weights or counts"),
        (["tree", "categories_sizes", 0], 1000, "the sets of categories are not within its categories"),
        (["tree", "categories", 0], 2**24, "the numbers of categories must be from 0"),
        (["tree", "categories", 0], 2**23, "it has a category with the number 8,388,608"),
        (["tree", "tree_param", "size_leaf_vector"], "3", "its leaves have several values"),
        (["learner", "learner_model_param", "num_feature"], "3", "feature_types|3 features"),
        (["learner", "learner_model_param", "num_feature"], "0", "0 features"),
        (["learner", "learner_model_param", "base_score"], "[1E0,2E0]", "damaged"),
        (["learner", "gradient_booster", "model", "tree_info", 0], 1, "trees of several classes"),
        (["learner", "feature_types", 0], 7, "or they are not text"),
        (["learner", "attributes"], {"scikit_learn": "{}", "best_iteration": "-2"}, "its best_iteration is -2"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(path: list[Any], value: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(changed(path, value))
    with pytest.raises(sr.ModelFileError, match=message):
        read_peer(tmp_path / "model.json")


@pytest.mark.parametrize("base", [0.5, "5E-1", "[5E-1]", "0.5"])
def test_all_spellings_of_the_base_score(base: Any, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(changed(["learner", "learner_model_param", "base_score"], base))
    assert read_peer(tmp_path / "model.json").model.base_score == 0.5


@pytest.mark.parametrize("form", [0, 1])
def test_damaged_files_give_an_error_or_a_safe_model(form: int, tmp_path: Path) -> None:
    # Most bytes of UBJ are types and counts, or the number of a node.
    assert min(outcomes(xgboost_seeds()[form::2], tmp_path).values()) > 3


def test_ubjson_is_read_as_json_is() -> None:
    seeds = xgboost_seeds()

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items()}
        if isinstance(value, list | np.ndarray):
            return [plain(each) for each in value]
        # JSON has the shortest texts of numbers in single precision; as a text, NaN is equal to itself.
        return str(np.float32(value)) if isinstance(value, float | np.floating) else value

    for as_json, as_ubj in zip(seeds[::2], seeds[1::2], strict=True):
        assert plain(loads(as_ubj)) == plain(json.loads(as_json))


def test_truncated_ubjson_is_an_error() -> None:
    for seed in xgboost_seeds()[1::2]:
        for length in range(2, len(seed), 17):
            with pytest.raises(sr.ModelFileError):
                loads(seed[:length])


def test_ubjson_that_asks_for_much_is_an_error() -> None:
    large = struct.pack(">q", 2**40)
    for content in (
        b"[$d#L" + large,
        b"[#L" + large,
        b"SL" + large,
        b"[$d#L" + struct.pack(">q", -1),
        b"[$Z#L" + large,
    ):
        with pytest.raises(sr.ModelFileError, match="damaged"):
            loads(content)
    with pytest.raises(sr.ModelFileError, match="nested too deeply"):
        loads(b"[" * 100_000)
    assert loads(b"[TFZi\x05]") == [True, False, None, 5]


def test_real_data(shared_data: Path, tmp_path: Path) -> None:
    data = sr.read(shared_data / "mq2008" / "S1.txt.xz")
    qid = np.repeat(np.arange(data.n_queries), np.diff(data.indptr))
    train = xgb.DMatrix(data.features, data.labels, qid=qid, nthread=1)
    booster = xgb.train({"objective": "rank:ndcg", "nthread": 1}, train, 50)
    ranker, ours = sr.load_peer(booster), sr.LambdaMART(n_trees=50).fit(data)
    assert_same(ranker.predict(data), booster.predict(train))
    for model in (ranker, ours):
        model.export(tmp_path / "model.json", to="xgboost")
        assert_same(xgb.Booster(model_file=str(tmp_path / "model.json")).predict(train), model.predict(data))
