import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import permutations
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from numba import njit

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.metrics.custom import compiled
from swaprank.metrics.parse import metrics
from swaprank.metrics.terms import Lists
from tests.metrics.lists import all_lists


@pytest.fixture(scope="module")
def lists() -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(0)
    indptr = np.concatenate(([0], np.cumsum(rng.integers(1, 30, 200))))
    return rng.integers(0, 5, indptr[-1]).astype(float), rng.normal(size=indptr[-1]), indptr


def test_own_gain_and_discount_make_ndcg(lists: tuple[Floats, Floats, Floats]) -> None:
    own = sr.metrics.CumulativeMetric(gain=lambda label: 2**label - 1, discount=lambda r: 1 / np.log2(1 + r), k=10)
    np.testing.assert_allclose(own.per_query(*lists), sr.metric("ndcg@10").per_query(*lists))


def test_own_sum_need_not_be_normalized(lists: tuple[Floats, Floats, Floats]) -> None:
    own = sr.metrics.CumulativeMetric(gain="exp2", discount="log2", normalize=False)
    np.testing.assert_allclose(own.per_query(*lists), sr.metric("dcg").per_query(*lists))


def test_own_discount_need_not_fall() -> None:
    # Rank 3 has the largest discount, as for a banner between results: the best order puts the best document there.
    own = sr.metrics.CumulativeMetric(gain=lambda label: label, discount=lambda r: {1: 1.0, 2: 0.5, 3: 2.0}[r])
    assert own.mean([1, 0, 3], [3, 2, 1], [0, 3]) == 1
    assert own.mean([3, 0, 1], [3, 2, 1], [0, 3]) == (3 + 2) / (6 + 1)


def test_own_stop_makes_err(lists: tuple[Floats, Floats, Floats]) -> None:
    own = sr.metrics.CascadeMetric(stop=lambda label: (2**label - 1) / 16, k=20)
    np.testing.assert_allclose(own.per_query(*lists), sr.metric("err@20").per_query(*lists))


def dcg(labels: Floats) -> float:
    total = 0.0
    for r in range(len(labels)):
        total += (2 ** labels[r] - 1) / np.log2(2 + r)
    return total


def test_own_function_makes_dcg(lists: tuple[Floats, Floats, Floats]) -> None:
    own = sr.metrics.CustomMetric(evaluate=dcg)
    np.testing.assert_allclose(own.per_query(*lists), sr.metric("dcg").per_query(*lists))
    np.testing.assert_allclose(own.swap_gains([0, 3, 1, 2]), sr.metric("dcg").swap_gains([0, 3, 1, 2]), atol=1e-14)


def test_own_function_averages_ties_over_seeded_shuffles(lists: tuple[Floats, Floats, Floats]) -> None:
    labels, scores, indptr = lists
    own, tied = sr.metrics.CustomMetric(evaluate=dcg), np.round(scores)
    values = own.per_query(labels, tied, indptr)
    np.testing.assert_array_equal(values, own.per_query(labels, tied, indptr, n_threads=2))
    assert values.mean() == pytest.approx(sr.metric("dcg").mean(labels, tied, indptr), rel=0.01)


def test_own_metrics_go_where_names_go() -> None:
    own = sr.metrics.CustomMetric(evaluate=dcg, name="mine")
    assert sr.metric(own) is own
    assert str(own) == "mine"
    assert str(sr.metrics.CumulativeMetric(gain=abs, name="money", k=5)) == "money@5"
    assert "own gain" in sr.metrics.CumulativeMetric(gain=abs).describe()


@pytest.mark.slow
def test_a_function_that_cannot_be_compiled() -> None:
    def bad(labels: Floats) -> float:
        return float(str(labels).encode().decode())

    with pytest.raises(sr.errors.MetricError, match="evaluate could not be compiled: it must take a float64 array"):
        sr.metrics.CustomMetric(evaluate=bad).mean([0, 1], [1, 2], [0, 2])


