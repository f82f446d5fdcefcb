"""Smooth metrics for trees: gradients, steps, units and saddles."""

from dataclasses import replace

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.data.grouping import deviation_within_lists
from swaprank.objectives.smooth import SmoothObjective
from swaprank.objectives.smooth_boosting import SmoothBoostingObjective

LENGTHS = (5, 1, 12, 3, 8)


def queries(seed: int, weighted: bool = False) -> sr.Dataset:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, sum(LENGTHS)).astype(float)
    weights = rng.uniform(0.5, 2, len(LENGTHS)).repeat(LENGTHS) if weighted else None
    qid = np.arange(len(LENGTHS)).repeat(LENGTHS)
    return sr.Dataset(np.zeros((len(labels), 1)), labels, qid=qid, sample_weight=weights)


def updated(data: sr.Dataset, scores: Floats, metric: str = "ndcg", sigma: float = 1.0) -> tuple[Floats, Floats]:
    grad, hess = np.empty(len(data)), np.empty(len(data))
    SmoothBoostingObjective(sr.metric(metric), sigma).bind(data, random_state=0, n_threads=1).update(scores, grad, hess)
    return grad, hess


@pytest.mark.parametrize("metric", ["ndcg@3", "map", "err"])
def test_gradient_is_that_of_the_smooth_metric_of_silverman_widths(metric: str) -> None:
    data, step = queries(0, weighted=True), 1e-6
    scores = np.random.default_rng(1).normal(size=len(data))
    bound = SmoothObjective(sr.metric(metric)).bind(data, random_state=0, n_threads=1)
    squares = [
        ((scores[a:b] - scores[a:b].mean()) ** 2).sum() for a, b in zip(data.indptr, data.indptr[1:], strict=False)
    ]
    deviation = np.sqrt(sum(squares) / len(data))
    assert deviation_within_lists(scores, data.indptr) == pytest.approx(deviation)

    def cost(at: Floats, query: int) -> float:
        bandwidth = 1.06 * deviation * LENGTHS[query] ** -0.2
        smooth = replace(bound, smoothing_factor=0.5 * 2 * bandwidth**2)
        return float(smooth.update(at, np.empty(len(data)), np.empty(len(data)))[query])

    grad, hess = updated(data, scores, metric, sigma=0.5)
    for query, (a, b) in enumerate(zip(data.indptr, data.indptr[1:], strict=False)):
        for i in range(a, b):
            move = np.zeros(len(data))
            move[i] = step
            slope = (cost(scores + move, query) - cost(scores - move, query)) / (2 * step)
            assert grad[i] == pytest.approx(slope, abs=1e-7)
    moving = hess > 0
    assert (moving == (grad != 0)).all()
    widths = (np.sqrt(0.5 * 2) * 1.06 * deviation * np.array(LENGTHS) ** -0.2).repeat(LENGTHS)
    np.testing.assert_allclose(np.abs(grad / np.where(moving, hess, 1.0))[moving], widths[moving])


def test_steps_grow_with_the_scores() -> None:
    """Lemma 1 of the paper, for trees: their scores may grow as they like, and nothing else changes."""
    data = queries(2)
    scores = np.random.default_rng(2).normal(size=len(data))
    (grad, hess), (larger, flatter) = updated(data, scores), updated(data, 7.0 * scores)
    np.testing.assert_allclose(larger, grad / 7.0, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(flatter, hess / 49.0, rtol=1e-9, atol=1e-12)


def test_equal_scores_step_to_the_gains() -> None:
    data = queries(3)
    gains = 2.0**data.labels - 1
    for scores, length in (
        (np.zeros(len(data)), 1.0),
        (np.r_[np.zeros(5), np.random.default_rng(3).normal(size=24)], None),
    ):
        grad, hess = updated(data, scores)
        expected = (gains[:5] - gains[:5].mean()) / gains.std()
        expected *= length or deviation_within_lists(scores, data.indptr)
        np.testing.assert_allclose(-grad[:5] / hess[:5], expected)
        assert grad[5] == pytest.approx(0, abs=1e-100)  # A list of one document has no order.


def test_lists_without_an_order_and_queries_not_taken_do_not_push() -> None:
    data = sr.Dataset(np.zeros((6, 1)), [1, 1, 0, 2, 0, 1], qid=[1, 1, 2, 2, 3, 3])
    bound = SmoothBoostingObjective(sr.metric("ndcg")).bind(data, random_state=0, n_threads=1)
    grad, hess = np.empty(6), np.empty(6)
    bound.update(np.zeros(6), grad, hess, np.array([True, True, False]))
    assert grad[[0, 1, 4, 5]].tolist() == hess[[0, 1, 4, 5]].tolist() == [0, 0, 0, 0]
    assert grad[2] > 0 > grad[3]


def test_equal_scores_have_no_deviation_whatever_their_rounding() -> None:
    indptr = np.array([0, 47, 47, 94])
    for value in (0.1, 1e9 + 0.3, -7.7):
        assert deviation_within_lists(np.full(94, value), indptr) == 0.0
    levels = np.repeat([0.1, 0.7], 47)
    assert deviation_within_lists(levels, indptr) == 0.0
    assert deviation_within_lists(np.empty(0), np.array([0])) == 0.0
