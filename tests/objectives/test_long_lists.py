"""The sums over the pairs of long lists against all pairs, one by one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.lambdarank_objective import LambdaArrays, LambdaRankObjective
from swaprank.objectives.long_lists import LongLambdaArrays, rank_list, write_long_list
from swaprank.objectives.objective import BoundKernelObjective
from swaprank.objectives.ranked_sums import PART
from tests.objectives.naive_lambdas import lambdas

N = 5003
"""The shortest lists that are summed have 5,001 documents."""
METRICS: dict[str, Any] = {
    name: name for name in ("ndcg", "dcg", "ndcg@5002", "rbp", "map", "map@5002", "err", "err@5002", "mrr", "pairwise")
} | {
    "own": sr.metrics.CumulativeMetric(gain=lambda label: label, discount=lambda r: 1 / r),
    "own cascade": sr.metrics.CascadeMetric(stop=lambda label: label / 5),
    "certain cascade": sr.metrics.CascadeMetric(stop=lambda label: label / 4),
}
SCORES: dict[str, Callable[[np.random.Generator, Floats], Floats]] = {
    "equal": lambda rng, labels: np.zeros(N),
    "few": lambda rng, labels: 0.05 * rng.integers(0, 31, N) + 0.1 * labels,
    "normal": lambda rng, labels: rng.normal(size=N) + 0.3 * labels,
    "two bunches": lambda rng, labels: 1e-3 * rng.normal(size=N) + 30.0 * rng.integers(0, 2, N),
    "wide": lambda rng, labels: 1000.0 * rng.normal(size=N),
}


def one_list(seed: int = 0) -> sr.Dataset:
    rng = np.random.default_rng(seed)
    labels = rng.choice(5, N, p=[0.6, 0.3, 0.09, 0.008, 0.002])
    labels[0] = 3
    return sr.Dataset(np.zeros((N, 1)), labels, qid=np.zeros(N, np.int64))


def bound_to(data: sr.Dataset, n_threads: int = 1, **options: Any) -> BoundKernelObjective:
    return LambdaRankObjective(**options).bind(data, random_state=0, n_threads=n_threads)


def gradients(bound: BoundKernelObjective, scores: Floats) -> tuple[Floats, Floats]:
    grad, hess = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    bound.update(scores, grad, hess)
    return grad, hess


def pair_by_pair(bound: BoundKernelObjective, scores: Floats) -> tuple[Floats, Floats]:
    """By the kernel for ordinary lists, which test_lambdas.py compares with plain Python."""
    arrays = bound.arrays
    assert isinstance(arrays, LongLambdaArrays)
    return gradients(BoundKernelObjective(arrays.lists, bound.indptr, bound.weights, bound.chunks), scores)


@pytest.mark.slow
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", METRICS)
def test_sums_equal_all_pairs(name: str, normalize: bool) -> None:
    if name == "pairwise" and not normalize:
        pytest.skip("It is RankNet: see test_pair_sums.py.")
    data = one_list()
    bound = bound_to(data, metric=METRICS[name], sigma=1.3, normalize=normalize)
    for make in SCORES.values():
        scores = make(np.random.default_rng(1), data.labels)
        for found, expected in zip(gradients(bound, scores), pair_by_pair(bound, scores), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["ndcg", "map", "err", "pairwise"])
def test_two_parts_equal_plain_python(name: str) -> None:
    """A list of two parts, the smallest there are, whose pairs with each other are summed node by node."""
    rng = np.random.default_rng(3)
    n = PART + 12
    labels, scores = rng.integers(0, 5, n), 0.5 * rng.normal(size=n) + np.repeat([4.0, 0.0], n // 2)
    bound = bound_to(sr.Dataset(np.zeros((n, 1)), labels, qid=np.zeros(n, np.int64)), metric=name, sigma=1.3)
    grad, hess = np.full(n, np.nan), np.full(n, np.nan)
    write_long_list(bound.arrays, 0, *rank_list(bound.arrays, 0, 0, n, scores), grad, hess)
    for found, expected in zip((grad, hess), lambdas(name, labels.astype(float), scores, 1.3, True), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_long_and_short_lists_are_independent() -> None:
    """A query has the same bits among others, for any number of threads."""
    rng = np.random.default_rng(2)
    lengths = [7, 120, N, 1, 40, N + 20, 300]
    qid = np.repeat(np.arange(len(lengths)), lengths)
    data = sr.Dataset(np.zeros((len(qid), 1)), rng.integers(0, 3, len(qid)), qid=qid)
    scores = rng.normal(size=len(qid))
    together = gradients(bound_to(data, metric="map"), scores)
    for found, expected in zip(gradients(bound_to(data, 3, metric="map"), scores), together, strict=True):
        np.testing.assert_array_equal(found, expected)
    bound = bound_to(data, metric="map")
    taken = rng.random(len(lengths)) < 0.6
    taken[2] = True
    grad, hess = np.full(len(qid), np.nan), np.full(len(qid), np.nan)
    bound.update(scores, grad, hess, taken)
    np.testing.assert_array_equal(grad[taken[qid]], together[0][taken[qid]])
    np.testing.assert_array_equal(hess[taken[qid]], together[1][taken[qid]])


@pytest.mark.slow
def test_what_has_no_sums_is_visited_pair_by_pair() -> None:
    """Many gains, a discount that rises, stops that are nearly certain: the same bits as without sums."""
    rng = np.random.default_rng(4)
    scores, graded = rng.normal(size=N), rng.integers(0, 3, N).astype(float)
    qid = np.zeros(N, np.int64)
    for labels, metric in [
        (np.arange(N) % 40 / 40.0, "ndcg"),
        (graded, sr.metrics.CumulativeMetric(gain=lambda label: label, discount=lambda r: 2 + np.sin(r))),
        (graded, sr.metrics.CascadeMetric(stop=lambda label: (1 - 1e-9) * label / 2)),
    ]:
        bound = bound_to(sr.Dataset(np.zeros((N, 1)), labels, qid=qid), metric=metric)
        for found, expected in zip(gradients(bound, scores), pair_by_pair(bound, scores), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("metric", "n", "is_long"),
    [
        ("ndcg", 5000, False),
        ("ndcg", 5001, True),
        ("ndcg@30", 100_000, False),
        ("mrr(swaps=raising)", 6000, False),
        ("bpref", 6000, False),
        ("rprec", 6000, False),
    ],
)
def test_only_long_lists_of_some_metrics_are_summed(metric: str, n: int, is_long: bool) -> None:
    data = sr.Dataset(np.zeros((n, 1)), np.arange(n) % 2, qid=np.zeros(n, np.int64))
    assert isinstance(bound_to(data, metric=metric).arrays, LongLambdaArrays if is_long else LambdaArrays)


@pytest.mark.slow
def test_rankers_learn_from_a_long_list() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(6000, 3))
    data = sr.Dataset(X, X[:, 0] + 0.2 * rng.normal(size=6000) > 1.5, qid=np.zeros(6000, np.int64))
    for ranker in (sr.LambdaMART("map", n_trees=5, n_threads=2), sr.LambdaRank("ndcg", n_epochs=5)):
        ranker.fit(data)
        assert sr.evaluate(data, ranker.predict(data), "map").results[0].mean > 2 * data.labels.mean()


def test_instruments_see_the_pairs_of_long_lists() -> None:
    data = one_list()
    found = sr.instruments.effective_pairs("map", data, np.arange(N, 0, -1.0))
    assert found.n_effective == (data.labels > 0).sum() * (data.labels == 0).sum()
