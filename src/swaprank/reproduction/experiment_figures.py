"""Figures of experiments, drawn by Matplotlib."""

from pathlib import Path
from typing import Any

from swaprank.rendering.figures import new_axes, save_chart
from swaprank.reproduction.experiment import Chart

_MARKED = 50
"""Lines with more points have no markers."""


def draw_chart(chart: Chart, path: Path) -> None:
    """Draw a chart into a file, in the format of the file name.

    >>> import tempfile
    >>> from importlib.util import find_spec
    >>> from pathlib import Path
    >>> from swaprank.reproduction.experiment_figures import draw_chart
    >>> from swaprank.reproduction.experiment import Chart, Series
    >>> chart = Chart("Squares", "x", "x²", [Series("ours", [1, 2], [1, 4])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     if find_spec("matplotlib"):
    ...         draw_chart(chart, Path(folder, "squares.svg"))
    """
    axes = new_axes()
    for number, series in enumerate(chart.series):
        style: dict[str, Any] = {"marker": "o" if len(series.x) <= _MARKED else None}
        if series.published:
            style = {"linestyle": "--", "marker": "s", "alpha": 0.6}
        if chart.ticks:
            style["linestyle"] = "none"
        axes.errorbar(series.x, series.y, yerr=series.errors, label=series.name, color=f"C{number % 10}", **style)
    axes.set(xscale="log" if chart.log_x else "linear", yscale="log" if chart.log_y else "linear")
    if chart.ticks:
        axes.set_xticks(range(1, len(chart.ticks) + 1), chart.ticks, rotation=60, ha="right")
    save_chart(axes, path, chart.title, chart.x_label, chart.y_label)
