"""We score XGBoost's models as it does, but for single precision."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.exchange.peer_files import read_peer
from swaprank.models.forest import Forest
from tests.exchange.damaged_files import outcomes
from tests.exchange.orders import assert_same
from tests.exchange.peer_seeds import peer_data, train_xgboost, xgboost_seeds
from tests.exchange.test_xgboost import matrix

xgb = pytest.importorskip("xgboost")


def test_names_of_categories_that_xgboost_has_cut_are_refused(tmp_path: Path) -> None:
    model = json.loads(xgboost_seeds()[0])
    column = {"offsets": [0, 2, 3], "values": [-61, -92, 98]}
    model["learner"]["gradient_booster"]["model"]["cats"] = {"enc": [column] * 6}
    model["version"] = [3, 2, 0]
    (tmp_path / "model.json").write_text(json.dumps(model))
    with pytest.raises(
        sr.errors.ModelFileError, match=r"XGBoost before 3\.4 cuts names of categories that are not ASCII"
    ):
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


@pytest.mark.slow
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
    ranker = sr.import_model(booster)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.errors.ExportWarning)  # unknown categories, which are tested below
        ranker.export(tmp_path / "again.json", to="xgboost")
        ranker.export(tmp_path / "model.txt", to="lightgbm")
    assert_same(xgb.Booster(model_file=str(tmp_path / "again.json")).predict(data), scores)
    np.testing.assert_array_equal(sr.import_model(tmp_path / "model.txt").predict(X), ranker.predict(X))


@pytest.mark.parametrize("n_parallel", [1, 2])
def test_the_best_trees_of_a_ranker_that_stopped_early(n_parallel: int, tmp_path: Path) -> None:
    X, y, qid = peer_data()
    ranker = xgb.XGBRanker(
        n_estimators=40, early_stopping_rounds=3, n_jobs=1, verbosity=0, num_parallel_tree=n_parallel, subsample=0.8
    )
    with pytest.raises(sr.errors.ParameterError, match="the XGBRanker is not fitted"):
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
        assert peer.model.n_stages == booster.num_boosted_rounds() * n_parallel
        assert_same(peer.model.score(X), booster.predict(matrix(X)))


def test_a_number_that_stands_for_missing_values_is_refused() -> None:
    X, y, qid = peer_data()
    filled = np.nan_to_num(X, nan=-999)
    ranker = xgb.XGBRanker(n_estimators=3, missing=-999.0, n_jobs=1).fit(filled, y, qid=qid)
    scores = ranker.predict(filled)
    with pytest.raises(
        sr.errors.ParameterError, match=r"its predict reads -999\.0 as a missing value, but here only NaN"
    ):
        read_peer(ranker)
    assert_same(read_peer(ranker.set_params(missing=np.nan)).model.score(X), scores)


@pytest.mark.parametrize("one_by_one", [False, True])
def test_unknown_numbers_of_categories_go_left_and_missing_ones_where_they_learned(one_by_one: bool) -> None:
    """Numbers above those of all sets, above 1,023, and negative ones."""
    rng = np.random.default_rng(0)
    shop = rng.integers(0, 3000, 4000).astype(np.float32)
    X = np.column_stack((shop, rng.normal(size=4000)))
    y = np.add(shop % 7, X[:, 1])
    X[rng.random(4000) < 0.1, 0] = np.nan
    y[np.isnan(X[:, 0])] += 20
    types = {"feature_types": ["c", "q"], "enable_categorical": True, "nthread": 1}
    options = {"max_depth": 4, "nthread": 1, "max_cat_to_onehot": 10_000 if one_by_one else 1}
    booster = xgb.train(options, xgb.DMatrix(X, y, **types), 8)
    X[:200, 0], X[200:300, 0] = rng.integers(3000, 10**6, 200), -rng.integers(1, 50, 100)
    ranker = sr.import_model(booster, check=X)
    assert ranker.categories_["1"][-1] == "any other"
    theirs, scorer = booster.predict(xgb.DMatrix(X, **types)), sr.Scorer(ranker)
    assert_same(ranker.predict(X), theirs)
    assert_same(scorer.predict(scorer.rows(X)), theirs)
    rows = [{"1": None if np.isnan(shop) else int(shop), "2": float(x)} for shop, x in X[:400]]
    assert_same(scorer.predict(scorer.rows(rows)), theirs[:400])
    frame = sr.Dataset(X, np.zeros(len(X)), qid=np.zeros(len(X)), categorical_features=[0])
    assert_same(ranker.predict(frame), theirs)
    # In an ensemble with a model that knows other numbers, and as the start of training with such.
    data = frame.replace(labels=y > y.mean())
    both = sr.combine(ranker, sr.MART(n_trees=1).fit(data), data)
    assert_same(both.model_.members[0].score(both._features_of(X)), theirs)
    more = sr.LambdaMART(n_trees=2, base_ranker=ranker).fit(data)
    assert_same(more.predict(X, n_trees=ranker.n_trees_), theirs)


def test_exports_say_that_unknown_categories_are_treated_as_missing(tmp_path: Path) -> None:
    booster, X = train_xgboost(categorical=True, max_cat_to_onehot=1), peer_data().X
    ranker = sr.import_model(booster)
    with pytest.warns(sr.errors.ExportWarning, match="that the model does not know go where missing"):
        ranker.export(tmp_path / "model.txt", to="lightgbm")
    np.testing.assert_array_equal(sr.import_model(tmp_path / "model.txt").predict(X), ranker.predict(X))


@pytest.mark.parametrize("objective", ["rank:ndcg", "reg:squarederror", "binary:logistic"])
def test_linear_models(objective: str, tmp_path: Path) -> None:
    X, y, qid = peer_data()
    groups = {"qid": qid} if objective.startswith("rank") else {}
    data = xgb.DMatrix(X, y > 1 if objective.startswith("binary") else y, nthread=1, **groups)
    booster = xgb.train({"booster": "gblinear", "objective": objective, "nthread": 1, "base_score": 0.3}, data, 5)
    for form in ("json", "ubj"):
        booster.save_model(tmp_path / f"model.{form}")
        ranker = sr.import_model(tmp_path / f"model.{form}", check=X)
        assert_same(ranker.predict(X), booster.predict(data, output_margin=True))
        assert ranker.size_ == "6 weights of XGBoost"
    content = json.loads((tmp_path / "model.json").read_text())
    content["learner"]["gradient_booster"]["model"]["weights"].pop()
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(sr.errors.ModelFileError, match="it has 6 features, but 6 weights, and not one more"):
        sr.import_model(tmp_path / "model.json")


def test_files_of_estimators_do_not_say_what_was_missing(tmp_path: Path) -> None:
    X, y, qid = peer_data()
    ranker = xgb.XGBRanker(n_estimators=2, missing=-1.0, n_jobs=1).fit(np.nan_to_num(X, nan=-1), y, qid=qid)
    ranker.save_model(tmp_path / "model.json")
    found = sr.import_model(tmp_path / "model.json")
    assert "does not say what its `missing` was" in found.notes_[0]
    found.save(tmp_path / "model.swaprank")
    assert sr.load(tmp_path / "model.swaprank").notes_ == found.notes_
    assert sr.import_model(ranker.get_booster()).notes_ == ()


def test_what_cannot_be_read_is_refused() -> None:
    X = np.nan_to_num(peer_data().X)
    for options, message in (
        ({"objective": "multi:softprob", "num_class": 5}, r"several scores per document \(num_class=5\)"),
        ({"objective": "reg:squarederror", "y": np.ones((len(X), 2))}, r"several scores per document \(num_target=2\)"),
    ):
        with pytest.raises(sr.errors.ModelFileError, match=message):
            read_peer(train_xgboost(2, data=X, **options))
    with pytest.raises(
        sr.errors.ParameterError, match="a model of XGBoost is a Booster or an XGBRanker; found DMatrix"
    ):
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
    with pytest.raises(sr.errors.ModelFileError, match=message):
        read_peer(tmp_path / "model.json")


@pytest.mark.parametrize("base", [0.5, "5E-1", "[5E-1]", "0.5"])
def test_all_spellings_of_the_base_score(base: Any, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(changed(["learner", "learner_model_param", "base_score"], base))
    model = read_peer(tmp_path / "model.json").model
    assert isinstance(model, Forest)
    assert model.base_score == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("form", [0, 1])
def test_damaged_files_give_an_error_or_a_safe_model(form: int, tmp_path: Path) -> None:
    # Most bytes of UBJ are types and counts, or the number of a node.
    assert min(outcomes(xgboost_seeds()[form::2], tmp_path).values()) > 3
