"""The parts of an experiment: settings, and an outcome with a text table and a chart that Matplotlib draws."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from swaprank.rendering.figures import finish_chart, new_axes, save_figure
from swaprank.rendering.result import plain

Log = Callable[[str], object]
"""Called with one line of text after every finished step."""
_MARKED = 50
"""Lines with more points have no markers."""


class Settings(NamedTuple):
    """The settings of an experiment."""

    quick: bool = False
    """Use less data; results are less precise."""
    random_state: int = 0
    data: Path | None = None
    """The folder of a data set, for experiments that need one or can use one."""
    output: Path | None = None
    """The folder of models and results, for experiments that can resume."""


class Series(NamedTuple):
    """One line of a chart."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    errors: Sequence[float] | None = None
    published: bool = False
    """True if the numbers are those of the paper."""


class Chart(NamedTuple):
    """A line chart."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    ticks: Sequence[str] = ()
    """The names of 1, 2, … on the x axis, if these are not numbers; points are then not connected."""


class Outcome(NamedTuple):
    """The result of an experiment."""

    text: str
    chart: Chart


class Experiment(NamedTuple):
    """One experiment of a paper."""

    name: str
    source: str
    """The paper, and the table or figure in it."""
    run: Callable[[Settings, Log], Outcome]
    takes_data: bool = False
    """True if it can use a folder of data."""
    takes_output: bool = False
    """True if it keeps what it has trained, and resumes from there."""


def outcome_values(experiment: Experiment, outcome: Outcome) -> dict[str, Any]:
    """An outcome as plain values for JSON.

    >>> from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, outcome_values
    >>> outcome = Outcome("a table", Chart("Squares", "x", "x²", [Series("ours", [1, 2], [1, 4])]))
    >>> outcome_values(Experiment("squares", "a book", lambda settings, log: outcome), outcome)["chart"]["series"]
    [{'name': 'ours', 'x': [1.0, 2.0], 'y': [1.0, 4.0], 'errors': None, 'published': False}]
    """

    def numbers(values: Sequence[float] | None) -> list[float | None] | None:
        return None if values is None else [plain(float(value)) for value in values]

    series = [
        {**line._asdict(), "x": numbers(line.x), "y": numbers(line.y), "errors": numbers(line.errors)}
        for line in outcome.chart.series
    ]
    chart = {**outcome.chart._asdict(), "series": series}
    return {"experiment": experiment.name, "source": experiment.source, "text": outcome.text, "chart": chart}


def draw_chart(chart: Chart, path: Path) -> None:
    """Draw a chart into a file, in the format of the file name.

    >>> import tempfile
    >>> from importlib.util import find_spec
    >>> from pathlib import Path
    >>> from swaprank.reproduction.experiment import Chart, Series, draw_chart
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
    save_figure(finish_chart(axes, chart.title, chart.x_label, chart.y_label), path)
