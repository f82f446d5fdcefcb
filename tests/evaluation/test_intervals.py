"""Intervals agree with p-values, stay within the bounds of the metric, and cover the true mean."""

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.evaluation.comparison import compare_evaluations
from swaprank.evaluation.randomization import randomize
from swaprank.evaluation.results import Evaluation, MetricResult
from swaprank.evaluation.significance import bounded_interval, holm, holm_factors, mean_interval

VALUES = st.sampled_from([0.0, 0.1, 0.2, 1 / 3, 0.5, 1.0])


def naive_p(differences: Floats, center: float) -> float:
    """The two-sided p-value of a true mean: all signs, one by one."""
    moved = differences - center
    sums = np.array([np.dot(signs, moved) for signs in itertools.product((-1, 1), repeat=len(moved))])
    return float((np.abs(sums) >= abs(moved.sum()) - 1e-12).mean())


@settings(max_examples=12)
@given(st.lists(st.floats(-1, 1), min_size=6, max_size=7))
def test_the_interval_inverts_the_test(differences: list[float]) -> None:
    values = np.round(np.array(differences), 3)
    values = values + np.arange(len(values)) * 1e-5  # no ties among means of subsets
    values[values == 0] = 1e-3
    test = randomize(values, 10_000, 0)
    low, high = test.interval(0.05)
    assert test.p_value == pytest.approx(naive_p(values, 0.0))
    for end, inwards in ((low, 1e-9), (high, -1e-9)):
        assert naive_p(values, end + inwards) >= 0.05 or low == high
        assert naive_p(values, end - inwards) < 0.05


def evaluation(values: list[float], metric: str) -> Evaluation:
    return Evaluation(
        (MetricResult(sr.metric(metric), np.array(values), np.zeros(len(values), np.bool_)),), np.arange(len(values))
    )


@settings(max_examples=40)
@given(
    st.integers(2, 40).flatmap(
        lambda n: st.lists(st.lists(VALUES, min_size=n, max_size=n), min_size=2, max_size=4),
    ),
    st.sampled_from([15, 199, 500]),
    st.sampled_from(["mrr", "dcg"]),
)
def test_interval_and_p_value_always_agree(systems: list[list[float]], n_resamples: int, metric: str) -> None:
    evaluations = {str(at): evaluation(values, metric) for at, values in enumerate(systems)}
    with patch("swaprank.evaluation.comparison.wilcoxon_test", return_value=1.0):  # slow, and not the matter here
        rows = list(compare_evaluations(evaluations, "0", n_resamples))
    for row in rows:
        if np.isnan(row.low):
            assert metric == "dcg"
            assert not row.is_significant
            continue
        assert row.is_significant == (not row.low <= 0 <= row.high)
        assert row.low <= row.difference <= row.high
        if metric == "mrr":
            assert -1 <= row.low <= row.high <= 1
    for each in evaluations.values():
        low, high = each.results[0].interval
        assert low <= each.results[0].mean <= high
        if metric == "mrr":
            assert 0 <= low <= high <= 1


@given(st.lists(st.sampled_from([0.001, 0.01, 0.0125, 0.025, 0.05, 0.03, 0.5]), min_size=1, max_size=6))
def test_factors_decide_as_holm(p_values: list[float]) -> None:
    p = np.array(p_values)
    assert ((p * holm_factors(p) < 0.05) == (holm(p) < 0.05)).all()


def test_four_wins_among_ties_may_be_luck() -> None:
    old, new = [0.5] * 100, [0.75] * 4 + [0.5] * 96
    (row,) = compare_evaluations({"old": evaluation(old, "mrr"), "new": evaluation(new, "mrr")}, "old")
    assert row.p_randomization == 0.125
    assert row.low <= 0 < row.high < 0.1
    assert mean_interval(np.array(new) - np.array(old))[0] > 0  # Student's t contradicts


def test_too_few_queries_to_reject_any_mean() -> None:
    for metric, ends in (("map", (-1.0, 1.0)), ("dcg", (np.nan, np.nan))):
        evaluations = {"old": evaluation([0.1, 0.2], metric), "new": evaluation([0.4, 0.3], metric)}
        (row,) = compare_evaluations(evaluations, "old")
        np.testing.assert_equal((row.low, row.high), ends)
        assert ("interval" in row.sentence()) == (metric == "map")


def test_zeros_and_ones_have_wilsons_interval() -> None:
    values = np.array([1.0] * 17 + [0.0] * 3)
    theirs = stats.binomtest(17, 20).proportion_ci(method="wilson")
    ours = bounded_interval(values, (0, 1))
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.02)
    assert ours[0] < theirs.low < theirs.high < ours[1]  # Student's t instead of the normal distribution


def test_all_at_a_bound_are_no_certainty() -> None:
    low, high = bounded_interval(np.ones(10), (0, 1))
    assert high == 1
    assert 0.6 < low < 0.75
    assert bounded_interval(-np.ones(10), (-1, 1)) == pytest.approx((-1, 1 - 2 * low))


def test_other_bounds_scale_and_values_outside_have_students_t() -> None:
    values = np.random.default_rng(0).random(9)
    scaled = bounded_interval(3 * values - 1, (-1, 2))
    assert scaled == pytest.approx([3 * end - 1 for end in bounded_interval(values, (0, 1))])
    assert bounded_interval(values + 1, (0, 1)) == mean_interval(values + 1)
    assert bounded_interval(values, (-np.inf, np.inf)) == mean_interval(values)


def reciprocal_ranks(rng: np.random.Generator, shape: tuple[int, int], p: float) -> Floats:
    ranks = rng.geometric(p, shape)
    return np.where(ranks > 10, 0.0, 1 / ranks)


@pytest.mark.parametrize(("p", "n", "least"), [(0.85, 10, 0.94), (0.35, 10, 0.93), (0.85, 40, 0.94)])
def test_means_are_covered(p: float, n: int, least: float) -> None:
    """Skewed metrics of few queries; `benchmarks/intervals.py` has more."""
    rng = np.random.default_rng(0)
    samples = reciprocal_ranks(rng, (500, n), p)
    true = reciprocal_ranks(rng, (1000, 1000), p).mean()
    ends = np.array([bounded_interval(sample, (0, 1)) for sample in samples])
    assert ((ends[:, 0] <= true) & (true <= ends[:, 1])).mean() > least


@pytest.mark.parametrize("n", [10, 50])
def test_differences_with_many_ties_are_covered(n: int) -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(250):
        sample = rng.choice([-1.0, 0.0, 1.0], n, p=[0.02, 0.9, 0.08])
        low, high = randomize(sample, 500, 0, 1.0).interval(0.05, 1, (-1, 1))
        covered += low <= 0.06 <= high
    assert covered / 250 > 0.93
