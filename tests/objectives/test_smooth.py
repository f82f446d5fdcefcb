"""Smooth metrics against the paper's formulas written out, slopes measured on them, and the metric they stand for."""

import functools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.smooth import BoundSmooth, SmoothObjective
from swaprank.objectives.smooth_exponential import exp2

SIZES = (7, 1, 12, 9, 2)
LINEAR = sr.CumulativeMetric(gain=lambda label: label, discount=lambda rank: 1 / rank)
ALL: list[tuple[Any, Any]] = [
    ("ndcg", "indicators"),
    ("ndcg@3", "indicators"),
    ("dcg", "indicators"),
    ("p@4", "indicators"),
    ("recall@3", "indicators"),
    ("rbp", "indicators"),
    ("mrr", "indicators"),
    ("err", "indicators"),
    ("success@2", "indicators"),
    ("map", "indicators"),
    ("map", "ranks"),
    (LINEAR, "indicators"),
]
every_smoothing = pytest.mark.parametrize(("metric", "smoothing"), ALL, ids=lambda value: str(value))


def lists(weights: Any = None) -> tuple[sr.Dataset, Floats]:
    rng = np.random.default_rng(3)
    n = sum(SIZES)
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    data = sr.Dataset(np.zeros((n, 1)), rng.integers(0, 4, n), qid=qid, sample_weight=weights)
    return data, rng.normal(size=n)


def bound(metric: str | sr.Metric, smoothing: Any, data: sr.Dataset, n_threads: int = 1) -> BoundSmooth:
    made = metric if isinstance(metric, sr.Metric) else sr.metric(metric)
    return SmoothObjective(made, smoothing=smoothing).bind(data, random_state=0, n_threads=n_threads)


def evaluate(smooth: BoundSmooth, scores: Floats, sigma: float) -> tuple[Floats, Floats]:
    grad = np.full(len(scores), np.nan)
    return smooth.evaluate(scores, sigma, grad), grad


def slopes(smooth: BoundSmooth, scores: Floats, sigma: float, step: float = 1e-6) -> Floats:
    found = np.empty(len(scores))
    for p in range(len(scores)):
        moved = np.zeros(len(scores))
        moved[p] = step
        up, down = (evaluate(smooth, scores + sign * moved, sigma)[0].sum() for sign in (1, -1))
        found[p] = (up - down) / (2 * step)
    return found


def indicators(scores: Floats, sigma: float) -> Floats:
    """h[i, j] of [Chapelle2010, Eq. 7], documents i by ranks j, as it is written there."""
    ranked = scores[np.argsort(-scores, kind="stable")]
    e = np.exp(-((scores[:, None] - ranked[None, :]) ** 2) / sigma)
    h: Floats = e / e.sum(axis=0)
    return h


def only_at(at: int, rank: Any) -> Any:
    return (rank == at) * 1.0


@every_smoothing
@pytest.mark.parametrize("sigma", [0.05, 1.0, 20.0])
def test_the_gradient_is_the_slope_of_the_value(metric: Any, smoothing: Any, sigma: float) -> None:
    data, scores = lists(weights=np.repeat([1.0, 2.0, 0.5, 0.0, 3.0], SIZES))
    smooth = bound(metric, smoothing, data)
    _, grad = evaluate(smooth, scores, sigma)
    np.testing.assert_allclose(grad, slopes(smooth, scores, sigma), atol=1e-7)
    assert np.abs(grad).max() > 1e-6


@every_smoothing
def test_only_differences_of_scores_matter(metric: Any, smoothing: Any) -> None:
    data, scores = lists()
    smooth = bound(metric, smoothing, data)
    values, grad = evaluate(smooth, scores, 0.5)
    # Scores of a list can move together: the value stays, and so its slope in that direction is 0.
    np.testing.assert_allclose(np.add.reduceat(grad, data.indptr[:-1]), 0, atol=1e-13)
    moved, grad_moved = evaluate(smooth, scores + np.repeat(np.arange(5) * 10.0, SIZES), 0.5)
    np.testing.assert_allclose(moved, values, atol=1e-12)
    np.testing.assert_allclose(grad_moved, grad, atol=1e-12)


