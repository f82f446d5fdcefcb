from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from swaprank.arrays import Floats
from swaprank.nets.optimizers import OPTIMIZERS, Optimizer, make_stepper, step


def naive_path(optimizer: Optimizer, gradients: Floats, rate: float) -> Floats:
    """Where the rule goes from 0, written as its papers have it."""
    n_steps, n = gradients.shape
    w, v, m, s = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    for t in range(1, n_steps + 1):
        g = gradients[t - 1]
        if optimizer == "sgd":
            w -= rate * g
        elif optimizer == "momentum":
            v = 0.9 * v + g
            w -= rate * v
        else:
            m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g**2
            w -= rate * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - 0.999**t)) + 1e-8)
    return w


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_are_those_of_the_papers(optimizer: Optimizer) -> None:
    gradients = np.random.default_rng(0).normal(size=(20, 7))
    precisions: list[tuple[Any, float]] = [(np.float64, 1e-12), (np.float32, 1e-4)]
    for dtype, tolerance in precisions:
        weights = np.zeros(7, dtype)
        stepper = make_stepper(optimizer, weights)
        for given in gradients:
            gradient = given.astype(dtype)
            step(stepper, 0.01, 1, gradient, weights)
            assert (gradient == 0).all()
        np.testing.assert_allclose(
            weights, naive_path(optimizer, gradients, 0.01), rtol=tolerance, atol=tolerance / 100
        )
        assert stepper.clock[0] == 20


def test_adams_first_step_is_the_learning_rate() -> None:
    weights = np.zeros(3)
    step(make_stepper("adam", weights), 0.01, 1, np.array([1e-3, -5.0, 0.0]), weights)
    np.testing.assert_allclose(weights, [-0.01, 0.01, 0.0], rtol=1e-4)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_step_goes_down_the_mean_of_a_batch(optimizer: Optimizer) -> None:
    one, four = np.zeros(2), np.zeros(2)
    first, second = make_stepper(optimizer, one), make_stepper(optimizer, four)
    for gradient in np.random.default_rng(2).normal(size=(5, 2)):
        step(first, 0.01, 1, gradient.copy(), one)
        step(second, 0.01, 4, 4 * gradient, four)
    np.testing.assert_allclose(one, four, rtol=1e-12)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_are_pytorchs(optimizer: Optimizer) -> None:
    torch = pytest.importorskip("torch")
    gradients = np.random.default_rng(1).normal(size=(10, 5))
    w = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    kinds = {
        "sgd": lambda: torch.optim.SGD([w], lr=0.01),
        "momentum": lambda: torch.optim.SGD([w], lr=0.01, momentum=0.9),
        "adam": lambda: torch.optim.Adam([w], lr=0.01),
    }
    theirs, weights = kinds[optimizer](), np.zeros(5)
    stepper = make_stepper(optimizer, weights)
    for gradient in gradients:
        w.grad = torch.tensor(gradient)
        theirs.step()
        step(stepper, 0.01, 1, gradient.copy(), weights)
    np.testing.assert_allclose(weights, w.detach().numpy(), rtol=1e-9)
