"""Minimization of a smooth cost: conjugate gradients and L-BFGS, with one line search [Nocedal2006].

SciPy's line search is not thread-safe: it changes Python's warning filters, which all threads share. And its optimizers
use BLAS, whose last bits depend on the CPU.
"""

from collections import deque
from collections.abc import Callable
from math import frexp
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats
from swaprank.lanes import dot

Cost = Callable[[Floats], tuple[float, Floats]]

MIN_DECREASE = 1e-13
"""Relative; a smaller decrease of the cost is rounding error, and ends the search."""
_DECREASE = 1e-4
"""The constant c1 of the strong Wolfe conditions."""
_MAX_TRIALS = 20
"""Trials of a line search, which then returns the best point so far."""
_EXTENSION = 3.0
"""If the cost still falls at the end of a step, the next trial is this many times as long."""
_MEMORY = 10
"""The number of steps that L-BFGS remembers."""


class Point(NamedTuple):
    """A point on the search line: the step to it, the cost there, the slope along the line, and the gradient."""

    step: float
    cost: float
    slope: float
    gradient: Floats


def first_step(slope: float) -> float:
    """Return the first trial of a search without history: a step of length 1 at most."""
    return 1.0 / max(float(np.sqrt(-slope)), 1.0)


def line_search(cost: Cost, at: Floats, direction: Floats, here: Point, step: float, curvature: float) -> Point:
    """Find a point that satisfies the strong Wolfe conditions, or else the best one, or `here` [chapter 3].

    curvature: c2. A search along a conjugate direction should be exact (0.4), a quasi-Newton step need not be (0.9).
    """

    def point_at(step: float) -> Point:
        value, gradient = cost(at + step * direction)
        with np.errstate(over="ignore", invalid="ignore"):
            slope = dot(gradient, direction)
        return Point(step, value if np.isfinite(value) else np.inf, slope, gradient)

    low, high = here, None
    for _ in range(_MAX_TRIALS):
        trial = point_at(step if high is None else _between(low, high))
        decreased = trial.cost <= here.cost + _DECREASE * trial.step * here.slope
        if not decreased or (low is not here and trial.cost >= low.cost):
            high = trial
        elif abs(trial.slope) <= -curvature * here.slope:
            return trial
        else:
            # The minimum is in the direction in which the cost falls: beyond the trial, or back towards `low`.
            direction_to_high = 1.0 if high is None else high.step - low.step
            if trial.slope * direction_to_high >= 0.0:
                high = low
            low = trial
            step = _EXTENSION * trial.step
        if high is not None and abs(high.step - low.step) <= 1e-10 * max(high.step, low.step):
            break
    return low


def _between(low: Point, high: Point) -> float:
    """The minimum of the cubic interpolation, at least a tenth of the interval away from both ends; else the middle."""
    width = high.step - low.step
    if np.isfinite(high.cost) and width != 0.0:
        fall = 3.0 * (low.cost - high.cost) / (low.step - high.step)
        largest = max(abs(low.slope), abs(high.slope), abs(fall))
        if not largest < np.inf:
            return low.step + 0.5 * width
        # Squares of steep slopes would overflow. Division by a power of two is exact.
        unit = 2.0 ** max(frexp(largest)[1] - 1, -1000)
        low_slope, high_slope = low.slope / unit, high.slope / unit
        a = low_slope + high_slope - fall / unit
        square = a * a - low_slope * high_slope
        if square >= 0.0:
            b = np.copysign(np.sqrt(square), width)
            denominator = high_slope - low_slope + 2.0 * b
            if denominator != 0.0:
                share = 1.0 - (high_slope + b - a) / denominator
                return low.step + float(np.clip(share, 0.1, 0.9)) * width
    return low.step + 0.5 * width


def conjugate_gradients(cost: Cost, start: Floats, max_iterations: int, least_slope: float) -> Floats:
    """Find the parameters with the lowest cost, with the Polak-Ribière update [Shewchuk1994; Nocedal2006, chapter 5].

    >>> import numpy as np
    >>> from swaprank.linear.minimization import conjugate_gradients
    >>> def bowl(x):
    ...     return float(x[0] ** 2 + 10 * (x[1] - 1) ** 2), np.array([2 * x[0], 20 * (x[1] - 1)])
    >>> conjugate_gradients(bowl, np.array([3.0, -2.0]), max_iterations=20, least_slope=1e-9).round(6) + 0.0
    array([0., 1.])
    """
    at = start
    value, gradient = cost(at)
    direction, slope = -gradient, -dot(gradient, gradient)
    step = first_step(slope)
    for _ in range(max_iterations):
        if not np.abs(gradient).max(initial=0.0) > least_slope:
            break
        found = line_search(cost, at, direction, Point(0.0, value, slope, gradient), step, 0.4)
        steepest = -dot(gradient, gradient)
        if found.step == 0.0:
            if slope == steepest:
                break
            direction, slope, step = -gradient, steepest, first_step(steepest)
            continue
        at = at + found.step * direction
        if value - found.cost <= MIN_DECREASE * max(abs(value), 1.0):
            break
        # The first trial of the next step expects the same decrease as this one.
        expected = found.step * slope
        beta = max(0.0, dot(found.gradient, gradient - found.gradient) / steepest)
        value, gradient = found.cost, found.gradient
        direction = beta * direction - gradient
        slope = dot(gradient, direction)
        if slope >= 0.0:
            direction, slope = -gradient, -dot(gradient, gradient)
        step = expected / slope if slope < 0.0 else 0.0
    return at


class _Step(NamedTuple):
    """A step of L-BFGS, the change of the gradient along it, and their product, which is positive."""

    move: Floats
    change: Floats
    product: float


def limited_memory_bfgs(
    cost: Cost, start: Floats, max_iterations: int, least_slope: float, min_decrease: float = MIN_DECREASE
) -> Floats:
    """Find the parameters with the lowest cost, by the inverse hessian that the last few steps show [chapter 7].

    The search ends after `max_iterations`, or after a relative decrease of the cost below `min_decrease`.

    >>> import numpy as np
    >>> from swaprank.linear.minimization import limited_memory_bfgs
    >>> def bowl(x):
    ...     return float(x[0] ** 2 + 10 * (x[1] - 1) ** 2), np.array([2 * x[0], 20 * (x[1] - 1)])
    >>> limited_memory_bfgs(bowl, np.array([3.0, -2.0]), max_iterations=20, least_slope=1e-9).round(6) + 0.0
    array([0., 1.])
    """
    at, steps = start, deque[_Step](maxlen=_MEMORY)
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
            steps.append(_Step(move, change, product))
    return at


def _times_inverse_hessian(gradient: Floats, steps: deque[_Step]) -> Floats:
    """Return the inverse hessian times the gradient, by two loops over the steps; without steps, the gradient."""
    vector, shares = gradient, []
    for step in reversed(steps):
        shares.append(dot(step.move, vector) / step.product)
        vector = vector - shares[-1] * step.change
    if steps:
        vector = vector * (steps[-1].product / dot(steps[-1].change, steps[-1].change))
    for step, share in zip(steps, reversed(shares), strict=True):
        vector = vector + (share - dot(step.change, vector) / step.product) * step.move
    return vector
