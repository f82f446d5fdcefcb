"""Pictures of evaluations and comparisons, drawn by Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.rendering.charts import chart_height, draw_interval, name_rows, shortened, write_right
from swaprank.rendering.figures import axes_for
from swaprank.rendering.text_tables import decimals

if TYPE_CHECKING:
    from swaprank.evaluation.compare import Comparison, Difference
    from swaprank.evaluation.evaluate import Evaluation

_BINS = 25
_TALLEST = 0.7
"""Height of the tallest bin of a histogram; rows are 1 apart."""
_BETTER, _WORSE, _UNSURE = "C0", "C1", "0.5"


def plot_evaluation(evaluation: Evaluation, ax: Any = None) -> Any:
    """The mean of each metric with its 95% interval, over a histogram of its values per query."""
    results = evaluation.results
    axes = axes_for(ax, 7.0, chart_height(len(results), 0.7))
    places = name_rows(axes, [str(result.metric) for result in results])
    values = [result.per_query[~np.isnan(result.per_query)] for result in results]
    together = np.concatenate([[0.0, 1.0], *values])
    edges = np.linspace(together.min(), together.max(), _BINS + 1)
    for place, result, kept in zip(places, results, values, strict=True):
        counts = np.histogram(kept, edges)[0]
        heights = _TALLEST * counts / max(counts.max(), 1)
        axes.bar(edges[:-1], heights, np.diff(edges), place, align="edge", color="C0", alpha=0.25)
        draw_interval(axes, place, result.mean, result.interval, "C0")
    write_right(axes, places, (decimals(result.mean) for result in results))
    axes.set(xlabel="mean with 95% interval, and histogram of the queries", ylim=(-0.3, len(results) - 0.1))
    return axes


def plot_comparison(comparison: Comparison, ax: Any = None) -> Any:
    """The difference of each ranking and metric to the baseline with its 95% interval."""
    rows = comparison.differences
    axes = axes_for(ax, 7.0, chart_height(len(rows), 0.4))
    one_metric, one_system = (len({getattr(row, name) for row in rows}) == 1 for name in ("metric", "system"))
    names = [row.system if one_metric else row.metric if one_system else f"{row.system}, {row.metric}" for row in rows]
    places = name_rows(axes, names)
    axes.axvline(0.0, color="0.5", linewidth=1)
    for place, row in zip(places, rows, strict=True):
        draw_interval(axes, place, row.difference, (row.low, row.high), _color(row))
    write_right(axes, places, (f"{row.wins:,} / {row.ties:,} / {row.losses:,}" for row in rows))
    what = f"{shortened(rows[0].metric)}: difference" if one_metric else "difference"
    luck = "; gray: may be luck" if any(_color(row) == _UNSURE for row in rows) else ""
    axes.set(xlabel=f"{what} to {shortened(rows[0].baseline)}, with 95% interval{luck}", ylim=(-0.6, len(rows) - 0.4))
    axes.set_title("wins / ties / losses", loc="right", fontsize="medium")
    if one_system and not one_metric:
        axes.set_title(shortened(rows[0].system), loc="left", fontsize="medium")
    return axes


def _color(row: Difference) -> str:
    if not row.is_significant:
        return _UNSURE
    return _BETTER if row.difference > 0 else _WORSE
