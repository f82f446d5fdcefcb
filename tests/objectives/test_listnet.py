"""ListNet's gradient: that of its cost, the same for shifted scores, without overflow."""

from __future__ import annotations

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from tests.objectives.naive_listnet import listnet_cost

INDPTR = np.array([0, 4, 5, 12, 30])
LABELS = np.random.default_rng(0).integers(0, 4, 30).astype(np.float64)
SCORES = 2 * np.random.default_rng(1).normal(size=30)


def gradients(scores: Floats, n_threads: int = 1, labels: Floats = LABELS) -> tuple[Floats, Floats]:
    data = sr.Dataset(np.zeros((30, 1)), labels, group=np.diff(INDPTR))
    grad, hess = np.empty(30), np.empty(30)
    sr.objectives.ListNetObjective().bind(data, random_state=0, n_threads=n_threads).update(scores, grad, hess)
    return grad, hess


def test_gradient_and_hessian_are_the_slopes_of_the_cost() -> None:
    (grad, hess), step = gradients(SCORES), 1e-4
    for r in range(30):
        up, down = SCORES.copy(), SCORES.copy()
        up[r] += step
        down[r] -= step
        above, here, below = (listnet_cost(LABELS, scores, INDPTR) for scores in (up, SCORES, down))
        assert grad[r] == pytest.approx((above - below) / (2 * step), abs=1e-7)
        # The bound of Newton steps is above the curvature where a document is far from where it should be.
        assert hess[r] == pytest.approx(max((above - 2 * here + below) / step**2, abs(grad[r]) / 100), abs=1e-5)


def test_gradients_sum_to_zero_in_every_query_and_do_not_change_with_a_shift() -> None:
    grad, hess = gradients(SCORES)
    np.testing.assert_allclose(np.add.reduceat(grad, INDPTR[:-1]), 0, atol=1e-15)
    shifted = gradients(SCORES + np.repeat([50.0, -3.0, 1e4, 7.0], np.diff(INDPTR)))
    np.testing.assert_allclose(shifted[0], grad, atol=1e-11)
    np.testing.assert_allclose(shifted[1], hess, atol=1e-11)
    other_labels = gradients(SCORES, labels=LABELS + 1000.0)
    np.testing.assert_allclose(other_labels[0], grad, atol=1e-12)


def test_the_right_distribution_is_the_minimum() -> None:
    np.testing.assert_allclose(gradients(LABELS + 5.0)[0], 0, atol=1e-15)


@pytest.mark.parametrize("size", [1e5, 1e100, 1e308])
def test_large_scores_do_not_overflow(size: float) -> None:
    grad, hess = gradients(size * (SCORES / np.abs(SCORES).max()))
    assert np.isfinite(grad).all()
    assert (hess[INDPTR[2] :] >= np.abs(grad[INDPTR[2] :]) / 100).all()
    best = INDPTR[2] + int(np.argmax(SCORES[INDPTR[2] : INDPTR[3]]))
    labels = LABELS[INDPTR[2] : INDPTR[3]]
    share = np.exp(LABELS[best]) / np.exp(labels).sum()
    assert grad[best] == pytest.approx(1 - share)


def test_the_number_of_threads_does_not_matter() -> None:
    for one, three in zip(gradients(SCORES), gradients(SCORES, n_threads=3), strict=True):
        np.testing.assert_array_equal(one, three)
