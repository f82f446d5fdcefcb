"""Nonlinear conjugate gradients with the Polak-Ribière update [Shewchuk 1994; Nocedal & Wright 2006, chapters 3 and 5].

SciPy's version is not thread-safe: its line search changes Python's warning filters, which all threads share.
"""

from __future__ import annotations

from collections.abc import Callable
from math import frexp
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats

Cost = Callable[[Floats], tuple[float, Floats]]

_DECREASE, _CURVATURE = 1e-4, 0.4
"""The constants c1 and c2 of the strong Wolfe conditions."""
_MIN_DECREASE = 1e-13
"""Relative; a smaller decrease of the cost is rounding error, and ends the search."""
_MAX_TRIALS = 20
"""Of a line search, which then returns the best point so far."""
_EXTENSION = 3.0
"""If the cost still falls at the end of a step, the next trial is this many times as long."""


class Point(NamedTuple):
    """A point on the search line: the step to it, the cost there, the slope along the line, and the gradient."""

    step: float
    cost: float
    slope: float
    gradient: Floats


def conjugate_gradients(cost: Cost, start: Floats, max_iterations: int, least_slope: float) -> Floats:
    """The parameters with the lowest cost, or those after `max_iterations`.

    >>> import numpy as np
    >>> from swaprank.smoothrank.conjugate_gradients import conjugate_gradients
    >>> def bowl(x):
    ...     return float(x[0] ** 2 + 10 * (x[1] - 1) ** 2), np.array([2 * x[0], 20 * (x[1] - 1)])
    >>> conjugate_gradients(bowl, np.array([3.0, -2.0]), max_iterations=20, least_slope=1e-9).round(6) + 0.0
    array([0., 1.])
    """
    at = start
    value, gradient = cost(at)
    direction, slope = -gradient, -float(gradient @ gradient)
    step = _first_step(slope)
    for _ in range(max_iterations):
        if not np.abs(gradient).max(initial=0.0) > least_slope:
            break
        found = _line_search(cost, at, direction, Point(0.0, value, slope, gradient), step)
        steepest = -float(gradient @ gradient)
        if found.step == 0.0:
            if slope == steepest:
                break
            direction, slope, step = -gradient, steepest, _first_step(steepest)
            continue
        at = at + found.step * direction
        if value - found.cost <= _MIN_DECREASE * max(abs(value), 1.0):
            break
        # The first trial of the next step expects the same decrease as this one.
        expected = found.step * slope
        beta = max(0.0, float(found.gradient @ (gradient - found.gradient)) / steepest)
        value, gradient = found.cost, found.gradient
        direction = beta * direction - gradient
        slope = float(gradient @ direction)
        if slope >= 0.0:
            direction, slope = -gradient, -float(gradient @ gradient)
        step = expected / slope if slope < 0.0 else 0.0
    return at


def _first_step(slope: float) -> float:
    return 1.0 / max(float(np.sqrt(-slope)), 1.0)


def _line_search(cost: Cost, at: Floats, direction: Floats, here: Point, step: float) -> Point:
    """A point that satisfies the strong Wolfe conditions, or else the best point found; `here` if none is better."""

    def point_at(step: float) -> Point:
        value, gradient = cost(at + step * direction)
        with np.errstate(over="ignore", invalid="ignore"):
            slope = float(gradient @ direction)
        return Point(step, value if np.isfinite(value) else np.inf, slope, gradient)

    low, high = here, None
    for _ in range(_MAX_TRIALS):
        trial = point_at(step if high is None else _between(low, high))
        decreased = trial.cost <= here.cost + _DECREASE * trial.step * here.slope
        if not decreased or (low is not here and trial.cost >= low.cost):
            high = trial
        elif abs(trial.slope) <= -_CURVATURE * here.slope:
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