def test_indicators_of_every_document_and_rank_do_not_move_with_all_scores() -> None:
    # Sum over p of dh_ij / df_p = 0; the gradient of a metric that looks at one rank and one document is that of h_ij.
    scores = np.array([0.3, -1.0, 0.9, 0.1])
    for i in range(4):
        for j in range(4):
            one = sr.CumulativeMetric(gain=lambda label: label, discount=functools.partial(only_at, j + 1))
            data = sr.Dataset(np.zeros((4, 1)), np.arange(4) == i, qid=np.zeros(4, int))
            values, grad = evaluate(bound(one, "indicators", data), scores, 0.7)
            assert values[0] == pytest.approx(indicators(scores, 0.7)[i, j], abs=1e-14)
            assert grad.sum() == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("k", [1, 3, 12])
@pytest.mark.parametrize("sigma", [0.01, 0.3, 5.0])
def test_ndcg_is_the_formula_of_the_paper(k: int, sigma: float) -> None:
    data, scores = lists()
    values, _ = evaluate(bound(f"ndcg@{k}", "indicators", data), scores, sigma)
    for q, (a, b) in enumerate(zip(data.indptr[:-1], data.indptr[1:], strict=True)):
        gains, depth = 2.0 ** data.labels[a:b] - 1, min(k, b - a)
        discounts = 1 / np.log2(2 + np.arange(depth))
        best = np.sort(gains)[::-1][:depth] @ discounts
        if b - a > 1 and len(set(gains)) > 1:
            smooth = gains @ indicators(scores[a:b], sigma)[:, :depth] @ discounts
            assert values[q] == pytest.approx(smooth / best, abs=1e-12)


def test_average_precision_is_both_formulas_of_the_paper() -> None:
    data, scores = lists()
    sigma = 0.4
    by_indicators, _ = evaluate(bound("map", "indicators", data), scores, sigma)
    by_ranks, _ = evaluate(bound("map", "ranks", data), scores, sigma)
    for q, (a, b) in enumerate(zip(data.indptr[:-1], data.indptr[1:], strict=True)):
        relevant, s = (data.labels[a:b] > 0).astype(float), scores[a:b]
        if 0 < relevant.sum() < b - a:
            soft = relevant @ indicators(s, sigma)
            expected = (soft * np.cumsum(soft) / np.arange(1, b - a + 1)).sum() / relevant.sum()
            assert by_indicators[q] == pytest.approx(expected, abs=1e-12)
            above = 1 / (1 + np.exp((s[:, None] - s[None, :]) / sigma))
            np.fill_diagonal(above, 1.0)
            expected = (relevant * (above @ relevant) / above.sum(axis=1)).sum() / relevant.sum()
            assert by_ranks[q] == pytest.approx(expected, abs=1e-12)


@every_smoothing
def test_it_becomes_the_metric_as_sigma_goes_to_0(metric: Any, smoothing: Any) -> None:
    data, scores = lists()
    smooth = bound(metric, smoothing, data)
    made = metric if isinstance(metric, sr.Metric) else sr.metric(metric)
    exact = made.bind(data.labels, data.indptr).mean(scores)
    errors = [abs(smooth.mean(evaluate(smooth, scores, sigma)[0]) - exact) for sigma in (1.0, 1e-3, 1e-9)]
    assert errors[2] < 1e-12
    assert errors[2] <= errors[1] < errors[0]


def test_the_error_falls_exponentially_as_section_5_says() -> None:
    # With a smallest gap d between scores, it falls as exp(-d²/sigma): its logarithm is a line in 1/sigma.
    data = sr.Dataset(np.zeros((4, 1)), [0, 2, 1, 3], qid=np.zeros(4, int))
    scores = np.array([0.0, 0.5, 1.2, 2.0])
    smooth = bound("ndcg", "indicators", data)
    exact = sr.metric("ndcg").bind(data.labels, data.indptr).mean(scores)
    inverse = np.array([40.0, 50.0, 60.0, 70.0])
    errors = [abs(smooth.mean(evaluate(smooth, scores, 1 / x)[0]) - exact) for x in inverse]
    rate = np.polyfit(inverse, np.log(errors), 1)[0]
    assert rate == pytest.approx(-(0.5**2), rel=1e-3)


@every_smoothing
def test_it_becomes_constant_as_sigma_grows(metric: Any, smoothing: Any) -> None:
    data, scores = lists()
    smooth = bound(metric, smoothing, data)
    first, grad = evaluate(smooth, scores, 1e9)
    second, _ = evaluate(smooth, scores[::-1].copy(), 1e9)
    np.testing.assert_allclose(first, second, atol=1e-7)
    assert np.abs(grad).max() < 1e-7


