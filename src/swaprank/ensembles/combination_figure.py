"""The figure of a combination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.errors import DataError
from swaprank.rendering.figures import axes_for, finish_chart

if TYPE_CHECKING:
    from swaprank.ensembles.combination import Combination

_COLUMNS = 500
"""Horizontal resolution of the step function."""


def plot_combination(combination: Combination, ax: Any = None) -> Any:
    """Plot the metric against alpha, from 0 to 1 or around the best alpha of the whole line."""
    if combination.steps_ is None:
        raise DataError("a loaded combination has no step function to draw: call combine again, and draw the result.")
    axes = axes_for(ax)
    half_width = max(1.0, 2 * abs(combination.alpha_ - 0.5)) if combination.whole_line else 0.5
    axes.plot(*_outline(*combination.steps_.between(0.5 - half_width, 0.5 + half_width)), linewidth=1)
    axes.plot([0.0, 1.0], combination.alone_[::-1], "s", color="C1", label="either ranker alone")
    axes.plot([combination.alpha_], [combination.value_], "o", color="C3", label=f"best: {combination.alpha_:.4g}")
    title = "alpha times the first ranker plus 1 - alpha times the second"
    return finish_chart(axes, title, "alpha", str(combination.metric))


def _outline(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Reduce many points to the lowest and the highest value of every column of the figure."""
    if len(x) <= 2 * _COLUMNS:
        return x, y
    starts = np.unique(np.searchsorted(x, np.linspace(x[0], x[-1], _COLUMNS, endpoint=False)))
    ends = np.stack([np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)], axis=1)
    return np.repeat(x[starts], 2), ends.reshape(-1)
