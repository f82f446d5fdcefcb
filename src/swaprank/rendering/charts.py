"""Charts with one named row per value, from top to bottom: intervals and bars."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.rendering.figures import as_written

_LONGEST_NAME = 40


def chart_height(n_rows: int, per_row: float = 0.3) -> float:
    """The height of a figure with so many rows, in inches."""
    return 1.4 + per_row * n_rows


def name_rows(axes: Any, names: Sequence[str]) -> Floats:
    """Name the rows, and return their heights on the y axis: the first is at the top."""
    places = np.arange(len(names), dtype=np.float64)[::-1]
    axes.set_yticks(places, [shortened(name) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(visible=True, axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    return places


def draw_interval(axes: Any, place: float, value: float, interval: tuple[float, float], color: str) -> None:
    """A dot with its interval; without one if it is NaN."""
    if np.isfinite(interval).all():
        axes.plot(interval, [place, place], color=color, linewidth=2, solid_capstyle="butt")
    axes.plot([value], [place], "o", color=color)


def write_right(axes: Any, places: Floats, texts: Iterable[str]) -> None:
    """A text to the right of each row."""
    for place, text in zip(places, texts, strict=True):
        axes.annotate(
            text, (1.0, place), (6, 0), xycoords=("axes fraction", "data"), textcoords="offset points", va="center"
        )


def whole_numbers(axes: Any) -> None:
    """Only whole numbers on the x axis, as for rounds and trials."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True, steps=[1, 2, 5, 10]))


def shortened(name: str) -> str:
    """A name that fits next to a chart.

    >>> from swaprank.rendering.charts import shortened
    >>> shortened("x" * 50) == "x" * 39 + "…"
    True
    """
    return as_written(name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…")
