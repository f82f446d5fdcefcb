from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from tests.objectives.naive_lambdas import cost, lambdas, weights_of

METRICS: dict[str, sr.metrics.Metric] = {
    name: sr.metric(name)
    for name in (
        "ndcg",
        "ndcg@3",
        "dcg@5",
        "map",
        "mrr",
        "err",
        "err@3",
        "p@2",
        "pairwise",
        "bpref",
        "rprec",
        "rbp",
        "success@2",
    )
} | {
    "own": sr.metrics.CumulativeMetric(gain=lambda label: label, discount=lambda r: 1 / r, k=4),
    "own cascade": sr.metrics.CascadeMetric(stop=lambda label: label / 5),
    "own function": sr.metrics.CustomMetric(evaluate=lambda labels: labels[0] + 0.5 * labels[-1]),
}


def queries(seed: int = 0, n_queries: int = 12) -> sr.Dataset:
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 15, n_queries))
    return sr.Dataset(rng.normal(size=(len(qid), 1)), rng.integers(0, 5, len(qid)), qid=qid)


def gradients(data: sr.Dataset, scores: Floats, **options: Any) -> tuple[Floats, Floats]:
    grad, hess = np.full(len(data), np.nan), np.full(len(data), np.nan)
    LambdaRankObjective(**options).bind(data, random_state=0, n_threads=2).update(scores, grad, hess)
    return grad, hess


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("n", [5, 6, 13, 14, 29, 40])
@pytest.mark.parametrize("n_labels", [1, 2, 5, 40])
def test_lists_much_longer_than_the_cut_off(n: int, n_labels: int, normalize: bool) -> None:
    rng = np.random.default_rng(n)
    labels, scores = rng.integers(0, n_labels, n), rng.normal(size=n)
    data = sr.Dataset(np.zeros((n, 1)), labels, qid=np.zeros(n))
    grad, hess = gradients(data, scores, metric="dcg@5(gain=linear)", sigma=0.6, normalize=normalize)
    expected = lambdas("dcg@5 linear", data.labels, scores, 0.6, normalize)
    np.testing.assert_allclose(grad, expected[0], atol=1e-12)
    np.testing.assert_allclose(hess, expected[1], atol=1e-12)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", METRICS)
def test_kernel_equals_the_sum_over_pairs(name: str, normalize: bool) -> None:
    data = queries()
    scores = np.random.default_rng(1).normal(size=len(data))
    grad, hess = gradients(data, scores, metric=METRICS[name], sigma=1.7, normalize=normalize)
    for a, b in zip(data.indptr[:-1], data.indptr[1:], strict=True):
        expected = lambdas(name, data.labels[a:b], scores[a:b], 1.7, normalize)
        np.testing.assert_allclose(grad[a:b], expected[0], atol=1e-12)
        np.testing.assert_allclose(hess[a:b], expected[1], atol=1e-12)


@pytest.mark.parametrize(
    ("objective", "with_pairs"),
    [
        (LambdaRankObjective(sr.metric("ndcg@5"), 1.7, normalize=False), False),
        (LambdaRankObjective(sr.metric("ndcg"), 1.7, construction="local_cost", normalize=False), False),
        (LambdaRankObjective(sr.metric("pairwise"), 1.7, normalize=False), False),
        (sr.objectives.RankNetObjective(1.7), False),
        (sr.objectives.RankNetObjective(1.7), True),
    ],
    ids=["lambda", "construction", "pairwise", "ranknet", "ranknet of pairs"],
)
def test_the_floor_of_hessians_is_a_choice(objective: Any, with_pairs: bool) -> None:
    """0 is the plain sum over pairs, as in the papers; other floors only raise what is below."""
    data = queries()
    if with_pairs:
        qid = np.repeat(np.arange(data.n_queries), np.diff(data.indptr))
        pairs = [(i, i + 1) for i in range(len(data) - 1) if qid[i] == qid[i + 1]]
        data = sr.Dataset(data.features, data.labels, qid=qid, pairs=pairs)
    scores = 5 * np.random.default_rng(1).normal(size=len(data))
    found = {}
    for floor in (0.0, 0.01, 0.1):
        grad, hess = np.empty(len(data)), np.empty(len(data))
        bound = replace(objective, hessian_floor=floor).bind(data, random_state=0, n_threads=1)
        bound.update(scores, grad, hess)
        found[floor] = hess
    assert replace(objective, hessian_floor=0.01) == objective
    for floor in (0.01, 0.1):
        np.testing.assert_allclose(found[floor], np.maximum(found[0.0], floor * 1.7 * np.abs(grad)), rtol=1e-12)
        assert (found[floor] > found[0.0]).any()
    with pytest.raises(sr.errors.ParameterError, match="hessian_floor must be a number from 0 to 1; found -1"):
        replace(objective, hessian_floor=-1)


@pytest.mark.parametrize("name", ["ndcg@3", "map", "err"])
def test_lambdas_are_the_slope_of_the_cost_with_swap_gains_held_fixed(name: str) -> None:
    data = queries()
    scores = np.random.default_rng(2).normal(size=len(data))
    grad, hess = gradients(data, scores, metric=METRICS[name], sigma=0.8, normalize=False)
    step = 1e-5
    for a, b in zip(data.indptr[:-1], data.indptr[1:], strict=True):
        labels, here = data.labels[a:b], scores[a:b]
        weights = weights_of(name, labels, here, normalize=False)
        for d in range(b - a):
            move = np.zeros(b - a)
            move[d] = step
            up, down = cost(weights, labels, here + move, 0.8), cost(weights, labels, here - move, 0.8)
            assert grad[a + d] == pytest.approx((up - down) / (2 * step), abs=1e-6)
            bend = (up - 2 * cost(weights, labels, here, 0.8) + down) / step**2
            assert hess[a + d] == pytest.approx(max(bend, 0.8 * abs(grad[a + d]) / 100), abs=1e-4)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", METRICS)
