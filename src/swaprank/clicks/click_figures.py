"""Pictures of click logs and of position bias, drawn by Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.rendering.charts import whole_numbers
from swaprank.rendering.figures import axes_for, finish_chart

if TYPE_CHECKING:
    from swaprank.clicks.log_summary import LogSummary
    from swaprank.clicks.propensities import Propensities


def plot_click_rates(summary: LogSummary, ax: Any = None) -> Any:
    """The click rate at each position."""
    axes = axes_for(ax)
    positions = np.arange(1, len(summary.shown) + 1)
    axes.bar(positions, summary.click_rate, color="C0", label="clicks per shown document")
    whole_numbers(axes)
    moved = f"{summary.n_moved:,} of {summary.n_documents:,} documents changed places"
    return finish_chart(axes, f"{summary.n_sessions:,} sessions; {moved}", "position", "click rate")


def plot_propensities(propensities: Propensities, ax: Any = None) -> Any:
    """The examination at each position with its 95% interval; with trust bias, alpha and beta too."""
    axes = axes_for(ax)
    positions = np.arange(1, propensities.n_positions + 1)
    axes.plot(positions, propensities.examination, "o-", color="C0", label="examination")
    if propensities.low is not None and propensities.high is not None:
        axes.fill_between(positions, propensities.low, propensities.high, color="C0", alpha=0.25, label="95% interval")
    if propensities.epsilon_plus is not None:
        axes.plot(positions, propensities.alpha, "s--", color="C1", label="alpha: more clicks if relevant")
        axes.plot(positions, propensities.beta, "^--", color="C2", label="beta: clicks if not relevant")
    axes.set_ylim(bottom=0.0)
    whole_numbers(axes)
    return finish_chart(axes, "Position bias", "position", "relative to examination at position 1")
