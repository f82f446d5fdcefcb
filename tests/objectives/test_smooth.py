import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.smooth import BoundSmooth, SmoothObjective, all_equal
from tests.metrics.naive import AT_RANKS, AtRanks, exp2_gain, log2_discount, reciprocal
from tests.objectives.naive_smooth import (
    appendix_gradient,
    indicator_slopes,
    indicators,
    smooth_ranks_value,
    smooth_value,
)

METRICS: dict[str, sr.metrics.Metric] = {
    name: sr.metric(name)
    for name in ("ndcg", "ndcg@3", "dcg@5", "p@2", "recall@4", "rbp", "wta", "map", "map@4", "mrr", "err", "success@2")
} | {
    "own": sr.metrics.CumulativeMetric(gain=lambda label: label**2, discount=lambda r: 1 / r, k=4),
    "own losses": sr.metrics.CumulativeMetric(
        gain=lambda label: label - 1, discount=lambda r: np.exp(-r / 3), normalize=False, name="losses"
    ),
    "own cascade": sr.metrics.CascadeMetric(stop=lambda label: label / 5),
}
DEFINITIONS = AT_RANKS | {
    "own": AtRanks("sum", lambda label: label**2, reciprocal, 4, "best"),
    "own losses": AtRanks("sum", lambda label: label - 1, lambda r: np.exp(-r / 3)),
    "own cascade": AtRanks("cascade", lambda label: label / 5, reciprocal),
}
RANKS = [("map", "ranks"), ("map", "ranks_half"), ("ndcg", "ranks"), ("dcg(discount=reciprocal)", "ranks")]


def queries(seed: int = 0, lengths: tuple[int, ...] = (1, 2, 3, 8, 15, 12, 5)) -> sr.Dataset:
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(len(lengths)), lengths)
    return sr.Dataset(rng.normal(size=(len(qid), 4)), rng.integers(0, 5, len(qid)), qid=qid)


def bind(data: sr.Dataset, metric: sr.metrics.Metric, n_threads: int = 1, **options: Any) -> BoundSmooth:
    return SmoothObjective(metric, **options).bind(data, random_state=0, n_threads=n_threads)


def gradient(bound: BoundSmooth, scores: Floats, sigma: float) -> tuple[Floats, Floats]:
    """The smooth metric of each query and its gradient: the objective is minus both."""
    grad, hess = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    costs = replace(bound, smoothing_factor=sigma).update(scores, grad, hess)
    assert (hess >= 0).all()
    return -costs, -grad


@pytest.mark.parametrize("sigma", [0.01, 0.3, 2.0, 50.0])
@pytest.mark.parametrize("name", METRICS)
def test_kernel_equals_the_definition(name: str, sigma: float) -> None:
    data = queries()
    scores = np.random.default_rng(1).normal(size=len(data))
    values, _ = gradient(bind(data, METRICS[name]), scores, sigma)
    for query, (a, b) in enumerate(zip(data.indptr[:-1], data.indptr[1:], strict=True)):
        expected = smooth_value(DEFINITIONS[name], data.labels[a:b], scores[a:b], sigma)
        assert values[query] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("sigma", [0.05, 0.5, 4.0])
@pytest.mark.parametrize(("name", "smoothing"), [*((name, "indicators") for name in METRICS), *RANKS])
def test_gradient_equals_finite_differences(name: str, sigma: float, smoothing: Any) -> None:
    data = queries(2)
    bound = bind(data, METRICS.get(name) or sr.metric(name), smoothing=smoothing)
    scores = np.random.default_rng(2).normal(size=len(data))
    _, grad = gradient(bound, scores, sigma)
    step = 1e-6
    for p in range(len(data)):
        move = np.zeros(len(data))
        move[p] = step
        up, down = (gradient(bound, scores + way * move, sigma)[0].sum() for way in (1, -1))
        assert grad[p] == pytest.approx((up - down) / (2 * step), abs=2e-8)


