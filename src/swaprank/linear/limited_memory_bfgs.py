"""L-BFGS: steps by the inverse hessian, as the last few steps show it [Nocedal & Wright 2006, chapter 7]."""

from collections import deque
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats
from swaprank.lanes import dot
from swaprank.linear.line_search import MIN_DECREASE, Cost, Point, first_step, line_search

_MEMORY = 10
"""Number of steps that are remembered."""


class Step(NamedTuple):
    """A step, the change of the gradient along it, and their product, which is positive."""

    move: Floats
    change: Floats
    product: float


def limited_memory_bfgs(
    cost: Cost, start: Floats, max_iterations: int, least_slope: float, min_decrease: float = MIN_DECREASE
) -> Floats:
    """The parameters with the lowest cost, or those after `max_iterations` or a relative decrease below `min_decrease`.

    >>> import numpy as np
    >>> from swaprank.linear.limited_memory_bfgs import limited_memory_bfgs
    >>> def bowl(x):
    ...     return float(x[0] ** 2 + 10 * (x[1] - 1) ** 2), np.array([2 * x[0], 20 * (x[1] - 1)])
    >>> limited_memory_bfgs(bowl, np.array([3.0, -2.0]), max_iterations=20, least_slope=1e-9).round(6) + 0.0
    array([0., 1.])
    """
    at, steps = start, deque[Step](maxlen=_MEMORY)
    value, gradient = cost(at)
    for _ in range(max_iterations):
        if not np.abs(gradient).max(initial=0.0) > least_slope:
            break
        direction = -_times_inverse_hessian(gradient, steps)
        slope = dot(gradient, direction)
        step = 1.0 if steps else first_step(slope)
        found = line_search(cost, at, direction, Point(0.0, value, slope, gradient), step, 0.9)
        if found.step == 0.0:
            if not steps:
                break
            steps.clear()
            continue
        move, change = found.step * direction, found.gradient - gradient
        decrease, value, gradient = value - found.cost, found.cost, found.gradient
        at = at + move
        if decrease <= min_decrease * max(abs(value), 1.0):
            break
        product = dot(move, change)
        if product > 0.0:
            steps.append(Step(move, change, product))
    return at


def _times_inverse_hessian(gradient: Floats, steps: deque[Step]) -> Floats:
    """The two loops of the recursion; without steps, the gradient itself."""
    vector, shares = gradient, []
    for step in reversed(steps):
        shares.append(dot(step.move, vector) / step.product)
        vector = vector - shares[-1] * step.change
    if steps:
        vector = vector * (steps[-1].product / dot(steps[-1].change, steps[-1].change))
    for step, share in zip(steps, reversed(shares), strict=True):
        vector = vector + (share - dot(step.change, vector) / step.product) * step.move
    return vector
