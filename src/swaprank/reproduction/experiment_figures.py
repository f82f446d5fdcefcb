"""Charts of experiments, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from swaprank.rendering.figures import new_figure, save_figure
from swaprank.reproduction.experiment import Chart

_MARKED = 50
"""Lines of more points than this are drawn without marks."""


def draw(chart: Chart, path: Path) -> None:
    """Draw a chart into a file, in the format that its name ends in.

    >>> import tempfile
    >>> from importlib.util import find_spec
    >>> from pathlib import Path
    >>> from swaprank.reproduction.experiment_figures import draw
    >>> from swaprank.reproduction.experiment import Chart, Series
    >>> chart = Chart("Squares", "x", "x²", [Series("ours", [1, 2], [1, 4])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     if find_spec("matplotlib"):
    ...         draw(chart, Path(folder, "squares.svg"))
    """
    figure, axes = new_figure()
    for number, series in enumerate(chart.series):
        style: dict[str, Any] = {"marker": "o" if len(series.x) <= _MARKED else None}
        if series.published:
            style = {"linestyle": "--", "marker": "s", "alpha": 0.6}
        axes.errorbar(series.x, series.y, yerr=series.errors, label=series.name, color=f"C{number % 10}", **style)
    if chart.log_x:
        axes.set_xscale("log")
    if chart.log_y:
        axes.set_yscale("log")
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    save_figure(figure, path)
