"""A line search for the strong Wolfe conditions [Nocedal & Wright 2006, chapter 3].

SciPy's is not thread-safe: it changes Python's warning filters, which all threads share. And its optimizers use BLAS,
whose last bits depend on the CPU.
"""

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
"""Of a line search, which then returns the best point so far."""
_EXTENSION = 3.0
"""If the cost still falls at the end of a step, the next trial is this many times as long."""


class Point(NamedTuple):
    """A point on the search line: the step to it, the cost there, the slope along the line, and the gradient."""

    step: float
    cost: float
    slope: float
    gradient: Floats


def first_step(slope: float) -> float:
    """The first trial of a search without history: at most of length 1."""
    return 1.0 / max(float(np.sqrt(-slope)), 1.0)


def line_search(cost: Cost, at: Floats, direction: Floats, here: Point, step: float, curvature: float) -> Point:
    """A point that satisfies the strong Wolfe conditions, or else the best point found; `here` if none is better.

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