@pytest.mark.slow
def test_a_function_that_fails_or_gives_no_number() -> None:
    def raises(labels: Floats) -> float:
        if labels[0] == 0:
            raise ValueError
        return 1.0

    def divides(labels: Floats) -> float:
        return float(1 / labels[0])

    for function in (raises, divides):
        with pytest.raises(sr.errors.MetricError, match=r"did not return a finite number for query 1 \(2 documents\)"):
            sr.metrics.CustomMetric(evaluate=function).mean([1, 1, 0, 0], [4, 3, 2, 1], [0, 2, 4])


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (sr.metrics.CumulativeMetric(gain=lambda label: 1 / label), r"gain\(0.0\) failed: ZeroDivisionError"),
        (
            sr.metrics.CumulativeMetric(discount=lambda r: float("inf")),
            r"discount\(1\) returned inf; it must return a finite number",
        ),
        (
            sr.metrics.CascadeMetric(stop=lambda label: 2.0),
            r"stop\(1\) returned 2.0; a probability must be between 0 and 1",
        ),
    ],
)
def test_a_function_that_gives_nonsense(metric: sr.metrics.Metric, message: str) -> None:
    with pytest.raises(sr.errors.MetricError, match=message):
        metric.mean([1, 0], [1, 2], [0, 2])


def test_an_unknown_named_discount() -> None:
    with pytest.raises(sr.errors.MetricError, match="discount cannot be 'log3'; did you mean 'log2'"):
        sr.metrics.CumulativeMetric(discount="log3")


@pytest.mark.parametrize("function", [lambda x: x[4], lambda x: x[10**8], lambda x: x[-3], lambda x: 1 / x[5]])
def test_a_function_that_reads_beyond_the_list(function: Callable[[Floats], float]) -> None:
    own = sr.metrics.CustomMetric(evaluate=function)
    with pytest.raises(
        sr.errors.MetricError, match=r"evaluate failed or did not return .* for query 0 \(2 documents\)"
    ):
        own.mean([0, 1], [1, 2], [0, 2])
    with pytest.raises(sr.errors.MetricError, match="evaluate failed or did not return a finite number, for the list"):
        own.swap_gains([0, 1])


