"""The summary plot of contributions: one row per feature, one point per document."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from swaprank.arrays import Features, Floats, Ints
from swaprank.errors import THE_DATA, DataError
from swaprank.rendering.figures import axes_for

_LOW, _MISSING, _HIGH = "#2c6fbb", "#a0a0a0", "#d1285b"
_HEIGHT = 0.42
"""Of a swarm above and below its line; the lines of the features are 1 apart."""
_BINS, _FULL_BIN = 120, 25
"""A swarm has its full height where a bin of the horizontal axis has at least so many points."""
_MOST_POINTS = 3000
"""Documents drawn, evenly spaced; more points only hide each other."""


def plot_contributions(
    shares: Floats, features: Features, names: Sequence[str], n_features: int, ax: Any = None
) -> Any:
    """Draw the features with the largest mean absolute contributions, and return the axes.

    The color of a point is the rank of the document's feature value among all documents: blue is low, red is high, grey
    is missing or a category.
    """
    if len(shares) == 0:
        raise DataError(THE_DATA, " has no rows, and so no contributions to draw.")
    from matplotlib.colors import LinearSegmentedColormap

    step = -(-len(shares) // _MOST_POINTS)
    shares, features = shares[::step], features[::step]
    order = np.argsort(-np.abs(shares).mean(axis=0), kind="stable")[:n_features]
    axes = axes_for(ax, 7.0, 1.2 + 0.38 * len(order))
    low, high = float(shares[:, order].min()), float(shares[:, order].max())
    colors = LinearSegmentedColormap.from_list("low to high", [_LOW, _HIGH])
    axes.axvline(0.0, color=_MISSING, linewidth=0.8, zorder=0)
    points = None
    for row, f in enumerate(order):
        x, ranks = shares[:, f], value_ranks(features[:, f])
        y = row + _HEIGHT * swarm(x, low, high)
        known = ~np.isnan(ranks)
        style = {"s": 7, "linewidths": 0, "rasterized": True}
        axes.scatter(x[~known], y[~known], color=_MISSING, **style)
        points = axes.scatter(x[known], y[known], c=ranks[known], cmap=colors, vmin=0.0, vmax=1.0, **style)
    axes.set(ylim=(len(order) - 0.4, -0.6), xlabel="contribution to the score")
    axes.set_yticks(range(len(order)), [str(names[f]) for f in order])
    axes.grid(visible=True, axis="y", alpha=0.25)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    bar = axes.figure.colorbar(points, ax=axes, aspect=40, pad=0.02, label="value of the feature")
    bar.set_ticks([0.0, 1.0], labels=["low", "high"])
    bar.outline.set_visible(False)
    return axes


def value_ranks(values: Features) -> Floats:
    """The rank of each value among the others, from 0 to 1, 0.5 if all are equal; NaN where the value is missing.

    >>> import numpy as np
    >>> from swaprank.rankers.contribution_plot import value_ranks
    >>> value_ranks(np.array([7, np.nan, 3, 7, 5], np.float32)).tolist()
    [1.0, nan, 0.0, 1.0, 0.5]
    """
    known = ~np.isnan(values)
    ranks = np.full(len(values), np.nan)
    distinct, place = np.unique(values[known], return_inverse=True)
    ranks[known] = place / (len(distinct) - 1) if len(distinct) > 1 else 0.5
    return ranks


def swarm(x: Floats, low: float, high: float) -> Floats:
    """Heights from -1 to 1 that keep the points of a bin apart: alternately above and below the line.

    >>> import numpy as np
    >>> from swaprank.rankers.contribution_plot import swarm
    >>> swarm(np.array([0.5, 0.5, 0.9, 0.5]), 0.0, 1.0).tolist()
    [0.0, 0.08, 0.0, -0.08]
    """
    bins: Ints = np.floor((x - low) / ((high - low) or 1.0) * (_BINS - 1)).astype(np.int64)
    order = np.argsort(bins, kind="stable")
    starts = np.searchsorted(bins[order], np.arange(_BINS))
    position = np.empty(len(x), np.int64)
    position[order] = np.arange(len(x)) - starts[bins[order]]
    heights = (position + 1) // 2 * np.where(position % 2 == 1, 1, -1)
    return heights / max(_FULL_BIN / 2, float(np.abs(heights).max(initial=0)))