def test_lambdas_sum_to_zero_in_every_query(name: str, normalize: bool) -> None:
    data = queries(3)
    grad, hess = gradients(
        data, np.random.default_rng(3).normal(size=len(data)), metric=METRICS[name], normalize=normalize
    )
    sums = [grad[a:b].sum() for a, b in zip(data.indptr[:-1], data.indptr[1:], strict=True)]
    np.testing.assert_allclose(sums, 0, atol=1e-12)
    assert (hess >= 0).all()


def test_a_shift_of_all_scores_changes_nothing() -> None:
    data = queries(4)
    scores = np.random.default_rng(4).normal(size=len(data))
    for one, two in zip(
        gradients(data, scores, metric=METRICS["ndcg"]),
        gradients(data, scores + 123.0, metric=METRICS["ndcg"]),
        strict=True,
    ):
        np.testing.assert_allclose(one, two, atol=1e-10)


def test_ties_are_broken_by_a_seed_and_not_by_the_rows() -> None:
    labels = np.array([3, 2, 1, 0, 0, 0] * 40)
    data = sr.Dataset(np.zeros((240, 1)), labels, qid=np.repeat(np.arange(40), 6))
    grad, _ = gradients(data, np.zeros(240), metric=METRICS["ndcg"], normalize=False)
    first, second = grad.reshape(40, 6)[:2]
    assert not np.allclose(first, second)
    again, _ = gradients(data, np.zeros(240), metric=METRICS["ndcg"], normalize=False)
    np.testing.assert_array_equal(grad, again)


@pytest.mark.parametrize("name", ["ndcg", "dcg", "map", "mrr", "err", "precision", "rbp"])
def test_a_horizon_gives_the_gradients_of_the_metric_that_is_cut_off_there(name: str) -> None:
    data = queries(7)
    scores = np.random.default_rng(7).normal(size=len(data))
    found = gradients(data, scores, metric=sr.metric(f"{name}@5"), horizon=3)
    np.testing.assert_array_equal(found, gradients(data, scores, metric=sr.metric(f"{name}@3")))
    assert not np.array_equal(found[0], gradients(data, scores, metric=sr.metric(f"{name}@5"))[0])


def test_a_metric_without_cut_off_has_no_horizon() -> None:
    with pytest.raises(sr.errors.ParameterError, match="pairwise has no cut-off, and so no horizon: found horizon=3"):
        gradients(queries(2), np.zeros(len(queries(2))), metric=sr.metric("pairwise"), horizon=3)


def test_weights_multiply() -> None:
    plain = queries(5)
    weighted = sr.Dataset(
        plain.features,
        plain.labels,
        qid=plain.qids.repeat(np.diff(plain.indptr)),
        sample_weight=np.full(len(plain), 2.5),
    )
    scores = np.random.default_rng(5).normal(size=len(plain))
    for one, two in zip(
        gradients(plain, scores, metric=METRICS["map"]), gradients(weighted, scores, metric=METRICS["map"]), strict=True
    ):
        np.testing.assert_allclose(2.5 * one, two)


def test_scores_far_apart_stay_finite() -> None:
    data = sr.Dataset(np.zeros((4, 1)), [0, 1, 2, 3], qid=[1, 1, 1, 1])
    grad, hess = gradients(data, np.array([3e3, 0.0, -2e3, -5e3]), metric=METRICS["ndcg"], normalize=False)
    assert np.isfinite(grad).all()
    assert grad[3] < 0 < grad[0]
    assert np.isfinite(hess).all()


def test_nothing_to_learn_gives_zeros() -> None:
    data = sr.Dataset(np.zeros((5, 1)), [1, 1, 1, 0, 2], qid=[1, 1, 1, 2, 3])
    grad, hess = gradients(data, np.arange(5.0), metric=METRICS["ndcg"])
    assert (grad == 0).all()
    assert (hess == 0).all()


def test_a_metric_that_fails_on_a_swapped_list_is_named() -> None:
    def picky(labels: Floats) -> float:
        if labels[0] == 0:
            raise ValueError
        return 1.0

    data = sr.Dataset(np.zeros((2, 1)), [1, 0], qid=[1, 1])
    with pytest.raises(sr.errors.MetricError, match="picky: evaluate failed or gave no finite number"):
        gradients(data, np.array([1.0, 0.0]), metric=sr.metrics.CustomMetric(evaluate=picky, name="picky"))


def test_lists_of_any_width_follow_the_definition() -> None:
    labels = np.array([1.0, 2.0, 0.0])
    data = sr.Dataset(np.zeros((3, 1)), labels, qid=[1, 1, 1])
    for scores in (np.array([0.0, -700.0, -705.0]), np.array([1000.0, 100.0, 50.0]), np.array([0.0, 40.0, -3.0])):
        grad, hess = gradients(data, scores, metric=METRICS["ndcg"], normalize=False)
        expected = lambdas("ndcg", labels, scores, 1.0, False)
        np.testing.assert_allclose(grad, expected[0], rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(hess, expected[1], rtol=1e-6, atol=1e-18)
