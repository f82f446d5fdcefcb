"""Every model as one that formats know: the scores stay the same, whatever was joined, folded or moved."""

import numpy as np
import pytest

import swaprank as sr
from swaprank.models.category_sets import set_members, set_words
from swaprank.models.ensemble import Selection
from swaprank.models.served import (
    FeedForward,
    KernelSum,
    Mixture,
    Trees,
    WeightedSum,
    on_columns,
)
from tests.exchange.fitted_models import RANKERS, data, documents, fitted
from tests.exchange.naive_served import difference, scores
from tests.models.random_forests import naive_scores, random_documents, random_forest

KINDS = {
    "trees": Trees, "one leaf": Trees, "trees of missing values": Trees, "trees of categories": Trees,
    "sum of trees": Trees, "linear": WeightedSum, "smoothrank": WeightedSum, "linear net": WeightedSum,
    "sum of linear models": WeightedSum, "net": FeedForward, "sigmoid net": FeedForward,
    "relu net with logarithms": FeedForward, "kernel machine": KernelSum, "polynomial machine": KernelSum,
    "trees and linear": Mixture, "trees on a net": Mixture, "stack of everything": Mixture, "other columns": Mixture,
}  # fmt: skip


@pytest.mark.parametrize("name", RANKERS)
def test_scores_are_those_of_the_ranker(name: str) -> None:
    served, X = fitted(name).model_.for_export(), documents(name)
    assert isinstance(served, KINDS[name])
    exact = isinstance(served, Trees) and name != "sum of trees"
    assert difference(scores(served, X), fitted(name).model_.score(X)) <= (0 if exact else 1e-6)


@pytest.mark.parametrize("name", RANKERS)
def test_a_model_on_other_columns_has_the_same_scores(name: str) -> None:
    served, X = fitted(name).model_.for_export(), documents(name)
    columns = np.array([6, 2, 0, 5, 3])
    wide = np.full((len(X), 8), np.nan, np.float32)
    wide[:, columns] = X
    wide[:, 1] = 7  # A feature that the model does not have may have any value.
    assert difference(scores(on_columns(served, columns, 8, {}), wide), scores(served, X)) < 1e-14


def test_sets_of_categories_are_those_of_the_outer_codes() -> None:
    rng = np.random.default_rng(0)
    forest = random_forest(rng, [9, 20, 5], set_share=1.0)
    # 70 outer codes of two features, some unknown to the forest; its sets have up to 96 categories.
    codes = {f: np.where(rng.random(70) < 0.2, np.nan, rng.permutation(90)[:70]).astype(np.float32) for f in (1, 3)}
    selection = Selection(forest, np.arange(5), 5, codes)
    X = random_documents(rng, 400)
    X[:, [1, 3]] = rng.integers(70, size=(400, 2))
    X[rng.random(X.shape) < 0.1] = np.nan
    served = selection.for_export()
    assert isinstance(served, Trees)
    assert (naive_scores(served.forest, X) == selection.score(X)).all()
    assert (naive_scores(forest, X) != selection.score(X)).any()


def test_words_of_sets_go_back_and_forth() -> None:
    words = np.random.default_rng(0).integers(2**32, size=7, dtype=np.uint32)
    assert (set_words(set_members(words)) == words).all()
    assert set_words(np.zeros(0, np.bool_)).tolist() == []


def test_linear_models_that_replace_missing_values_differently_stay_apart() -> None:
    train, vali, test = data()
    features = np.where(train.features < 0, np.nan, train.features)
    qid = np.repeat(np.arange(train.n_queries), np.diff(train.indptr))
    other = sr.LinearRegressionRanker().fit(
        sr.Dataset(features, train.labels, qid=qid, feature_names=train.feature_names)
    )
    both = sr.combine(sr.LinearRegressionRanker().fit(train), other, vali)
    served = both.model_.for_export()
    assert isinstance(served, Mixture)
    assert difference(scores(served, test.features), both.predict(test)) < 1e-12