@every_smoothing
def test_the_value_is_continuous_through_a_tie(metric: Any, smoothing: Any) -> None:
    # Proposition 1: when two documents trade ranks, h does not jump, for they have the same score there.
    data = sr.Dataset(np.zeros((4, 1)), [0, 3, 1, 0], qid=np.zeros(4, int))
    smooth = bound(metric, smoothing, data)
    values = [evaluate(smooth, np.array([1.0, 1.0 + gap, 0.2, 2.0]), 0.3)[0][0] for gap in (-1e-9, 0.0, 1e-9)]
    np.testing.assert_allclose(values, values[1], atol=1e-8)


@every_smoothing
def test_threads_change_nothing(metric: Any, smoothing: Any) -> None:
    rng = np.random.default_rng(0)
    qid = np.arange(6000) // 60
    data = sr.Dataset(np.zeros((6000, 1)), rng.integers(0, 3, 6000), qid=qid)
    scores = np.round(rng.normal(size=6000), 2)
    one, many = (evaluate(bound(metric, smoothing, data, n_threads), scores, 0.2) for n_threads in (1, 5))
    np.testing.assert_array_equal(one[0], many[0])
    np.testing.assert_array_equal(one[1], many[1])


def test_a_kept_order_changes_nothing() -> None:
    data, scores = lists()
    smooth = bound("ndcg", "indicators", data)
    order = smooth.arrangement.copy()
    grad = np.empty(len(scores))
    for step in range(5):
        moved = scores * (1 - 0.5 * step)
        values = smooth.evaluate(moved, 0.3, grad, order=order)
        expected, expected_grad = evaluate(smooth, moved, 0.3)
        np.testing.assert_allclose(values, expected, atol=1e-13)
        if step != 2:  # There all are tied, and documents keep the order in which they came.
            np.testing.assert_allclose(grad, expected_grad, atol=1e-13)


def test_long_lists_that_find_no_room_for_their_exponentials() -> None:
    rng = np.random.default_rng(0)
    data = sr.Dataset(np.zeros((800, 1)), rng.integers(0, 2, 800), qid=np.zeros(800, int))
    scores, move = rng.normal(size=800), rng.normal(size=800)
    smooth = bound("map", "indicators", data)
    _, grad = evaluate(smooth, scores, 50.0)
    up, down = (evaluate(smooth, scores + sign * 1e-4 * move, 50.0)[0][0] for sign in (1, -1))
    assert grad @ move == pytest.approx((up - down) / 2e-4, rel=1e-5)


@pytest.mark.parametrize("smoothing", ["indicators", "ranks"])
def test_what_trees_divide_by_is_positive_and_bounds_the_step(smoothing: Any) -> None:
    data, scores = lists()
    objective = SmoothObjective(sr.metric("map"), sigma=0.25, smoothing=smoothing)
    smooth = objective.bind(data, random_state=0, n_threads=1)
    grad, hess = np.empty(len(scores)), np.empty(len(scores))
    smooth.update(scores, grad, hess)
    np.testing.assert_allclose(grad, -slopes(smooth, scores, 0.25), atol=1e-7)
    assert (hess >= 0).all()
    longest = 0.25 if smoothing == "ranks" else 0.5
    assert (np.abs(grad) <= hess * longest * (1 + 1e-12)).all()


@settings(max_examples=60, deadline=None)
@given(st.floats(-1000, 1000))
def test_powers_of_two(y: float) -> None:
    assert exp2(y) == pytest.approx(math.pow(2.0, y), rel=4e-15)


def test_what_cannot_be_smoothed_is_refused() -> None:
    data, _ = lists()
    for metric in ("pairwise", "bpref"):
        with pytest.raises(sr.MetricError, match=f"{metric} cannot be smoothed: it is not made of gains at ranks"):
            bound(metric, "indicators", data)
    with pytest.raises(sr.MetricError, match="smoothing='ranks' is for map without a cut-off, found ndcg@5"):
        bound("ndcg@5", "ranks", data)
    with pytest.raises(sr.ParameterError, match="there is no smoothing 'rank'; did you mean 'ranks'"):
        bound("map", "rank", data)
