"""Categories at the border of the rankers: what the model sees are its own codes, whatever the data looks like."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import swaprank as sr
from swaprank.errors import ArgumentError, DataError
from swaprank.rankers.training import FitRequest, Trained
from swaprank.registry import RANKERS, ranker_class


def frame(seed: int, brands: list[Any], n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {
        "brand": rng.choice(np.array(brands, dtype=object), n),
        "price": rng.random(n),
        "shop": rng.integers(90, 110, n),
    }
    return pd.DataFrame(columns)


def labels_of(X: pd.DataFrame) -> Any:
    return (X["brand"] == "nike").to_numpy() * 1 + (X["shop"] % 3 == 0).to_numpy() + (X["price"] > 0.5).to_numpy()


QID = np.arange(200) // 10
X = frame(0, ["nike", "asics", "adidas", None])
OTHER = frame(1, ["puma", "nike", None, "adidas"])
DATA = sr.Dataset(X, labels_of(X), qid=QID, categorical_features=["shop"])
RANKER = sr.LambdaMART(n_trees=5, n_leaves=4).fit(DATA)


def codes_by_hand(values: Any, categories: tuple[str, ...]) -> list[float]:
    return [categories.index(str(value)) if str(value) in categories else np.nan for value in values]


def expected(X: pd.DataFrame, ranker: Any = RANKER) -> Any:
    """The features that the model must see, one value after the other."""
    names = ranker.categories_
    brand, shop = codes_by_hand(X["brand"], names["brand"]), codes_by_hand(X["shop"], names["shop"])
    return np.array([brand, X["price"], shop], np.float32).T


def as_polars(X: pd.DataFrame) -> Any:
    return pytest.importorskip("polars").from_pandas(X)


def as_objects(X: pd.DataFrame) -> Any:
    return X.astype(object).to_numpy()


FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "as in training": lambda X: X,
    "other columns and orders": lambda X: X.assign(title="x", day=pd.Timestamp(0))[
        ["day", "shop", "title", "price", "brand"]
    ],
    "categories": lambda X: X.astype({"brand": "category", "shop": "category"}),
    "text": lambda X: X.astype({"shop": str}),
    "floats": lambda X: X.astype({"shop": float}),
    "polars": as_polars,
    "array": as_objects,
    "data set": lambda X: sr.Dataset(X, np.zeros(len(X)), qid=QID, categorical_features=["shop"]),
    "data set with numbers": lambda X: sr.Dataset(X, np.zeros(len(X)), qid=QID),
    "data set of text": lambda X: sr.Dataset(X.astype({"shop": str}), np.zeros(len(X)), qid=QID),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("given", [X, OTHER], ids=["training data", "other data"])
def test_the_model_sees_its_own_codes(given: pd.DataFrame, form: str) -> None:
    made = FORMS[form](given)
    assert_array_equal(RANKER._features_of(made), expected(given))
    assert_array_equal(RANKER.predict(made), RANKER.model_.score(expected(given)))
    if isinstance(made, sr.Dataset):
        assert RANKER.matched(made).categories == RANKER.categories_


def test_unknown_categories_are_missing() -> None:
    assert "puma" not in RANKER.categories_["brand"]
    puma = OTHER["brand"] == "puma"
    assert puma.any()
    assert_array_equal(RANKER.predict(OTHER), RANKER.predict(OTHER.assign(brand=OTHER["brand"].where(~puma, None))))


class Seen:
    """What `_fit` of MART was called with."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        inner = sr.MART._fit

        def watched(ranker: sr.MART, request: FitRequest) -> Trained:
            self.request = request
            return inner(ranker, request)

        monkeypatch.setattr(sr.MART, "_fit", watched)


