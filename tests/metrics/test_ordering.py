import numpy as np
import pytest

from swaprank.arrays import Floats, Ints
from swaprank.data.places import Places, query_keys
from swaprank.metrics.ordering import keep_top, rank_documents, rank_leading, seeded_tie_order

SIZES = (0, 1, 2, 11, 12, 13, 25, 399, 400, 799, 800, 801, 802, 1000, 10_000)
TIED = pytest.mark.parametrize("levels", [None, 1, 7, 300], ids=["no ties", "all tied", "many ties", "some ties"])


def random_scores(n: int, levels: int | None) -> Floats:
    rng = np.random.default_rng(n)
    return rng.normal(size=n) if levels is None else rng.integers(0, levels, n).astype(float)


def truth(scores: Floats) -> Ints:
    return np.argsort(-scores, kind="stable")


@TIED
@pytest.mark.parametrize("n", SIZES)
def test_documents_are_ranked_as_a_stable_sort_ranks_them(n: int, levels: int | None) -> None:
    scores, order = random_scores(n, levels), np.arange(n)
    rank_documents(scores, order, np.empty(n, np.int64), np.empty(n))
    np.testing.assert_array_equal(order, truth(scores))


def test_who_fills_the_order_decides_the_ties() -> None:
    for n in (5, 1000):
        order = np.arange(n)[::-1].copy()
        rank_documents(np.zeros(n), order, np.empty(n, np.int64), np.empty(n))
        np.testing.assert_array_equal(order, np.arange(n)[::-1])


@TIED
@pytest.mark.parametrize("depth", [1, 3, 32, 33, 1000])
@pytest.mark.parametrize("n", SIZES)
def test_leading_documents_are_ranked_and_none_is_lost(n: int, depth: int, levels: int | None) -> None:
    scores, order = random_scores(n, levels), np.arange(n)
    rank_leading(scores, order, depth, np.empty(n, np.int64), np.empty(n), np.empty(n + 1))
    np.testing.assert_array_equal(order[:depth], truth(scores)[:depth])
    np.testing.assert_array_equal(np.sort(order), np.arange(n))


@TIED
@pytest.mark.parametrize("depth", [1, 3, 32, 33])
@pytest.mark.parametrize("n", [*SIZES[1:]])
def test_kept_are_all_that_can_stand_within_the_depth(n: int, depth: int, levels: int | None) -> None:
    scores, order = random_scores(n, levels), np.arange(n)
    kept = keep_top(scores, order, depth, np.empty(n), np.empty(n + 1))
    last = scores[truth(scores)][min(depth, n) - 1]
    expected = np.flatnonzero(scores >= last)
    assert kept == n or kept == len(expected)
    assert set(expected) <= set(order[:kept])
    assert (np.diff(order[:kept]) > 0).all()


def test_infinitely_bad_documents_can_lead_too() -> None:
    scores, order = np.array([-np.inf, 1.0, -np.inf, -np.inf, -np.inf]), np.arange(5)
    rank_leading(scores, order, 2, np.empty(5, np.int64), np.empty(5), np.empty(6))
    np.testing.assert_array_equal(order, truth(scores))


def test_seeded_tie_order_shuffles_within_each_query() -> None:
    indptr = np.array([0, 3, 3, 50, 51, 400])
    places = Places(indptr, query_keys(np.arange(5)))
    tie_order = seeded_tie_order(places, 7)
    for a, b in zip(indptr[:-1], indptr[1:], strict=True):
        np.testing.assert_array_equal(np.sort(tie_order[a:b]), np.arange(a, b))
    np.testing.assert_array_equal(tie_order, seeded_tie_order(places, 7))
    alone = Places(np.array([0, 47]), query_keys(np.array(["2"])))
    np.testing.assert_array_equal(tie_order[3:50], 3 + seeded_tie_order(alone, 7))
    assert (tie_order != seeded_tie_order(places, 8)).any()
    assert len(seeded_tie_order(Places(np.array([0, 0]), query_keys(np.array([7]))), -1)) == 0


def test_seeded_tie_order_favours_no_order() -> None:
    # 24,000 queries of 4 documents: each of the 24 orders 1,000 times, give or take five standard deviations of 31.
    indptr = np.arange(0, 4 * 24_000 + 1, 4)
    orders = seeded_tie_order(Places(indptr, query_keys(np.arange(24_000))), 0).reshape(-1, 4) % 4
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 24
    assert np.abs(counts - 1000).max() < 155
    _, pairs = np.unique(orders[:-1, 0] * 4 + orders[1:, 0], return_counts=True)  # neighbouring queries are independent
    assert np.abs(pairs - 1500).max() < 190
