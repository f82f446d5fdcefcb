"""Nonlinear conjugate gradients with the Polak-Ribière update [Shewchuk 1994; Nocedal & Wright 2006, chapters 3 and 5].

SciPy has them too, but its line search changes Python's warning filters on the way, and these are the whole process's:
candidates that run in threads would meet each other there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import frexp
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats

Cost = Callable[[Floats], tuple[float, Floats]]

_ENOUGH, _FLAT = 1e-4, 0.4
"""A step must lower the cost by this share of what the slope promises, and leave at most this share of the slope."""
_LEAST_GAIN = 1e-13
"""What is less than this is rounding."""
_TRIALS = 20
"""Of a line search, until it takes the best that it has seen."""
_LONGER = 3.0
"""A step after which the cost still falls is tried again, so many times as long."""


class Point(NamedTuple):
    """A place on a line: how far along, the cost there, and its slope along the line."""

    step: float
    cost: float
    slope: float
    gradient: Floats


def conjugate_gradients(cost: Cost, start: Floats, max_iterations: int, least_slope: float) -> Floats:
    """Where the cost is least, or where the iterations end.

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
        if value - found.cost <= _LEAST_GAIN * max(abs(value), 1.0):
            break
        # The next step is expected to gain as much as this one.
        gained = found.step * slope
        beta = max(0.0, float(found.gradient @ (gradient - found.gradient)) / steepest)
        value, gradient = found.cost, found.gradient
        direction = beta * direction - gradient
        slope = float(gradient @ direction)
        if slope >= 0.0:
            direction, slope = -gradient, -float(gradient @ gradient)
        step = gained / slope if slope < 0.0 else 0.0
    return at


def _first_step(slope: float) -> float:
    return 1.0 / max(float(np.sqrt(-slope)), 1.0)


def _line_search(cost: Cost, at: Floats, direction: Floats, here: Point, step: float) -> Point:
    """A step that lowers the cost enough and leaves the line nearly flat; `here` if there is none."""

    def look(step: float) -> Point:
        value, gradient = cost(at + step * direction)
        with np.errstate(over="ignore", invalid="ignore"):
            slope = float(gradient @ direction)
        return Point(step, value if np.isfinite(value) else np.inf, slope, gradient)

    low, high = here, None
    for _ in range(_TRIALS):
        trial = look(step if high is None else _between(low, high))
        enough = trial.cost <= here.cost + _ENOUGH * trial.step * here.slope
        if not enough or (low is not here and trial.cost >= low.cost):
            high = trial
        elif abs(trial.slope) <= -_FLAT * here.slope:
            return trial
        else:
            # The minimum lies on the side to which the cost falls: beyond the trial, or back where `low` was.
            ahead = 1.0 if high is None else high.step - low.step
            if trial.slope * ahead >= 0.0:
                high = low
            low = trial
            step = _LONGER * trial.step
        if high is not None and abs(high.step - low.step) <= 1e-10 * max(high.step, low.step):
            break
    return low


def _between(low: Point, high: Point) -> float:
    """The minimum of the cubic through both points, kept away from either."""
    width = high.step - low.step
    if np.isfinite(high.cost) and width != 0.0:
        fall = 3.0 * (low.cost - high.cost) / (low.step - high.step)
        largest = max(abs(low.slope), abs(high.slope), abs(fall))
        if not largest < np.inf:
            return low.step + 0.5 * width
        # Squares of steep slopes would be too large numbers; by a power of two nothing is rounded.
        unit = 2.0 ** max(frexp(largest)[1] - 1, -1000)
        near, far = low.slope / unit, high.slope / unit
        a = near + far - fall / unit
        square = a * a - near * far
        if square >= 0.0:
            b = np.copysign(np.sqrt(square), width)
            bottom = far - near + 2.0 * b
            if bottom != 0.0:
                share = 1.0 - (far + b - a) / bottom
                return low.step + float(np.clip(share, 0.1, 0.9)) * width
    return low.step + 0.5 * width
