"""SVM-MAP against brute force over all rankings, and its cutting planes against the cost that they bound."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import swaprank as sr
from swaprank.arrays import Bools, Floats
from swaprank.baselines.cutting_planes import CuttingPlanes
from swaprank.baselines.svm_map import worst_rankings

TRAIN, VALI = sr.datasets.random_polynomial((12, 12), n_features=4, n_documents=6, random_state=3)


def average_precision(relevant: Bools) -> float:
    """Of a list in its order."""
    precisions = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
    return float(precisions[relevant].mean())


def highest_cost(relevant: Bools, scores: Floats) -> float:
    """The largest (1 - AP) - w·(F(best) - F(y)) of all rankings y, from the definition of F."""
    n, n_pairs = len(scores), relevant.sum() * (~relevant).sum()
    rankings = np.array(list(permutations(range(n))))
    rank = np.argsort(rankings, axis=1)
    margins = np.zeros(len(rankings))
    for i in np.flatnonzero(relevant):
        for j in np.flatnonzero(~relevant):
            margins += np.where(rank[:, i] > rank[:, j], 2.0 * (scores[i] - scores[j]) / n_pairs, 0.0)
    losses = 1.0 - np.array([average_precision(relevant[ranking]) for ranking in rankings])
    return float((losses - margins).max())


@pytest.mark.parametrize("seed", range(30))
def test_the_greedy_ranking_is_the_worst_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    relevant = np.append(rng.random(n - 2) < 0.4, [True, False])
    scores = rng.normal(size=n) * rng.choice([0.0, 0.1, 1.0, 5.0])
    if seed % 3 == 0:
        scores = scores.round(1)  # ties
    losses, pull = np.zeros(1), np.zeros(n)
    worst_rankings(relevant, np.array([0, n]), scores, n, 0, 1, losses, pull)
    assert losses[0] - pull @ scores == pytest.approx(highest_cost(relevant, scores), abs=1e-12)
    assert pull.sum() == pytest.approx(0, abs=1e-12)


def true_cost(data: sr.Dataset, weights: Floats, strength: float, rel: float) -> float:
    """The cost by brute force; weights are those of the features as they are."""
    scores, losses = data.features.astype(float) @ weights, []
    for first, last in zip(data.indptr[:-1], data.indptr[1:], strict=True):
        relevant = data.labels[first:last] >= rel
        if 0 < relevant.sum() < last - first:
            losses.append(highest_cost(relevant, scores[first:last]))
    return float(np.mean(losses) + strength * weights @ weights)


@pytest.mark.slow
def test_the_cost_is_within_the_gap_of_its_minimum() -> None:
    ranker = sr.baselines.SVMMAP(rel=2, regularization=0.01, tolerance=1e-4, standardize=False).fit(TRAIN)
    assert 0 <= ranker.gap_ <= 1e-4
    found = true_cost(TRAIN, ranker.coef_, 0.01, rel=2)
    assert found < 0.9 * true_cost(TRAIN, 0 * ranker.coef_, 0.01, rel=2)
    rng = np.random.default_rng(0)
    for _ in range(10):
        nearby = ranker.coef_ + rng.normal(size=4) * 10 ** rng.uniform(-3, 0)
        assert true_cost(TRAIN, nearby, 0.01, rel=2) > found - 1e-4
    rough = sr.baselines.SVMMAP(rel=2, regularization=0.01, tolerance=1e-4, max_iterations=3, standardize=False).fit(
        TRAIN
    )
    assert rough.gap_ > 1e-4
    assert found < true_cost(TRAIN, rough.coef_, 0.01, rel=2) <= found + rough.gap_


def test_planes_have_the_lowest_point_of_a_general_solver() -> None:
    rng = np.random.default_rng(1)
    planes = CuttingPlanes(4)
    bounds = []
    for _ in range(12):
        planes.add(rng.normal(size=4), rng.random())
        weights, bound = planes.lowest_point(0.05, 1e-9)
        bounds.append(bound)
    assert (np.diff(bounds) > -1e-9).all()
    rows = {"type": "ineq", "fun": lambda x: x[4] - planes.offsets + planes.slopes @ x[:4]}
    solved = minimize(lambda x: 0.05 * x[:4] @ x[:4] + x[4], np.ones(5), constraints=rows, options={"ftol": 1e-12})
    assert bound == pytest.approx(solved.fun, abs=1e-6)
    np.testing.assert_allclose(weights, solved.x[:4], atol=1e-4)


def test_the_best_strength_on_the_watched_set_is_kept(tmp_path: Path) -> None:
    ranker = sr.baselines.SVMMAP("map(rel=2)", rel=2, regularization=(0.001, 1.0, 0.1)).fit(TRAIN, valid=VALI)
    measured = ranker.history_["valid"]["map(rel=2)"]
    assert len(measured) == ranker.n_rounds_ == 3
    assert ranker.regularization_ == (1.0, 0.1, 0.001)[int(np.argmax(measured))]
    alone = sr.baselines.SVMMAP(rel=2, regularization=ranker.regularization_, tolerance=1e-6).fit(TRAIN)
    assert np.corrcoef(alone.coef_, ranker.coef_)[0, 1] > 0.99
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(again.predict(VALI), ranker.predict(VALI))
    assert (again.regularization_, again.gap_) == (ranker.regularization_, ranker.gap_)


def test_weights_of_queries_and_base_rankers_count() -> None:
    heavy = np.where(np.arange(TRAIN.n_queries) < 6, 1.0, 1e-12)
    weighted = sr.Dataset(TRAIN.features, TRAIN.labels, group=np.diff(TRAIN.indptr), query_weight=heavy)
    first = sr.baselines.SVMMAP(rel=2, tolerance=1e-6).fit(TRAIN.subset(range(6)))
    np.testing.assert_allclose(
        sr.baselines.SVMMAP(rel=2, tolerance=1e-6, standardize=False).fit(weighted).coef_,
        sr.baselines.SVMMAP(rel=2, tolerance=1e-6, standardize=False).fit(TRAIN.subset(range(6))).coef_,
        atol=1e-3,
    )
    held = sr.baselines.SVMMAP(rel=2, regularization=1e9).fit(TRAIN, base_ranker=first)
    np.testing.assert_allclose(held.coef_, first.coef_, atol=1e-6)


def test_what_cannot_be_learned_is_one_clear_error() -> None:
    with pytest.raises(sr.errors.DataError, match="no query has documents with labels below 9 and others"):
        sr.baselines.SVMMAP(rel=9).fit(TRAIN)
    with pytest.raises(sr.errors.DataError, match="several values of regularization need a set to choose by"):
        sr.baselines.SVMMAP(regularization=(1.0, 0.1)).fit(TRAIN)
    with pytest.raises(sr.errors.ParameterError, match="regularization must be above 0"):
        sr.baselines.SVMMAP(regularization=0).fit(TRAIN)
