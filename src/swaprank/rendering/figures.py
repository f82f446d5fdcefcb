"""Figures drawn by Matplotlib: files, axes, and charts with one named row per value.

Matplotlib draws the files that people put into papers (SVG, PNG, PDF); `reporting/plots.py` writes the charts of the
HTML report as SVG by itself, because the report needs no extra package, has tooltips, and follows light and dark mode.
"""

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.errors import MissingExtraError, ParameterError
from swaprank.files import replacing, writable_target

SUFFIXES = (".svg", ".png", ".pdf")
_LONGEST_NAME = 40


def check_drawing(path: Path | None = None) -> None:
    """Raise an error if Matplotlib is missing or the file cannot be written. Call it before long work.

    >>> from pathlib import Path
    >>> from swaprank.rendering.figures import check_drawing
    >>> check_drawing(Path("metric.bmp"))
    Traceback (most recent call last):
    swaprank.errors.ParameterError: metric.bmp: the file name of a figure must end in .svg, .png or .pdf.
    """
    if path is not None:
        if path.suffix.lower() not in SUFFIXES:
            raise ParameterError(f"{path}: the file name of a figure must end in .svg, .png or .pdf.")
        writable_target(path)
    if find_spec("matplotlib") is None:
        raise MissingExtraError('drawing needs Matplotlib: pip install "swaprank[plots]".')


def new_axes(width: float = 7.0, height: float = 4.5) -> Any:
    """The axes of a new, empty figure for a file, which no window or notebook shows."""
    check_drawing()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def axes_for(ax: Any, width: float = 7.0, height: float = 4.5) -> Any:
    """The given axes; or those of a new figure, which notebooks and `matplotlib.pyplot.show` show.

    >>> from importlib.util import find_spec
    >>> from swaprank.rendering.figures import axes_for, new_axes
    >>> axes = new_axes() if find_spec("matplotlib") else None
    >>> axes is None or axes_for(axes) is axes
    True
    """
    check_drawing()
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    if ax is None:
        return pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise ParameterError(f"ax must be Matplotlib axes, such as pyplot.gca(); found {type(ax).__name__}.")
    return ax


def as_written(text: str) -> str:
    r"""A text for Matplotlib, which would typeset what stands between two dollar signs.

    >>> from swaprank.rendering.figures import as_written
    >>> print(as_written("5$ to 10$"))
    5\$ to 10\$
    """
    return text.replace("$", r"\$")


def finish_chart(axes: Any, title: str, x_label: str, y_label: str) -> Any:
    """Add titles, grid and legend to a chart."""
    axes.set(title=as_written(title), xlabel=as_written(x_label), ylabel=as_written(y_label))
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    return axes


def save_figure(axes: Any, path: Path) -> None:
    """Write the figure of the axes in the format of the file name; the same figure gives the same bytes."""
    from matplotlib import rc_context

    kind = path.suffix.lower().removeprefix(".")
    with rc_context({"svg.hashsalt": "swaprank", "svg.fonttype": "none"}), replacing(path) as stream:
        axes.figure.savefig(stream, format=kind, metadata={"Date": None} if kind == "svg" else None)


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

    >>> from swaprank.rendering.figures import shortened
    >>> shortened("x" * 50) == "x" * 39 + "…"
    True
    """
    return as_written(name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…")
