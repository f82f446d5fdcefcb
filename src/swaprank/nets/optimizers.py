"""Steps down a gradient: plain, with momentum, or Adam's.

    sgd        w -= rate g
    momentum   v = 0.9 v + g,   w -= rate v
    adam       m = 0.9 m + 0.1 g,   v = 0.999 v + 0.001 g²,   w -= rate m' / (sqrt(v') + 1e-8)

where m' and v' are m and v over 1 - 0.9^t and 1 - 0.999^t, t steps after they began at 0 [Kingma and Ba 2015].
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from swaprank.arrays import Floats
from swaprank.kernels import kernel
from swaprank.models.layers import Reals

Optimizer = Literal["sgd", "momentum", "adam"]

OPTIMIZERS: tuple[Optimizer, ...] = ("sgd", "momentum", "adam")
"""By number, as kernels know them."""

SGD, MOMENTUM, ADAM = range(3)

_MOMENTUM, _MEAN, _SQUARE, _LEAST = 0.9, 0.9, 0.999, 1e-8


class Stepper(NamedTuple):
    """A rule and what it remembers of earlier gradients, as kernels take it."""

    optimizer: int
    mean: Reals
    square: Reals
    clock: Floats
    """One value: the steps taken so far."""


def make_stepper(optimizer: Optimizer, weights: Reals) -> Stepper:
    """A rule that remembers nothing yet."""
    number = OPTIMIZERS.index(optimizer)
    none = np.zeros(0, weights.dtype)
    mean = none if number == SGD else np.zeros_like(weights)
    return Stepper(number, mean, np.zeros_like(weights) if number == ADAM else none, np.zeros(1))


@kernel
def step(stepper: Stepper, rate: float, n: int, gradient: Reals, weights: Reals) -> None:
    """Move the weights down the mean of the n gradients that were added up, and set their sum back to 0."""
    mean, square = stepper.mean, stepper.square
    real = weights.dtype.type
    if n > 1:
        share = real(1.0 / n)
        for w in range(len(weights)):
            gradient[w] *= share
    stepper.clock[0] += 1.0
    if stepper.optimizer == ADAM:
        t = stepper.clock[0]
        rate /= 1.0 - np.exp(t * np.log(_MEAN))
        root = np.sqrt(1.0 - np.exp(t * np.log(_SQUARE)))
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
