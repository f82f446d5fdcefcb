import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats


@pytest.fixture(scope="module")
def lists() -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(0)
    indptr = np.concatenate(([0], np.cumsum(rng.integers(1, 30, 200))))
    return rng.integers(0, 5, indptr[-1]).astype(float), rng.normal(size=indptr[-1]), indptr


def test_own_gain_and_discount_make_ndcg(lists: tuple[Floats, Floats, Floats]) -> None:
    own = sr.CumulativeMetric(gain=lambda label: 2**label - 1, discount=lambda r: 1 / np.log2(1 + r), k=10)
    np.testing.assert_allclose(own.per_query(*lists), sr.metric("ndcg@10").per_query(*lists))


def test_own_sum_need_not_be_normalised(lists: tuple[Floats, Floats, Floats]) -> None:
    own = sr.CumulativeMetric(gain="exp2", discount="log2", normalize=False)
    np.testing.assert_allclose(own.per_query(*lists), sr.metric("dcg").per_query(*lists))


def test_own_discount_need_not_fall() -> None:
    # The third place is worth most, as in a banner between results: the best order puts the best document there.
    own = sr.CumulativeMetric(gain=lambda label: label, discount=lambda r: {1: 1.0, 2: 0.5, 3: 2.0}[r])
    assert own.mean([1, 0, 3], [3, 2, 1], [0, 3]) == 1
    assert own.mean([3, 0, 1], [3, 2, 1], [0, 3]) == (3 + 2) / (6 + 1)


def test_own_stop_makes_err(lists: tuple[Floats, Floats, Floats]) -> None:
    own = sr.CascadeMetric(stop=lambda label: (2**label - 1) / 16, k=20)
    np.testing.assert_allclose(own.per_query(*lists), sr.metric("err@20").per_query(*lists))


def dcg(labels: Floats) -> float:
    total = 0.0
    for r in range(len(labels)):
        total += (2 ** labels[r] - 1) / np.log2(2 + r)
    return total


def test_own_function_makes_dcg(lists: tuple[Floats, Floats, Floats]) -> None:
    own = sr.CustomMetric(evaluate=dcg)
    np.testing.assert_allclose(own.per_query(*lists), sr.metric("dcg").per_query(*lists))
    np.testing.assert_allclose(own.swap_gains([0, 3, 1, 2]), sr.metric("dcg").swap_gains([0, 3, 1, 2]), atol=1e-14)


def test_own_function_averages_ties_over_seeded_shuffles(lists: tuple[Floats, Floats, Floats]) -> None:
    labels, scores, indptr = lists
    own, tied = sr.CustomMetric(evaluate=dcg), np.round(scores)
    values = own.per_query(labels, tied, indptr)
    np.testing.assert_array_equal(values, own.per_query(labels, tied, indptr, n_threads=2))
    assert values.mean() == pytest.approx(sr.metric("dcg").mean(labels, tied, indptr), rel=0.01)


def test_own_metrics_go_where_names_go() -> None:
    own = sr.CustomMetric(evaluate=dcg, name="mine")
    assert sr.metric(own) is own
    assert str(own) == "mine"
    assert str(sr.CumulativeMetric(gain=abs, name="money", k=5)) == "money@5"
    assert "own gain" in sr.CumulativeMetric(gain=abs).describe()


def test_a_function_that_cannot_be_compiled() -> None:
    def bad(labels: Floats) -> float:
        return float(str(labels).encode().decode())

    with pytest.raises(sr.MetricError, match="evaluate could not be compiled: it takes a float64 array"):
        sr.CustomMetric(evaluate=bad).mean([0, 1], [1, 2], [0, 2])


def test_a_function_that_fails_or_gives_no_number() -> None:
    def raises(labels: Floats) -> float:
        if labels[0] == 0:
            raise ValueError
        return 1.0

    def divides(labels: Floats) -> float:
        return float(1 / labels[0])

    for function in (raises, divides):
        with pytest.raises(sr.MetricError, match=r"gave no finite number for query 1 \(2 documents\)"):
            sr.CustomMetric(evaluate=function).mean([1, 1, 0, 0], [4, 3, 2, 1], [0, 2, 4])


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (sr.CumulativeMetric(gain=lambda label: 1 / label), r"gain\(0.0\) failed: ZeroDivisionError"),
        (
            sr.CumulativeMetric(discount=lambda r: float("inf")),
            r"discount\(1\) gave inf; it must give a finite number",
        ),
        (sr.CascadeMetric(stop=lambda label: 2.0), r"stop\(1\) gave 2.0; a probability lies between 0 and 1"),
    ],
)
def test_a_function_that_gives_nonsense(metric: sr.Metric, message: str) -> None:
    with pytest.raises(sr.MetricError, match=message):
        metric.mean([1, 0], [1, 2], [0, 2])


def test_an_unknown_named_discount() -> None:
    with pytest.raises(sr.MetricError, match="discount cannot be 'log3'; did you mean 'log2'"):
        sr.CumulativeMetric(discount="log3")
