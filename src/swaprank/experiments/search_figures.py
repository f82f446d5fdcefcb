"""Pictures of cross-validation and tuning, drawn by Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.errors import ParameterError, did_you_mean
from swaprank.rendering.charts import shortened, whole_numbers
from swaprank.rendering.figures import axes_for, finish_chart

if TYPE_CHECKING:
    from swaprank.experiments.cross_validation_result import CrossValidation
    from swaprank.experiments.tuning_result import Trial, Tuning

_WIDE_RANGE = 50
"""Positive numbers whose largest is so many times their smallest are drawn on a logarithmic axis."""


def plot_cross_validation(result: CrossValidation, ax: Any, metric: str) -> Any:
    """A line per ranker through its folds, and a dashed line at their mean."""
    axes = axes_for(ax)
    folds = range(len(result.fold_names))
    for at, name in enumerate(result.folds):
        mean, color = result.mean(name, metric), f"C{at % 10}"
        label = f"{shortened(name)}: {mean:.4f}"
        axes.plot(folds, result.per_fold(name, metric), marker="o", color=color, label=label)
        axes.axhline(mean, color=color, linestyle="--", linewidth=1)
    axes.set_xticks(folds, [shortened(name) for name in result.fold_names])
    return finish_chart(axes, "folds, and their mean (dashed)", "", metric)


def plot_tuning(tuning: Tuning, ax: Any, parameter: str | None = None) -> Any:
    """The metric of every trial, in their order or against a parameter."""
    if parameter is not None and parameter not in tuning.best.parameters:
        known = did_you_mean(parameter, tuning.best.parameters)
        raise ParameterError(f"the parameter '{parameter}' was not searched; {known}")
    axes = axes_for(ax)
    done = [trial for trial in tuning.trials if trial.value is not None]
    given_up = [trial for trial in tuning.trials if trial.value is None]
    x = _places(axes, tuning.trials, parameter)
    axes.plot([x[trial.number] for trial in done], [trial.value for trial in done], "o", alpha=0.6, label="trial")
    if parameter is None:
        best = np.maximum.accumulate([trial.value or 0.0 for trial in done])
        axes.step([trial.number for trial in done], best, where="post", color="C0", linewidth=1, label="best so far")
    if given_up:
        bottom = {"transform": axes.get_xaxis_transform(), "clip_on": False, "color": "0.5"}
        label = f"given up early: {len(given_up):,}"
        axes.plot([x[trial.number] for trial in given_up], [0.0] * len(given_up), "x", label=label, **bottom)
    label = f"best: trial {tuning.best.number}"
    axes.plot([x[tuning.best.number]], [tuning.best.value], "*", markersize=14, color="C3", label=label)
    return finish_chart(axes, "", parameter or "trial", f"{tuning.metric} on the validation set")


def _places(axes: Any, trials: Sequence[Trial], parameter: str | None) -> dict[int, float]:
    """Where each trial is on the x axis, by its number."""
    if parameter is None:
        whole_numbers(axes)
        return {trial.number: trial.number for trial in trials}
    values = {trial.number: trial.parameters[parameter] for trial in trials}
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.values()):
        if min(values.values()) > 0 and max(values.values()) > _WIDE_RANGE * min(values.values()):
            axes.set_xscale("log")
        return values
    names = sorted({str(value) for value in values.values()})
    axes.set_xticks(range(len(names)), [shortened(name) for name in names])
    axes.set_xlim(-0.5, len(names) - 0.5)
    return {number: names.index(str(value)) for number, value in values.items()}