def test_gradient_equals_equation_ten_and_appendix_two() -> None:
    data = queries(3, (9,))
    w = np.array([0.5, -1.0, 0.2, 0.8])
    X = data.features.astype(np.float64)
    scores, sigma = X @ w, 0.7
    bound = bind(data, METRICS["ndcg"])
    gains = np.array([exp2_gain(label) for label in data.labels])
    discounts = np.array([log2_discount(rank) for rank in range(1, 10)])
    discounts /= np.sort(gains)[::-1] @ discounts
    _, grad = gradient(bound, scores, sigma)
    by_equation = np.einsum("i,j,ijp->p", gains, discounts, indicator_slopes(scores, sigma))
    np.testing.assert_allclose(grad, by_equation, atol=1e-13)
    np.testing.assert_allclose(grad @ X, appendix_gradient(gains, discounts, scores, sigma, X), atol=1e-12)


def test_slopes_of_the_indicators_sum_to_zero() -> None:
    scores = np.random.default_rng(4).normal(size=7)
    np.testing.assert_allclose(indicator_slopes(scores, 0.4).sum(axis=2), 0, atol=1e-13)


@pytest.mark.parametrize("name", METRICS)
def test_gradients_sum_to_zero_in_every_query(name: str) -> None:
    data = queries(4)
    _, grad = gradient(bind(data, METRICS[name]), np.random.default_rng(4).normal(size=len(data)), 0.5)
    np.testing.assert_allclose(np.add.reduceat(grad, data.indptr[:-1]), 0, atol=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_the_smooth_metric_tends_to_the_metric(name: str) -> None:
    data = queries(5)
    scores = np.random.default_rng(5).normal(size=len(data))
    bound = bind(data, METRICS[name])
    values, _ = gradient(bound, scores, 1e-9)
    exact = METRICS[name].per_query(data.labels, scores, data.indptr)
    np.testing.assert_allclose(values + bound.terms.base, exact, atol=1e-12)
    assert bound.mean(-values) == pytest.approx(exact.mean())


def test_the_error_falls_as_exp_of_minus_mu_over_sigma() -> None:
    """[Chapelle2010, section 5.1]: the slope of log error against 1 / sigma is -mu."""
    scores = np.array([0.0, 0.5, 1.3, 2.4, 3.1])
    labels = np.array([0.0, 2.0, 0.0, 1.0, 0.0])
    data = sr.Dataset(np.zeros((5, 1)), labels, qid=np.ones(5))
    mu = 0.5**2
    inverse = np.linspace(20, 60, 9)
    exact = METRICS["ndcg"].mean(labels, scores, [0, 5])
    bound = bind(data, METRICS["ndcg"])
    errors = [abs(gradient(bound, scores, 1 / each)[0][0] - exact) for each in inverse]
    rate = np.polyfit(inverse, np.log(errors), 1)[0]
    assert rate == pytest.approx(-mu, rel=0.01)
    assert all(error <= 5 * np.exp(-mu * each) for error, each in zip(errors, inverse, strict=True))


@pytest.mark.parametrize("name", ["ndcg", "ndcg@3", "map", "err"])
def test_the_smooth_metric_is_constant_where_sigma_is_large(name: str) -> None:
    data = queries(6)
    rng = np.random.default_rng(6)
    bound = bind(data, METRICS[name])
    one, slope = gradient(bound, rng.normal(size=len(data)), 1e12)
    other, _ = gradient(bound, rng.normal(size=len(data)), 1e12)
    np.testing.assert_allclose(one, other, atol=1e-10)
    assert np.abs(slope).max() < 1e-10


@pytest.mark.parametrize("name", ["ndcg@3", "p@2", "map", "err"])
def test_the_smooth_metric_is_continuous_through_a_tie(name: str) -> None:
    data = sr.Dataset(np.zeros((5, 1)), [0, 3, 1, 0, 2], qid=np.ones(5))
    bound = bind(data, METRICS[name])
    others = np.array([2.0, 1.0, 1.0, 0.4, 0.1])
    tied, _ = gradient(bound, others, 0.1)
    for gap in (1e-3, 1e-6, 1e-9):
        for way in (1, -1):
            near, _ = gradient(bound, others + way * np.array([0, gap, 0, 0, 0]), 0.1)
            assert abs(near[0] - tied[0]) < 30 * gap


def test_both_smooth_average_precisions_tend_to_average_precision() -> None:
    data = queries(7)
    scores = np.random.default_rng(7).normal(size=len(data))
    exact = METRICS["map"].per_query(data.labels, scores, data.indptr)
    for smoothing, sigma in (("indicators", 1e-8), ("ranks", 1e-5)):
        bound = bind(data, METRICS["map"], smoothing=smoothing)
        np.testing.assert_allclose(gradient(bound, scores, sigma)[0], exact, atol=1e-9)


def test_soft_ranks_equal_equation_nine() -> None:
    data = queries(8)
    scores = np.random.default_rng(8).normal(size=len(data))
    values, _ = gradient(bind(data, METRICS["map"], smoothing="ranks"), scores, 0.4)
    for query, (a, b) in enumerate(zip(data.indptr[:-1], data.indptr[1:], strict=True)):
        if (data.labels[a:b] >= 1).any():
            assert values[query] == pytest.approx(smooth_ranks_value(data.labels[a:b], scores[a:b], 0.4), abs=1e-13)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(sorted(METRICS)), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_any_list_follows_the_definition(seed: int, name: str, sigma: float, width: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    data = sr.Dataset(np.zeros((n, 1)), rng.integers(0, 5, n), qid=np.ones(n))
    scores = width * np.round(rng.normal(size=n), 1)  # with ties
    values, grad = gradient(bind(data, METRICS[name]), scores, sigma)
    assert values[0] == pytest.approx(smooth_value(DEFINITIONS[name], data.labels, scores, sigma), abs=1e-11)
    assert np.isfinite(grad).all()


@pytest.mark.parametrize("name", ["ndcg@50", "map", "err"])
def test_long_lists(name: str) -> None:
    """Longer than what is ranked by counting, and than the room in which exponentials are kept."""
    rng = np.random.default_rng(9)
    data = sr.Dataset(np.zeros((800, 1)), rng.integers(0, 3, 800), qid=np.ones(800))
    metric, scores = sr.metric(name), rng.normal(size=800)
    bound = bind(data, metric)
    values, grad = gradient(bound, scores, 3.0)
    assert values[0] == pytest.approx(smooth_value(DEFINITIONS[name], data.labels, scores, 3.0), abs=1e-12)
    way = rng.normal(size=800)
    up, down = (smooth_value(DEFINITIONS[name], data.labels, scores + s * 1e-6 * way, 3.0) for s in (1, -1))
    assert grad @ way == pytest.approx((up - down) / 2e-6, abs=1e-8)


def test_an_order_that_is_kept_changes_nothing() -> None:
    data = queries(10, (40, 3, 60))
    bound = bind(data, METRICS["map"])
    order, rng = bound.tie_order.copy(), np.random.default_rng(10)
    kept = replace(bound, order=order)
    scores = rng.normal(size=len(data))
    for _ in range(5):
        scores = scores + 0.1 * rng.normal(size=len(data))
        values, grad = gradient(kept, scores, 0.3)
        expected = gradient(bound, scores, 0.3)
        np.testing.assert_array_equal(values, expected[0])
        np.testing.assert_array_equal(grad, expected[1])
    for a, b in zip(data.indptr[:-1], data.indptr[1:], strict=True):
        assert (np.diff(scores[order[a:b]]) <= 0).all()


@pytest.mark.parametrize("smoothing", ["indicators", "ranks"])
def test_results_are_identical_for_any_number_of_threads(smoothing: Any) -> None:
    rng = np.random.default_rng(11)
    qid = np.repeat(np.arange(60), 80)
    data = sr.Dataset(rng.normal(size=(len(qid), 1)), rng.integers(0, 3, len(qid)), qid=qid)
    scores = rng.normal(size=len(data))
    found = []
    for n_threads in (1, 2, 3, 7):
        values, grad = gradient(bind(data, METRICS["map"], n_threads, smoothing=smoothing), scores, 0.5)
        found.append((values.tobytes(), grad.tobytes()))
    assert len(set(found)) == 1


def test_a_query_weighs_the_mean_weight_of_its_documents() -> None:
    plain = queries(12)
    rng = np.random.default_rng(12)
    weights, scores = rng.uniform(0, 2, len(plain)), rng.normal(size=len(plain))
    qid = plain.qids.repeat(np.diff(plain.indptr))
    weighted = sr.Dataset(plain.features, plain.labels, qid=qid, sample_weight=weights)
    values, grad = gradient(bind(weighted, METRICS["ndcg"]), scores, 0.5)
    expected, slope = gradient(bind(plain, METRICS["ndcg"]), scores, 0.5)
    means = np.add.reduceat(weights, plain.indptr[:-1]) / np.diff(plain.indptr)
    np.testing.assert_allclose(values, expected * means)
    np.testing.assert_allclose(grad, slope * means.repeat(np.diff(plain.indptr)), atol=1e-15)


def test_lists_of_equal_scores_are_found() -> None:
    scores = np.array([0.5, 0.5, 0.5, 0.0, 1.0, 2.0])
    assert all_equal(scores, np.array([0, 3, 5, 6])).tolist() == [0]


def test_scores_far_apart_stay_finite() -> None:
    data = sr.Dataset(np.zeros((4, 1)), [0, 1, 2, 3], qid=[1, 1, 1, 1])
    for scores in (np.array([3e3, 0.0, -2e3, -5e3]), np.array([1e150, 0.0, -1e150, 5.0]), np.zeros(4)):
        for smoothing in ("indicators", "ranks"):
            values, grad = gradient(bind(data, METRICS["map"], smoothing=smoothing), scores, 1e-6)
            assert np.isfinite(values).all()
            assert np.isfinite(grad).all()


def test_indicators_are_shares() -> None:
    h = indicators(np.random.default_rng(15).normal(size=9), 0.5)
    np.testing.assert_allclose(h.sum(axis=0), 1)


@pytest.mark.parametrize(
    "metric",
    ["pairwise", "bpref", "rprec", sr.metrics.CustomMetric(evaluate=lambda labels: labels[0], name="mine")],
    ids=str,
)
def test_metrics_that_are_not_made_of_gains_at_ranks_are_refused(metric: str | sr.metrics.Metric) -> None:
    with pytest.raises(sr.errors.MetricError, match="cannot be smoothed: it is not made of gains at ranks"):
        bind(queries(), sr.metric(metric) if isinstance(metric, str) else metric)


def test_soft_ranks_are_for_smooth_functions_of_ranks() -> None:
    for name in ("ndcg@5", "map@5", "ndcg(discount=letor)", "p@3", "rbp", "err"):
        found = f"without a cut-off; found {re.escape(name)}"
        with pytest.raises(sr.errors.MetricError, match=f"smoothing='ranks' is for map and for dcg .* {found}"):
            bind(queries(), sr.metric(name), smoothing="ranks")
    with pytest.raises(sr.errors.MetricError, match="smoothing='ranks_half' is for map, without a cut-off; found ndcg"):
        bind(queries(), sr.metric("ndcg"), smoothing="ranks_half")
    with pytest.raises(sr.errors.ParameterError, match="there is no smoothing 'rank'; did you mean 'ranks'"):
        SmoothObjective(sr.metric("map"), smoothing="rank")  # type: ignore[arg-type]
