"""SoftRank's rank distributions against sampling, and its gradient against numeric differences."""

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.listwise import rank_steps
from tests.objectives.naive_softrank import rank_distribution, softrank_cost

RNG = np.random.default_rng(0)
LABELS = np.concatenate(([0, 2, 1, 0, 3], [1, 1, 0], [0, 0], [2], RNG.integers(0, 4, 12))).astype(float)
INDPTR = np.array([0, 5, 8, 10, 11, 23])
SCORES = RNG.normal(size=23)
DATA = sr.Dataset(np.zeros((23, 1)), LABELS, group=np.diff(INDPTR))


def distribution(scores: Floats, document: int, sigma: float, depth: int) -> Floats:
    steps = np.empty((len(scores) + 1, depth))
    rank_steps(scores.copy(), document, sigma, np.empty(len(scores)), steps)
    last: Floats = steps[-1]
    return last


@pytest.mark.parametrize("sigma", [0.1, 1.0, 4.0])
def test_the_distribution_of_ranks_is_that_of_pairwise_wins(sigma: float) -> None:
    scores = SCORES[11:]
    total = np.zeros(12)
    for document in range(12):
        found = distribution(scores, document, sigma, 12)
        np.testing.assert_allclose(found, rank_distribution(scores, document, sigma), atol=1e-14)
        np.testing.assert_allclose(distribution(scores, document, sigma, 4), found[:4], atol=1e-14)
        assert found.sum() == pytest.approx(1, abs=1e-12)
        total += found
    np.testing.assert_allclose(total.sum(), 12)


@pytest.mark.slow
def test_the_distribution_of_ranks_is_that_of_samples() -> None:
    """Of independent wins, as the paper assumes; of two documents, these are the wins of noisy scores themselves."""
    rng, scores, sigma, n_draws = np.random.default_rng(1), SCORES[:5], 0.8, 400_000
    noisy = scores[:2] + sigma * rng.normal(size=(n_draws, 2))
    assert (noisy[:, 1] > noisy[:, 0]).mean() == pytest.approx(distribution(scores[:2], 0, sigma, 2)[1], abs=0.004)
    for document in range(5):
        others = np.delete(scores, document)
        # Each pair has noise of its own.
        wins = others + sigma * rng.normal(size=(n_draws, 4)) > scores[document] + sigma * rng.normal(size=(n_draws, 4))
        sampled = np.bincount(wins.sum(axis=1), minlength=5) / n_draws
        np.testing.assert_allclose(distribution(scores, document, sigma, 5), sampled, atol=0.004)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("name", ["ndcg", "ndcg@3", "ndcg@3(discount=letor, short=zero)", "p@2", "dcg@4"])
def test_the_gradient_is_that_of_the_expected_metric(name: str, sigma: float) -> None:
    metric = sr.metric(name)
    terms = metric.bind(LABELS, INDPTR).terms
    grad, hess, step = np.empty(23), np.empty(23), 1e-5
    sr.objectives.SoftRankObjective(metric, sigma).bind(DATA, random_state=0, n_threads=1).update(SCORES, grad, hess)
    expected = np.zeros(23)
    for query, (first, last) in enumerate(zip(INDPTR[:-1], INDPTR[1:], strict=True)):
        gains = terms.gains[first:last] / terms.divisors[query]
        for d in range(first, last):
            moved = [SCORES[first:last].copy() for _ in range(2)]
            moved[0][d - first] += step
            moved[1][d - first] -= step
            costs = [softrank_cost(gains, terms.discounts, scores, sigma) for scores in moved]
            expected[d] = (costs[0] - costs[1]) / (2 * step)
    np.testing.assert_allclose(grad, expected, atol=1e-8)
    assert np.abs(grad).max() > 0.01
    np.testing.assert_allclose(np.add.reduceat(grad, INDPTR[:-1]), 0, atol=1e-14)


def test_small_noise_gives_the_metric_itself() -> None:
    terms = sr.metric("ndcg").bind(LABELS, INDPTR).terms
    costs = [
        softrank_cost(terms.gains[first:last] / terms.divisors[query], terms.discounts, SCORES[first:last], 1e-6)
        for query, (first, last) in enumerate(zip(INDPTR[:-1], INDPTR[1:], strict=True))
    ]
    np.testing.assert_allclose(costs, -sr.metric("ndcg").per_query(LABELS, SCORES, INDPTR), atol=1e-12)


def test_weights_are_those_of_queries_and_threads_change_nothing() -> None:
    objective = sr.objectives.SoftRankObjective(sr.metric("ndcg@5"))
    weights = RNG.random(23)
    weighted = sr.Dataset(np.zeros((23, 1)), LABELS, group=np.diff(INDPTR), sample_weight=weights)
    results = []
    for data, n_threads in ((DATA, 1), (weighted, 1), (weighted, 3)):
        grad, hess = np.empty(23), np.empty(23)
        objective.bind(data, random_state=0, n_threads=n_threads).update(SCORES, grad, hess)
        results.append(grad)
    means = np.add.reduceat(weights, INDPTR[:-1]) / np.diff(INDPTR)
    np.testing.assert_allclose(results[1], results[0] * np.repeat(means, np.diff(INDPTR)))
    np.testing.assert_array_equal(results[1], results[2])


def test_what_takes_too_long_or_has_no_expectation_is_one_clear_error() -> None:
    labels = np.arange(2000) % 3
    long = sr.Dataset(np.zeros((2000, 1)), labels, group=[2000])
    with pytest.raises(sr.errors.DataError, match=r"a query has 2,000 documents: .* Choose a metric with a cut-off"):
        sr.objectives.SoftRankObjective(sr.metric("ndcg")).bind(long, random_state=0, n_threads=1)
    sr.objectives.SoftRankObjective(sr.metric("ndcg@10")).bind(long, random_state=0, n_threads=1)
    with pytest.raises(sr.errors.MetricError, match="sums of discounted gains, such as ndcg, dcg or p; found map"):
        sr.objectives.SoftRankObjective(sr.metric("map")).bind(DATA, random_state=0, n_threads=1)
    with pytest.raises(sr.errors.ParameterError, match="sigma must be a number above 0"):
        sr.objectives.SoftRankObjective(sr.metric("ndcg"), sigma=0)
