"""Nonlinear conjugate gradients with the Polak-Ribière update [Shewchuk 1994; Nocedal & Wright 2006, chapter 5]."""

import numpy as np

from swaprank.arrays import Floats
from swaprank.lanes import dot
from swaprank.linear.line_search import MIN_DECREASE, Cost, Point, first_step, line_search


def conjugate_gradients(cost: Cost, start: Floats, max_iterations: int, least_slope: float) -> Floats:
    """The parameters with the lowest cost, or those after `max_iterations`.

    >>> import numpy as np
    >>> from swaprank.linear.conjugate_gradients import conjugate_gradients
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
