"""Gradient descent steps: plain, with momentum, or Adam.

    sgd        w -= rate g
    momentum   v = 0.9 v + g,   w -= rate v
    adam       m = 0.9 m + 0.1 g,   v = 0.999 v + 0.001 g²,   w -= rate m' / (sqrt(v') + 1e-8)

where m' = m / (1 - 0.9^t) and v' = v / (1 - 0.999^t) after t steps from 0 [Kingma2015].
"""

from typing import Literal, NamedTuple

import numpy as np

from swaprank.arrays import Floats, Reals
from swaprank.elementary import power
from swaprank.kernels import kernel

Optimizer = Literal["sgd", "momentum", "adam"]

OPTIMIZERS: tuple[Optimizer, ...] = ("sgd", "momentum", "adam")
"""The position is the number that kernels use."""

SGD, MOMENTUM, ADAM = range(3)

_MOMENTUM, _MEAN, _SQUARE, _LEAST = 0.9, 0.9, 0.999, 1e-8


class Stepper(NamedTuple):
    """An optimizer and its state, as kernels take them."""

    optimizer: int
    mean: Reals
    square: Reals
    clock: Floats
    """One value: the number of steps so far."""


def make_stepper(optimizer: Optimizer, weights: Reals) -> Stepper:
    """An optimizer in its initial state."""
    number = OPTIMIZERS.index(optimizer)
    none = np.zeros(0, weights.dtype)
    mean = none if number == SGD else np.zeros_like(weights)
    return Stepper(number, mean, np.zeros_like(weights) if number == ADAM else none, np.zeros(1))


@kernel
def step(stepper: Stepper, rate: float, n: int, gradient: Reals, weights: Reals) -> None:
    """Step down the mean of n gradients, given their sum, and set the sum to 0."""
    mean, square = stepper.mean, stepper.square
    real = weights.dtype.type
    if n > 1:
        share = real(1.0 / n)
        for w in range(len(weights)):
            gradient[w] *= share
    stepper.clock[0] += 1.0
    if stepper.optimizer == ADAM:
        t = stepper.clock[0]
        rate /= 1.0 - power(_MEAN, int(t))
        root = np.sqrt(1.0 - power(_SQUARE, int(t)))
        part, keep, part_square, keep_square = real(1 - _MEAN), real(_MEAN), real(1 - _SQUARE), real(_SQUARE)
        length, least = real(rate * root), real(_LEAST * root)
        for w in range(len(weights)):
            mean[w] = keep * mean[w] + part * gradient[w]
            square[w] = keep_square * square[w] + part_square * gradient[w] * gradient[w]
            weights[w] -= length * mean[w] / (np.sqrt(square[w]) + least)
    elif stepper.optimizer == MOMENTUM:
        keep, length = real(_MOMENTUM), real(rate)
        for w in range(len(weights)):
            mean[w] = keep * mean[w] + gradient[w]
            weights[w] -= length * mean[w]
    else:
        length = real(rate)
        for w in range(len(weights)):
            weights[w] -= length * gradient[w]
    gradient[:] = 0.0