@pytest.mark.slow
def test_a_function_that_changes_its_argument_changes_nothing_else() -> None:
    def sorts(labels: Floats) -> float:
        first = labels[0]
        labels.sort()
        return float(first + 0.1 * labels[0])

    own, honest = (
        sr.metrics.CustomMetric(evaluate=sorts),
        sr.metrics.CustomMetric(evaluate=lambda x: x[0] + 0.1 * x.min()),
    )
    for scores in ([3.0, 2.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0]):
        assert own.mean([2, 3, 1, 1], scores, [0, 4]) == honest.mean([2, 3, 1, 1], scores, [0, 4])
    np.testing.assert_array_equal(own.swap_gains([2, 3, 1, 1]), honest.swap_gains([2, 3, 1, 1]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "function", [lambda x: x[0] > 0, lambda x: 1, lambda x: np.float32(1), njit(lambda x: x[0]), njit(lambda x: True)]
)
def test_a_function_may_give_any_number_and_be_compiled_already(function: Any) -> None:
    assert sr.metrics.CustomMetric(evaluate=function).mean([0, 1], [1, 2], [0, 2]) == 1


class Callee:
    __hash__ = None  # type: ignore[assignment]

    def __call__(self, labels: Floats) -> float:
        return float(labels[0])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (np.mean, "evaluate must be a function written with def or lambda, found .*mean"),
        (partial(max, 1), "evaluate must be a function written with def or lambda, found functools.partial"),
        (Callee(), "evaluate must be a function written with def or lambda, found .*Callee"),
        (lambda x, y: x, r"could not be compiled.*missing a required argument: 'y'"),
        (lambda x: "a", r"could not be compiled"),
        (lambda x: None, r"could not be compiled"),
        (lambda x: x, r"could not be compiled.*No conversion from array"),
        (lambda x: print(file=x), r"could not be compiled"),
    ],
)
def test_what_is_not_a_function_of_labels_gets_a_clear_error(function: Any, message: str) -> None:
    with pytest.raises(sr.errors.MetricError, match=message) as caught:
        sr.metrics.CustomMetric(evaluate=function).mean([0, 1], [1, 2], [0, 2])
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "make",
    [
        lambda: sr.metrics.CustomMetric(evaluate=5),  # type: ignore[arg-type]
        lambda: sr.metrics.CascadeMetric(stop="half"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_called_is_refused_at_once(make: Callable[[], sr.metrics.Metric]) -> None:
    with pytest.raises(sr.errors.MetricError, match="must be a function, found "):
        make()


def measured_elsewhere(bound: sr.metrics.BoundMetric, scores: list[float]) -> float:
    return bound.mean(scores)


@pytest.mark.slow
def test_a_bound_metric_binds_anew_in_another_process() -> None:
    bound = sr.metrics.CustomMetric(evaluate=dcg).bind([0, 3, 1], [0, 3])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(measured_elsewhere, bound, [3, 2, 1]).result() == bound.mean([3, 2, 1])


def test_a_bound_metric_is_pickled_with_all_it_was_bound_to() -> None:
    metric = sr.metric("ndcg", convention="trec")
    pool = metric.bind([0, 3], [0, 2]).terms.gains, np.array([0, 2])
    bound = metric.bind([0, 1, 2], [0, 3], docid=["a", "b", "c"], pool=Lists(*pool))
    again = pickle.loads(pickle.dumps(bound))
    assert again.mean([1, 1, 1]) == bound.mean([1, 1, 1]) != metric.bind([0, 1, 2], [0, 3]).mean([3, 2, 1])


@pytest.mark.slow
def test_the_compiled_function_lives_as_long_as_what_is_bound_to_it() -> None:
    def make(value: float) -> Callable[[Floats], float]:
        return lambda labels: value + labels[0]

    bounds = [sr.metrics.CustomMetric(evaluate=make(i)).bind([0, 1], [0, 2]) for i in range(3)]
    compiled.cache_clear()
    assert [b.mean([1, 2]) for b in bounds] == [1, 2, 3]
    metric = pickle.loads(pickle.dumps(sr.metrics.CustomMetric(evaluate=dcg)))
    assert metric == sr.metrics.CustomMetric(evaluate=dcg)


def test_own_metrics_say_what_they_do() -> None:
    assert str(sr.metrics.CumulativeMetric(normalize=False)) == "cumulative(normalize=False)"
    assert "not divided by the best possible sum" in sr.metrics.CumulativeMetric(normalize=False).describe()
    assert "divided by the best possible sum" in sr.metrics.CumulativeMetric().describe()
    assert "tied scores: mean over 64 seeded shuffles" in sr.metrics.CustomMetric(evaluate=dcg).describe()
    assert "tied scores in row order" in sr.metrics.CustomMetric(evaluate=dcg, ties="input").describe()


def test_different_metrics_of_one_name_are_refused() -> None:
    one, other = sr.metrics.CumulativeMetric(gain=abs), sr.metrics.CumulativeMetric(gain=round)
    assert metrics([one, one, "map", "map"]) == [one, sr.metric("map")]
    with pytest.raises(sr.errors.MetricError, match="two different metrics have the name cumulative; give them"):
        metrics([one, other])
    with pytest.raises(sr.errors.MetricError, match="two different metrics have the name map"):
        metrics(["map", sr.metrics.CascadeMetric(stop=abs, name="map")])
    with pytest.raises(sr.errors.MetricError, match="cannot have the name qid"):
        metrics(sr.metrics.CustomMetric(evaluate=dcg, name="qid"))
    with pytest.raises(sr.errors.MetricError, match="a metric's name must be a non-empty string"):
        sr.metrics.CustomMetric(evaluate=dcg, name=" ")


def test_losses_can_be_added_up_but_not_normalized() -> None:
    loses, falls = (lambda label: label - 1), (lambda rank: 2.0 - rank)
    with pytest.raises(
        sr.errors.MetricError, match=r"gain\(0\) returned -1; a sum with losses .* or choose normalize=False"
    ):
        sr.metrics.CumulativeMetric(gain=loses).mean([2, 0], [2, 1], [0, 2])
    with pytest.raises(sr.errors.MetricError, match=r"discount\(3\) returned -1; a sum with losses"):
        sr.metrics.CumulativeMetric(discount=falls).mean([2, 0, 1], [3, 2, 1], [0, 3])
    own = sr.metrics.CumulativeMetric(gain=loses, discount=falls, normalize=False)
    assert own.mean([2, 5, 0], [3, 2, 1], [0, 3]) == 1 * 1 + 4 * 0 + -1 * -1


@pytest.mark.parametrize("discounts", [(1, 0.5), (1, 0), (0, 1), (0.5, 1, 0, 2), (0, 0, 3)])
def test_normalised_by_the_best_of_all_orders(discounts: tuple[float, ...]) -> None:
    own = sr.metrics.CumulativeMetric(gain=lambda x: x, discount=lambda r: discounts[r - 1], k=len(discounts))
    for labels in all_lists((0, 1, 3), longest=4):
        sums = [sum(g * d for g, d in zip(p, discounts, strict=False)) for p in permutations(labels)]
        expected = sums[0] / max(sums) if max(sums) > 0 else 0.0
        assert own.mean(labels, -np.arange(len(labels)), [0, len(labels)]) == pytest.approx(expected)
