"""The smooth metrics of [Chapelle2010] and their gradients beside plain loops over its equations."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.listwise import rank_steps
from tests.papers import naive_chapelle2010_smoothrank as naive

Value = Callable[[list[float], Sequence[float], float], float]


def relevant(labels: Sequence[float]) -> list[float]:
    return [float(label >= 1) for label in labels]


CASES: dict[str, tuple[str, str, Value]] = {
    "Eq. 8": ("ndcg", "indicators", naive.smooth_ndcg),
    "Eq. 8, k": ("ndcg@4", "indicators", lambda labels, f, sigma: naive.smooth_ndcg(labels, f, sigma, 4)),
    "section 4.2, Prec@k": (
        "p@3",
        "indicators",
        lambda labels, f, sigma: naive.smooth_precision(relevant(labels), f, sigma, 3),
    ),
    "section 4.2, AP": ("map", "indicators", lambda labels, f, sigma: naive.smooth_ap(relevant(labels), f, sigma)),
    "Eq. 5": ("dcg", "ranks", naive.smooth_dcg_by_ranks),
    "Eq. 5, NDCG": (
        "ndcg",
        "ranks",
        lambda labels, f, sigma: naive.smooth_dcg_by_ranks(labels, f, sigma) / naive.best_dcg(labels),
    ),
    "Eq. 9": ("map", "ranks_half", lambda labels, f, sigma: naive.smooth_ap_by_ranks(relevant(labels), f, sigma)),
    "Eq. 9, self term 1": (
        "map",
        "ranks",
        lambda labels, f, sigma: (
            naive.smooth_ap_by_ranks(relevant(labels), f, sigma)
            + sum(0.5 * r / naive.soft_rank(f, i, sigma) for i, r in enumerate(relevant(labels)))
            / sum(relevant(labels))
        ),
    ),
}


def smooth(metric: str, smoothing: Any, labels: list[float], f: Floats, sigma: float) -> tuple[float, Floats]:
    data = sr.Dataset(np.zeros((len(f), 1)), labels, qid=np.ones(len(f)))
    bound = sr.objectives.SmoothObjective(sr.metric(metric), smoothing=smoothing, smoothing_factor=sigma).bind(
        data, random_state=0, n_threads=1
    )
    grad, hess = np.empty(len(f)), np.empty(len(f))
    costs = bound.update(f, grad, hess)
    return -float(costs[0]), -grad


@pytest.mark.parametrize("sigma", [0.1, 1.0, 16.0])
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case: str, sigma: float) -> None:
    metric, smoothing, value = CASES[case]
    rng = np.random.default_rng(0)
    for n in (2, 5, 13):
        labels, f = [*map(float, rng.integers(0, 3, n - 1)), 2.0], rng.normal(size=n)
        found, slopes = smooth(metric, smoothing, labels, f, sigma)
        assert found == pytest.approx(value(labels, f.tolist(), sigma), abs=1e-9)
        numeric = naive.numeric_gradient(lambda at, labels=labels: value(labels, at, sigma), f.tolist())  # type: ignore[misc]
        np.testing.assert_allclose(slopes, numeric, atol=1e-8)


@pytest.mark.parametrize("k", [None, 3])
def test_the_gradient_of_equations_10_and_12(k: int | None) -> None:
    rng = np.random.default_rng(1)
    labels, f = [float(label) for label in rng.integers(0, 3, 12)], rng.normal(size=12)
    _, slopes = smooth("ndcg" if k is None else f"ndcg@{k}", "indicators", labels, f, 0.7)
    expected = naive.smooth_ndcg_slopes(labels, f.tolist(), 0.7, k)
    np.testing.assert_allclose(slopes, expected, atol=1e-9)
    assert sum(expected) == pytest.approx(0, abs=1e-12)


def test_equation_5_tends_to_dcg_and_equation_9_does_not_tend_to_average_precision() -> None:
    rng = np.random.default_rng(2)
    labels, f = [float(label) for label in rng.integers(0, 3, 10)], rng.normal(size=10)
    for metric, smoothing, tends in (("dcg", "ranks", True), ("map", "ranks", True), ("map", "ranks_half", False)):
        exact = sr.metric(metric).mean(labels, f, [0, 10])
        assert (abs(smooth(metric, smoothing, labels, f, 1e-6)[0] - exact) < 1e-9) == tends


def test_by_ranks_is_less_than_by_the_expected_discount() -> None:
    """[Section 3]: 1 + sum of Phi is the expected rank of SoftRank; D is convex, so D(E r) <= E D(r)."""
    rng = np.random.default_rng(4)
    for n in (2, 5, 12):
        for noise in (0.1, 1.0, 4.0):
            f, ranks = rng.normal(size=n), np.arange(1.0, n + 1)
            for document in range(n):
                wins, steps = np.empty(n), np.empty((n + 1, n))
                rank_steps(f, document, noise, wins, steps)
                lead = np.delete(f, document) - f[document]
                expected = 1 + float(norm.cdf(lead / (np.sqrt(2) * noise)).sum())
                assert steps[-1] @ ranks == pytest.approx(expected, abs=1e-9)
                at_expected, by_discount = 1 / np.log2(1 + expected), steps[-1] @ (1 / np.log2(1 + ranks))
                assert at_expected <= by_discount + 1e-12
                assert noise < 1 or at_expected < by_discount - 1e-6


def test_trees_and_smoothrank_take_equation_5() -> None:
    train, test = sr.datasets.random_polynomial((30, 30), n_features=5, n_documents=15, random_state=0)
    ranker = sr.SmoothRank("ndcg", smoothing="ranks", regularization=0.01, annealing=(4.0, 1.0, 0.25)).fit(train)
    assert ranker.score(test) > 0.6
    objective = sr.objectives.SmoothObjective(sr.metric("ndcg"), smoothing="ranks", smoothing_factor=1.0)
    trees = sr.LambdaMART("ndcg", objective=objective, n_trees=30, n_leaves=7, min_docs_in_leaf=5).fit(train)
    assert trees.score(train) > 0.8


def test_the_soft_argmax_and_equation_7_have_the_same_limit() -> None:
    """Eq. 6 makes NDCG@1 smooth by a softmax, Eq. 7 every rank: both tend to the metric."""
    rng = np.random.default_rng(3)
    labels, f = [float(label) for label in rng.integers(0, 3, 8)], rng.normal(size=8)
    by_softmax = [naive.smooth_ndcg_at_1(labels, f.tolist(), sigma) for sigma in (1.0, 0.01, 0.001)]
    by_indicators = [smooth("ndcg@1", "indicators", labels, f, sigma)[0] for sigma in (1.0, 0.01, 0.001)]
    exact = sr.metric("ndcg@1").mean(labels, f, [0, 8])
    assert by_softmax[-1] == pytest.approx(exact, abs=1e-9)
    assert by_indicators[-1] == pytest.approx(exact, abs=1e-9)
    assert by_softmax[0] != pytest.approx(by_indicators[0], abs=1e-3)