@pytest.mark.parametrize("how", ["data set", "tuple", "eval_set"])
def test_validation_sets_get_the_codes_of_the_training_data(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    seen, y = Seen(monkeypatch), labels_of(OTHER)
    arguments: dict[str, dict[str, Any]] = {
        "data set": {"valid": sr.Dataset(OTHER, y, qid=QID)},
        "tuple": {"valid": (OTHER, y, QID)},
        "eval_set": {"eval_set": [(OTHER, y)], "eval_qid": [QID]},
    }
    ranker = sr.MART(n_trees=2).fit(X, labels_of(X), qid=QID, categorical_features=["shop"], **arguments[how])
    assert ranker.categories_ == DATA.categories
    assert_array_equal(seen.request.data.features, DATA.features)
    (valid,) = seen.request.valid.values()
    assert_array_equal(valid.features, expected(OTHER))
    assert valid.categories == DATA.categories
    assert ranker.score(OTHER, y, qid=QID) == ranker.score(sr.Dataset(OTHER, y, qid=QID))
    assert ranker.score(OTHER, y, qid=QID) == ranker.score(valid)


def test_categories_of_a_base_ranker_keep_their_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(monkeypatch)
    base = sr.MART(n_trees=2).fit(DATA)
    data = sr.Dataset(OTHER, labels_of(OTHER), qid=QID)
    ranker = sr.MART(n_trees=2).fit(data, base_ranker=base)
    known = base.categories_["brand"]
    assert ranker.categories_["brand"] == (*known, "puma")
    assert ranker.categories_["shop"][: len(base.categories_["shop"])] == base.categories_["shop"]
    assert_array_equal(seen.request.data.features, expected(OTHER, ranker))
    numbers = sr.Dataset(X.assign(brand=0.5), labels_of(X), qid=QID)
    base = sr.MART(n_trees=1).fit(numbers)
    with pytest.raises(DataError, match="'brand' holds categories such as 'adidas', but for the base ranker it is a"):
        sr.MART().fit(data, base_ranker=base)


def test_refit_and_permutation_importances() -> None:
    other = sr.Dataset(OTHER, labels_of(OTHER), qid=QID)
    again = RANKER.refit(other)
    by_hand = RANKER.refit(RANKER.matched(other))
    assert again.categories_ == RANKER.categories_
    assert_array_equal(again.predict(X), by_hand.predict(X))
    found = RANKER.permutation_importances(DATA, n_repeats=2)
    assert set(found) == {"brand", "price", "shop"}
    assert found["price"] > 0
    assert found == RANKER.permutation_importances(sr.Dataset(X, labels_of(X), qid=QID), n_repeats=2)


def test_saved_and_pickled(tmp_path: Path) -> None:
    RANKER.save(tmp_path / "model.swaprank")
    for again in (sr.load(tmp_path / "model.swaprank"), pickle.loads(pickle.dumps(RANKER))):
        assert again.categories_ == RANKER.categories_
        assert_array_equal(again.predict(OTHER), RANKER.predict(OTHER))


def test_a_ranker_without_categories_has_none() -> None:
    ranker = sr.MART(n_trees=1).fit(X[["price"]], labels_of(X), qid=QID)
    assert ranker.categories_ == {}
    with pytest.raises(DataError, match=r"column 'price' holds .* not numbers: leave it out, or encode it"):
        ranker.predict(pd.DataFrame({"price": ["cheap"]}))
    text = sr.Dataset(pd.DataFrame({"price": ["cheap"]}), [0], qid=[1])
    with pytest.raises(DataError, match="'price' holds categories such as 'cheap', but for MART it is a number"):
        ranker.predict(text)


CAN = {kind: ranker_class(kind).can for kind in RANKERS}


@pytest.mark.parametrize("kind", [kind for kind in CAN if CAN[kind].learns_from == "data" and not CAN[kind].categories])
def test_other_rankers_refuse_categories(kind: str) -> None:
    ranker = ranker_class(kind)()
    words = rf"{type(ranker).__name__} learns from numbers, but the feature 'brand' is categorical \(such as 'adidas'\)"
    with pytest.raises(DataError, match=f"{words}: use LambdaMART or MART"):
        ranker.fit(DATA)
    with pytest.raises(DataError, match=words):
        ranker.fit(X, labels_of(X), qid=QID)
    if hasattr(ranker, "partial_fit"):
        with pytest.raises(DataError, match=words):
            ranker.partial_fit(X, labels_of(X), qid=QID)
        numbers = X.assign(brand=0.5)
        ranker.partial_fit(numbers, labels_of(X), qid=QID)
        with pytest.raises(DataError, match="column 'brand' holds"):
            ranker.partial_fit(X, labels_of(X), qid=QID)
        with pytest.raises(DataError, match="'brand' holds categories"):
            ranker.partial_fit(DATA)


def test_a_data_set_has_its_own_categories() -> None:
    with pytest.raises(DataError, match="give it without categorical_features"):
        sr.MART().fit(DATA, categorical_features=["price"])


@pytest.mark.parametrize("name", ["categorical_feature", "cat_features"])
def test_names_of_other_libraries(name: str) -> None:
    given: dict[str, Any] = {name: ["shop"]}
    with pytest.raises(ArgumentError, match=f"fit has no argument '{name}'; in swaprank: categorical_features"):
        sr.MART().fit(X, labels_of(X), qid=QID, **given)
    with pytest.raises(ArgumentError, match=f"'{name}'; in swaprank: categorical_features"):
        sr.Dataset(X, labels_of(X), qid=QID, **given)
    wrong: dict[str, Any]
    for wrong in (given, {"enable_categorical": True}, {"categorical_features": ["shop"]}):
        with pytest.raises(ArgumentError, match="text and category columns of tables are categorical"):
            sr.LambdaMART(**wrong)


def test_members_of_an_ensemble() -> None:
    price = sr.LinearRegressionRanker().fit(X[["price"]], labels_of(X), qid=QID)
    other = sr.Dataset(OTHER, labels_of(OTHER), qid=QID)
    both = sr.combine(price, RANKER, other)
    assert both.categories_ == RANKER.categories_
    scores = both.predict(OTHER)
    assert_array_equal(scores, both.predict(other))
    assert_array_equal(scores, both.model_.score(expected(OTHER)[:, [1, 0, 2]]))
    stacked = sr.stack([RANKER, price, sr.MART(n_trees=2).fit(DATA)], other, n_epochs=2, valid=other)
    assert stacked.categories_ == RANKER.categories_
    assert_array_equal(stacked.predict(OTHER), stacked.predict(other))


def test_members_with_different_categories(tmp_path: Path) -> None:
    """Each member scores every document as it does alone."""
    second = sr.MART(n_trees=5).fit(
        sr.Dataset(OTHER[["shop", "brand"]], labels_of(OTHER), qid=QID, categorical_features=["shop"])
    )
    assert second.categories_["brand"] != RANKER.categories_["brand"]
    third = frame(2, ["puma", "asics", "reebok"])
    for members in ((RANKER, second), (second, RANKER)):
        stacked = sr.stack(members, DATA, n_epochs=1)
        assert set(stacked.categories_["brand"]) == {"nike", "asics", "adidas", "puma"}
        stacked.save(tmp_path / "stacked.swaprank")
        loaded: Any = sr.load(tmp_path / "stacked.swaprank")
        for given in (X, OTHER, third):
            features = loaded._features_of(given)
            for member, model in zip(members, loaded.model_.members, strict=True):
                assert_array_equal(model.score(features), member.predict(given))
        nested = sr.combine(stacked, RANKER, DATA)
        assert_array_equal(nested.model_.members[1].score(nested._features_of(third)), RANKER.predict(third))


def test_a_feature_that_is_a_number_for_one_member() -> None:
    numbers = sr.MART(n_trees=2).fit(X[["shop"]], labels_of(X), qid=QID)
    with pytest.raises(DataError, match="the feature 'shop' is categorical for some members of the ensemble, and a nu"):
        sr.combine(RANKER, numbers, DATA)


def test_a_contribution_of_a_category_is_grey() -> None:
    pytest.importorskip("matplotlib")
    axes = RANKER.plot_contributions(X)
    ranks = {
        label.get_text(): dots.get_array()
        for label, dots in zip(axes.get_yticklabels(), axes.collections[1::2], strict=True)
    }
    assert len(ranks["brand"]) == len(ranks["shop"]) == 0
    assert len(ranks["price"]) == len(X)


def test_cross_validation_and_tuning_code_the_data_once() -> None:
    result = sr.cross_validate(DATA, {"trees": sr.MART(n_trees=2)}, n_folds=3)
    assert len(result.folds["trees"]) == 3


def test_instruments() -> None:
    other = sr.Dataset(OTHER, labels_of(OTHER), qid=QID)
    explained = sr.explain_query(RANKER, other, qid=3)
    assert_array_equal(np.sort(explained.scores), np.sort(RANKER.predict(other)[30:40]))


def test_categories_that_a_base_ranker_does_not_know_are_missing_for_its_trees() -> None:
    rng = np.random.default_rng(0)
    brands, labels, qid = rng.choice(["a", "b", "c"], 300), rng.integers(0, 3, 300), np.arange(300) // 10
    old = brands != "b"
    base = sr.LambdaMART(n_trees=8, min_docs_in_leaf=2).fit(
        pd.DataFrame({"brand": brands[old]}), labels[old] + (brands[old] == "a"), qid=qid[old]
    )
    more = sr.LambdaMART(n_trees=8, min_docs_in_leaf=2, base_ranker=base).fit(
        pd.DataFrame({"brand": brands}), labels + 2 * (brands == "b"), qid=qid
    )
    assert more.categories_["brand"] == ("a", "c", "b")
    codes = np.array([[0.0], [1.0], [2.0], [np.nan]], np.float32)
    known_to_base = more.model_.part(0, base.n_trees_).score(codes)
    assert known_to_base[2] == known_to_base[3]
    assert known_to_base[0] != known_to_base[1]
    with_new = more.predict(pd.DataFrame({"brand": ["b", None]}))
    assert with_new[0] != with_new[1]
