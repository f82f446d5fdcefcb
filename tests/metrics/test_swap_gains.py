import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.metrics.terms import WORK_ROWS, prepare_swaps, rows_reached, rows_that_count, swap_gain_rows
from tests.metrics.lists import all_lists, flatten
from tests.metrics.naive import TWINS

LISTS = list(dict.fromkeys(all_lists((0, 1, 2, 3), longest=5) + all_lists((0, 1, 3), longest=6)))


def share_of_first(labels: Floats) -> float:
    return float(labels[0] / (1.0 + labels.sum()) + 0.1 * labels[-1])


METRICS: dict[str, sr.metrics.Metric] = {name: sr.metric(name) for name in TWINS} | {
    "own cumulative": sr.metrics.CumulativeMetric(
        gain=lambda x: x**2, discount=lambda r: [3.0, 1.0, 2.0, 0.0, 5.0, 1.0][r - 1]
    ),
    "own cascade": sr.metrics.CascadeMetric(stop=lambda x: x / 3, discount=lambda r: 1 / r**2, k=4),
    "own": sr.metrics.CustomMetric(evaluate=share_of_first),
}


def swapped(labels: tuple[float, ...], i: int, j: int) -> tuple[float, ...]:
    other = list(labels)
    other[i], other[j] = other[j], other[i]
    return tuple(other)


def by_evaluating_anew(metric: sr.metrics.Metric, lists: list[tuple[float, ...]]) -> list[Floats]:
    """For each list, the matrix of metric(list with i and j swapped) - metric(list)."""
    before = metric.per_query(*flatten(lists))
    pairs = [(q, i, j) for q, x in enumerate(lists) for i in range(len(x)) for j in range(len(x))]
    after = metric.per_query(*flatten([swapped(lists[q], i, j) for q, i, j in pairs]))
    gains = [np.empty((len(x), len(x))) for x in lists]
    for (q, i, j), value in zip(pairs, after, strict=True):
        gains[q][i, j] = value - before[q]
    return gains


def assert_equal_reevaluation(metric: sr.metrics.Metric, lists: list[tuple[float, ...]]) -> None:
    for labels, expected in zip(lists, by_evaluating_anew(metric, lists), strict=True):
        assert np.abs(metric.swap_gains(labels) - expected).max() < 1e-13, labels


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_swap_gains_equal_reevaluation_on_every_small_list(name: str) -> None:
    assert_equal_reevaluation(METRICS[name], LISTS if not name.startswith("own") else all_lists((0, 1, 3), longest=6))


@pytest.mark.parametrize("name", ["bpref", "pairwise", "ndcg"])
def test_swap_gains_with_unjudged_documents(name: str) -> None:
    assert_equal_reevaluation(sr.metric(name), all_lists((-1, 0, 1), longest=5))


@pytest.mark.parametrize("convention", ["trec", "letor", "mslr", "lightgbm"])
def test_swap_gains_follow_the_convention(convention: str) -> None:
    for name in ("ndcg@3", "map", "p@2"):
        assert_equal_reevaluation(sr.metric(name, convention), all_lists((0, 1, 2), longest=4))


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=40), st.data())
def test_swap_gains_equal_reevaluation_on_longer_lists(labels: list[int], data: st.DataObject) -> None:
    i = data.draw(st.integers(0, len(labels) - 2))
    j = data.draw(st.integers(i + 1, len(labels) - 1))
    for name in TWINS:
        if name != "err(max_label=3)":
            metric = sr.metric(name)
            before, after = metric.per_query(*flatten([tuple(labels), swapped(tuple(labels), i, j)]))
            assert metric.swap_gains(labels)[i, j] == pytest.approx(after - before, abs=1e-12), name


def test_nothing_changes_beyond_the_cut_off() -> None:
    gains = sr.metric("ndcg@2").swap_gains([3, 0, 2, 1])
    assert gains[2, 3] == 0
    assert gains[1, 2] > 0


def test_average_precision_follows_donmez_formula() -> None:
    # [Donmez2009]: ((n + 1) / r_j - m / r_i + sum rel(k) / k) / R with r_j = 2, r_i = 5, n = 1, m = 3, R = 3.
    gains = sr.metric("map").swap_gains([1, 0, 1, 0, 1])
    assert gains[1, 4] == pytest.approx((2 / 2 - 3 / 5 + 1 / 3) / 3)


def test_reciprocal_rank_moves_only_past_the_first_relevant() -> None:
    # [Donmez2009]: up from below, 1/r_j - 1/r; down from the top, to the swap or to the second relevant one.
    gains = sr.metric("mrr").swap_gains([0, 1, 0, 1, 0])
    assert gains[0, 1] == 1 - 1 / 2
    assert gains[0, 3] == 1 - 1 / 2
    assert gains[1, 2] == 1 / 3 - 1 / 2
    assert gains[1, 4] == 1 / 4 - 1 / 2
    assert gains[2, 3] == 0


SEVERAL = METRICS | {
    f"{name}, {convention}": sr.metric(name, convention)
    for name in ("ndcg@3", "map@3", "p@2")
    for convention in ("letor", "mslr", "lightgbm")
}


@pytest.mark.parametrize("name", SEVERAL)
def test_rows_of_any_query_in_any_order_equal_the_swap_gains_of_its_list(name: str) -> None:
    metric, rng = SEVERAL[name], np.random.default_rng(0)
    longest = 6 if name == "own cumulative" else 25
    lists = [tuple(map(float, rng.integers(0, 4, rng.integers(1, longest + 1)))) for _ in range(30)]
    labels, _, indptr = flatten([(0.0, 0.0), *lists])
    terms = metric.bind(labels, indptr).terms
    # One work array for all queries, never cleared: a row may depend only on what was prepared for its query.
    work, out = np.full((WORK_ROWS, longest + 1), np.nan), np.empty((3, longest))
    for query in rng.permutation(len(indptr) - 1):
        ranked = terms.gains[indptr[query] : indptr[query + 1]]
        expected = metric.swap_gains(labels[indptr[query] : indptr[query + 1]])
        n, rows = len(ranked), rows_that_count(terms, query, len(ranked))
        prepare_swaps(terms, query, ranked, work)
        for i in rng.permutation(rows)[: rng.integers(1, n + 1)]:
            last = min(i + 3, rows)
            swap_gain_rows(terms, query, ranked, i, last, work, out)
            for row in range(i, last):
                np.testing.assert_allclose(out[row - i, row + 1 : n], expected[row, row + 1 :], atol=1e-13)
        assert (np.triu(expected, 1)[rows_reached(terms, rows, work) :] == 0).all()


def test_pairwise_rows_do_not_need_the_rows_below_them() -> None:
    labels = [0.0, 2, 1, 0, 1, 2]
    terms, work, out = sr.metric("pairwise").bind(labels, [0, 6]).terms, np.empty((WORK_ROWS, 7)), np.empty((1, 6))
    prepare_swaps(terms, 0, terms.gains, work)
    for i in (2, 1, 0):
        swap_gain_rows(terms, 0, terms.gains, i, i + 1, work, out)
        np.testing.assert_allclose(out[0, i + 1 :], sr.metric("pairwise").swap_gains(labels)[i, i + 1 :], atol=1e-15)
