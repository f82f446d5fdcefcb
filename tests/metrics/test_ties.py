from itertools import permutations, product

import numpy as np
import pytest

import swaprank as sr
from swaprank.metrics.cascade_kernels import mean_products
from tests.metrics.lists import flatten
from tests.metrics.naive import TWINS

EXTRA = {
    "own cumulative": sr.metrics.CumulativeMetric(gain=lambda x: x + 1, discount=lambda r: 1 / r),
    "own cascade": sr.metrics.CascadeMetric(stop=lambda x: x / 4, k=3),
}


def orders_of(labels: tuple[float, ...], scores: tuple[float, ...]) -> list[tuple[float, ...]]:
    """All rankings that the scores allow, each as often as random tie-breaking produces it."""
    documents = range(len(labels))
    allowed = [
        p for p in permutations(documents) if all(scores[a] >= scores[b] for a, b in zip(p, p[1:], strict=False))
    ]
    return [tuple(labels[d] for d in p) for p in allowed]


@pytest.mark.parametrize("name", [*TWINS, *EXTRA])
def test_expected_value_is_the_average_over_all_orders(name: str) -> None:
    metric = EXTRA[name] if name in EXTRA else sr.metric(name)
    cases = [
        *product(
            product((0, 1, 3), repeat=4),
            [(0, 0, 0, 0), (1, 1, 0, 0), (1, 0, 0, 0), (1, 1, 1, 0), (2, 1, 1, 0)],
        ),
        ((0, 3, 1, 0, 2), (0, 0, 0, 0, 0)),
        ((1, 0, 3, 0, 2, 1), (2, 1, 1, 1, 1, 0)),
        ((1, 0, 3, 0, 2, 1), (1, 1, 1, 0, 0, 0)),
    ]
    labels, _, indptr = flatten([labels for labels, _ in cases])
    scores = np.array([s for _, scores in cases for s in scores], dtype=float)
    values = metric.per_query(labels, scores, indptr)
    orders = [orders_of(*case) for case in cases]
    each = metric.per_query(*flatten([x for group in orders for x in group]))
    starts = np.concatenate(([0], np.cumsum([len(group) for group in orders])))
    expected = [each[a:b].mean() for a, b in zip(starts[:-1], starts[1:], strict=True)]
    np.testing.assert_allclose(values, expected, atol=1e-13)


def test_unjudged_documents_may_be_tied_too() -> None:
    labels, scores = (1, -1, 0, 1, 0), (1, 1, 1, 0, 0)
    each = [TWINS["bpref"](x) for x in orders_of(labels, scores)]
    assert sr.metric("bpref").mean(labels, scores, [0, 5]) == pytest.approx(np.mean(each))


def test_a_list_sorted_by_label_leaks_nothing_through_ties() -> None:
    labels = [3, 2, 1, 0, 0, 0]
    constant = sr.metric("ndcg").mean(labels, np.zeros(6), [0, 6])
    assert constant == pytest.approx(sr.metric("ndcg").mean(labels[::-1], np.zeros(6), [0, 6]))
    assert constant < 0.9
    assert sr.metric("ndcg(ties=input)").mean(labels, np.zeros(6), [0, 6]) == 1


def test_ties_by_document_id_descending() -> None:
    metric = sr.metric("mrr", convention="trec")
    assert metric.mean([1, 0, 0], [5.0, 5.0, 1.0], [0, 3], docid=["b", "a", "c"]) == 1
    assert metric.mean([1, 0, 0], [5.0, 5.0, 1.0], [0, 3], docid=["a", "b", "c"]) == 0.5


def test_ties_by_document_id_need_document_ids() -> None:
    metric = sr.metric("mrr", convention="trec")
    assert metric.mean([0, 1], [2.0, 1.0], [0, 2]) == 0.5
    with pytest.raises(
        sr.errors.DataError, match=r"breaks ties by document id, but.* in query 1 document 1 .*, 5\. .*ties=input"
    ):
        metric.mean([0, 1, 0, 1], [2.0, 1.0, 5.0, 5.0], [0, 2, 4])


def test_trec_sees_ties_in_single_precision() -> None:
    scores = [1.0, 1.0 + 1e-12]
    assert sr.metric("mrr", convention="trec").mean([1, 0], scores, [0, 2], docid=["b", "a"]) == 1
    assert sr.metric("mrr").mean([1, 0], scores, [0, 2]) == 0.5


def test_large_groups_of_ties_stay_exact() -> None:
    n, relevant = 3000, 7
    labels = np.zeros(n)
    labels[:relevant] = 1
    # The probability that the first relevant document is at rank r, by counting subsets.
    chance, expected = 1.0, 0.0
    for r in range(1, n - relevant + 2):
        hit = relevant / (n - r + 1)
        expected += chance * hit / r
        chance *= 1 - hit
    assert sr.metric("mrr").mean(labels, np.zeros(n), [0, n]) == pytest.approx(expected, rel=1e-10)
    assert sr.metric("pairwise").mean(labels, np.zeros(n), [0, n]) == 0.5


def mean_products_one_by_one(stops: list[float]) -> list[float]:
    """The mean over all p-subsets of the product of their (1 - stop), one document at a time."""
    means = [1.0] + [0.0] * len(stops)
    for size, stop in enumerate(stops, 1):
        for p in range(size, 0, -1):
            means[p] = ((size - p) * means[p] + p * (1 - stop) * means[p - 1]) / size
    return means


@pytest.mark.parametrize("values", [(0, 1), (0, 0, 0, 1 / 16, 15 / 16), (0, 1, 0.5), (1,), (0,), (0.3,), (0.1, 0.9)])
@pytest.mark.parametrize("n", [1, 2, 5, 300])
def test_mean_products_may_take_zeros_and_certain_stops_together(values: tuple[float, ...], n: int) -> None:
    stops = np.random.default_rng(n).choice(values, n)
    expected = mean_products_one_by_one(stops.tolist())
    for reach in {1, (n + 1) // 2, n}:
        means = np.full(n + 1, np.nan)
        mean_products(stops.astype(float), reach, means)
        np.testing.assert_allclose(means[: reach + 1], expected[: reach + 1], rtol=1e-12, atol=1e-300)


def test_very_large_groups_of_ties() -> None:
    n = 200_000
    one = np.zeros(n)
    one[1234] = 1
    # All ranks are equally likely to have the only relevant document.
    assert sr.metric("mrr").mean(one, np.zeros(n), [0, n]) == pytest.approx(np.sum(1 / np.arange(1, n + 1)) / n)
    assert sr.metric("err").mean(one, np.zeros(n), [0, n]) == pytest.approx(np.sum(1 / np.arange(1, n + 1)) / n / 16)
