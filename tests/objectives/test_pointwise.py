import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.pointwise import Loss, PointwiseObjective


def data() -> sr.Dataset:
    rng = np.random.default_rng(0)
    return sr.Dataset(np.zeros((30, 1)), rng.integers(0, 3, 30), qid=np.arange(30) // 5, sample_weight=rng.random(30))


def losses(loss: Loss, labels: Floats, scores: Floats, sigma: float) -> Floats:
    if loss == "squared":
        return (scores - labels) ** 2 / 2
    y = np.where(labels > 0, 1, -1)
    value = np.logaddexp(0, -2 * y * sigma * scores)
    if loss == "balanced_logistic":
        # [Burges2010, 6.1]: 1/n_+ and 1/n_-, here scaled to a mean of 1.
        value = value * np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum()) * len(y) / 2
    return value


@pytest.mark.parametrize("loss", ["squared", "logistic", "balanced_logistic"])
def test_gradients_are_the_slopes_of_the_loss(loss: Loss) -> None:
    set_, scores, step = data(), np.random.default_rng(1).normal(size=30), 1e-4
    grad, hess = np.empty(30), np.empty(30)
    PointwiseObjective(loss, sigma=1.3).bind(set_, random_state=0, n_threads=1).update(scores, grad, hess)
    assert set_.sample_weight is not None
    up, here, down = (losses(loss, set_.labels, scores + move, 1.3) for move in (step, 0, -step))
    np.testing.assert_allclose(grad, set_.sample_weight * (up - down) / (2 * step), atol=1e-6)
    np.testing.assert_allclose(hess, set_.sample_weight * (up - 2 * here + down) / step**2, atol=1e-5)


def test_newton_step_of_the_logistic_loss_is_the_papers() -> None:
    # [Burges2010, section 6]: sum y~ / sum |y~| (2 sigma - |y~|) with y~ = 2 y sigma / (1 + exp(2 y sigma F)).
    labels, scores, sigma = np.array([1.0, 1.0, 0.0]), np.array([0.3, -0.2, 0.5]), 1.5
    grad, hess = np.empty(3), np.empty(3)
    bound = PointwiseObjective("logistic", sigma).bind(
        sr.Dataset(np.zeros((3, 1)), labels, qid=[1, 1, 1]), random_state=0, n_threads=1
    )
    bound.update(scores, grad, hess)
    y = np.array([1, 1, -1])
    response = 2 * y * sigma / (1 + np.exp(2 * y * sigma * scores))
    paper = response.sum() / (np.abs(response) * (2 * sigma - np.abs(response))).sum()
    assert -grad.sum() / hess.sum() == pytest.approx(paper)


def test_one_class_cannot_be_distinguished() -> None:
    one = sr.Dataset(np.zeros((2, 1)), [0, 0], qid=[1, 1])
    with pytest.raises(sr.errors.DataError, match="the logistic loss needs labels above 0 and labels that are not"):
        PointwiseObjective("logistic").bind(one, random_state=0, n_threads=1)
