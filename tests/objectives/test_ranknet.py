from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective import Objective
from swaprank.objectives.ranknet_objective import RankNetObjective
from tests.objectives.naive_ranknet import cost, pairs_of
from tests.objectives.naive_ranknet import gradients as naive_gradients


def queries(seed: int = 0, n_queries: int = 12, **options: Any) -> sr.Dataset:
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 15, n_queries))
    return sr.Dataset(np.zeros((len(qid), 1)), rng.integers(0, 4, len(qid)), qid=qid, **options)


def gradients(objective: Objective, data: sr.Dataset, scores: Floats, n_threads: int = 1) -> tuple[Floats, Floats]:
    grad, hess = np.full(len(data), np.nan), np.full(len(data), np.nan)
    objective.bind(data, random_state=0, n_threads=n_threads).update(scores, grad, hess)
    return grad, hess


def lists(data: sr.Dataset) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in zip(data.indptr[:-1], data.indptr[1:], strict=True)]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("spread", [0.0, 1.0, 300.0])
def test_kernel_equals_the_sum_over_pairs(ties: bool, spread: float) -> None:
    data = queries()
    scores = spread * np.random.default_rng(1).normal(size=len(data))
    grad, hess = gradients(RankNetObjective(1.7, ties), data, scores)
    for a, b in lists(data):
        expected = naive_gradients(pairs_of(data.labels[a:b], ties), scores[a:b], 1.7)
        np.testing.assert_allclose(grad[a:b], expected[0], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(hess[a:b], expected[1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("ties", [False, True])
def test_gradients_are_the_slopes_of_the_cross_entropy(ties: bool) -> None:
    data, sigma, step = queries(), 0.8, 1e-4
    scores = np.random.default_rng(2).normal(size=len(data))
    grad, hess = gradients(RankNetObjective(sigma, ties), data, scores)
    for a, b in lists(data):
        pairs = pairs_of(data.labels[a:b], ties)
        for d in range(b - a):
            move = step * (np.arange(b - a) == d)
            up, here, down = (cost(pairs, scores[a:b] + way * move, sigma) for way in (1, 0, -1))
            assert grad[a + d] == pytest.approx((up - down) / (2 * step), abs=1e-6)
            assert hess[a + d] == pytest.approx((up - 2 * here + down) / step**2, abs=1e-5)


def test_given_pairs_have_any_target_and_may_contradict_each_other() -> None:
    # A over B, B over C, C over A, and rows that come in any order; labels are of no account.
    qid, labels = [1, 2, 1, 2, 1], [9, 9, 0, 0, 0]
    pairs = [(0, 2, 1.0), (2, 4, 0.7), (4, 0, 0.6), (1, 3, 0.25), (3, 1, 0.0), (0, 2, 1.0)]
    data = sr.Dataset(np.zeros((5, 1)), labels, qid=qid, pairs=pairs)
    scores = np.array([0.3, -1.0, 0.1, 0.7, 2.0])
    grad, hess = gradients(RankNetObjective(1.3), data, np.array(data.by_query(scores)))
    expected = naive_gradients(pairs, scores, 1.3)
    np.testing.assert_allclose(data.as_given(grad), expected[0], rtol=1e-12)
    np.testing.assert_allclose(data.as_given(hess), expected[1], rtol=1e-12)


def test_the_cost_of_a_given_pair_is_multiplied_by_its_weight() -> None:
    qid = [1, 2, 1, 2, 1]
    pairs = [(0, 2, 1.0, 2.0), (2, 4, 0.7, 0.5), (4, 0, 0.6, 0.0), (1, 3, 0.25, 3.0), (0, 2, 1.0, 1.0)]
    data = sr.Dataset(np.zeros((5, 1)), np.zeros(5), qid=qid, pairs=pairs)
    scores = np.array([0.3, -1.0, 0.1, 0.7, 2.0])
    grad, hess = gradients(RankNetObjective(1.3), data, np.array(data.by_query(scores)))
    by_pair = [naive_gradients([(i, j, p)], scores, 1.3) for i, j, p, _ in pairs]
    weights = [w for *_, w in pairs]
    expected = [sum(w * each[at] for w, each in zip(weights, by_pair, strict=True)) for at in (0, 1)]
    np.testing.assert_allclose(data.as_given(grad), expected[0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(data.as_given(hess), expected[1], rtol=1e-12, atol=1e-15)
    for d in range(5):
        move = 1e-5 * (np.arange(5) == d)
        up, down = (sum(w * cost([(i, j, p)], scores + way * move, 1.3) for i, j, p, w in pairs) for way in (1, -1))
        assert data.as_given(grad)[d] == pytest.approx((up - down) / 2e-5, abs=1e-8)


def test_queries_without_pairs_have_no_gradients() -> None:
    data = sr.Dataset(np.zeros((4, 1)), [0, 1, 0, 1], qid=[1, 1, 2, 2], pairs=[(2, 3)])
    grad, hess = gradients(RankNetObjective(), data, np.zeros(4))
    np.testing.assert_allclose(grad, [0, 0, -0.5, 0.5])
    np.testing.assert_allclose(hess, [0, 0, 0.25, 0.25])


@pytest.mark.parametrize("ties", [False, True])
def test_gradients_sum_to_zero_and_feel_no_shift(ties: bool) -> None:
    data = queries(3)
    scores = np.random.default_rng(3).normal(size=len(data))
    grad, hess = gradients(RankNetObjective(ties=ties), data, scores)
    np.testing.assert_allclose([grad[a:b].sum() for a, b in lists(data)], 0, atol=1e-13)
    shifted = gradients(RankNetObjective(ties=ties), data, scores + 50.0)
    np.testing.assert_allclose(shifted, (grad, hess), atol=1e-12)


def test_ties_pull_documents_of_one_label_together() -> None:
    data = sr.Dataset(np.zeros((2, 1)), [1, 1], qid=[1, 1])
    grad, _ = gradients(RankNetObjective(ties=True), data, np.array([2.0, 0.0]))
    assert grad[0] > 0 > grad[1]
    assert (gradients(RankNetObjective(), data, np.array([2.0, 0.0]))[0] == 0).all()


def test_the_pairwise_metric_is_ranknet_over_the_number_of_pairs() -> None:
    data = queries(4)
    scores = np.random.default_rng(4).normal(size=len(data))
    grad, hess = gradients(RankNetObjective(1.4), data, scores)
    shared = gradients(LambdaRankObjective(sr.metric("pairwise"), sigma=1.4, normalize=False), data, scores)
    for a, b in lists(data):
        pairs = max(1, len(pairs_of(data.labels[a:b], ties=False)))
        np.testing.assert_allclose(shared[0][a:b], grad[a:b] / pairs, rtol=1e-12)
        np.testing.assert_allclose(shared[1][a:b], hess[a:b] / pairs, rtol=1e-12)


def test_weights_multiply() -> None:
    plain = queries(5)
    weights = np.random.default_rng(5).random(len(plain))
    weighted = queries(5, sample_weight=weights)
    scores = np.random.default_rng(6).normal(size=len(plain))
    for objective in (RankNetObjective(), LambdaRankObjective(sr.metric("map"))):
        one, two = gradients(objective, plain, scores), gradients(objective, weighted, scores, n_threads=2)
        np.testing.assert_allclose(two[0], one[0] * weights)
        np.testing.assert_allclose(two[1], one[1] * weights)
