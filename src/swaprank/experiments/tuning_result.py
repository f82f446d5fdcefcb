"""Results of tuning: the best ranker and all trials."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from swaprank.errors import ParameterError, did_you_mean
from swaprank.rankers.ranker import Ranker
from swaprank.rendering.figures import axes_for, finish_chart, shortened, whole_numbers
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks, Table, blocks_text, decimals

_WIDE_RANGE = 50
"""Positive numbers whose largest is so many times their smallest are drawn on a logarithmic axis."""


class Trial(NamedTuple):
    """One trained set of parameters."""

    number: int
    """Counted from 1."""
    value: float | None
    """The metric on the validation set; None if the trial was given up (pruned)."""
    given_up_after: int | None
    """Number of rounds after which the trial was given up; None if it was completed."""
    seconds: float
    size: str
    """Size of the model, such as "10 trees"."""
    parameters: dict[str, Any]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Tuning(Result):
    """The best ranker, fitted, and all trials; printable.

    >>> import swaprank as sr
    >>> from swaprank.experiments.tuning_result import Trial
    >>> trial = Trial(1, 0.5, None, 2.0, "10 trees", {"n_leaves": 7})
    >>> print(sr.experiments.Tuning(sr.MART(), "map", trial, [trial]))
    trial     map      size  seconds  n_leaves
    -----  ------  --------  -------  --------
        1  0.5000  10 trees      2.0         7
    <BLANKLINE>
    The best of 1 trial is trial 1: map 0.5000 on the validation set.
    """

    ranker: Ranker
    metric: str
    best: Trial
    trials: Sequence[Trial]
    """In the order in which they were run."""
    interrupted: bool = False
    """True if Ctrl-C stopped the search."""
    study: Any = None
    """The Optuna study, for its own plots and analyses; None if it was made without one."""

    def to_text(self, n_trials: int = 20) -> str:
        """A table of the best trials, best first."""
        return blocks_text(self._blocks(n_trials))

    def _blocks(self, n_trials: int = 20) -> Blocks:
        names = list(self.best.parameters)
        ordered = sorted(self.trials, key=lambda trial: (trial.value is None, -(trial.value or 0.0), trial.number))
        rows = [
            [
                str(trial.number),
                "given up" if trial.value is None else decimals(trial.value),
                trial.size or f"{trial.given_up_after} rounds",
                f"{trial.seconds:.1f}",
                *(_cell(trial.parameters[name]) for name in names),
            ]
            for trial in ordered[:n_trials]
        ]
        more = f"… and {len(ordered) - n_trials:,} more" if len(ordered) > n_trials else ""
        table = Table(["trial", self.metric, "size", "seconds", *names], rows, left=0, note=more)
        count = "1 trial" if len(self.trials) == 1 else f"{len(self.trials):,} trials"
        n_given_up = sum(trial.value is None for trial in self.trials)
        given_up = f", {n_given_up} of them given up early," if n_given_up else ""
        best = f"The best of {count}{given_up} is trial {self.best.number}: {self.metric} {self.best.value:.4f}"
        return [table, f"{best} on the validation set."]

    def _values(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "interrupted": self.interrupted,
            "best": self.best._asdict(),
            "trials": [trial._asdict() for trial in self.trials],
        }

    def _columns(self) -> dict[str, list[Any]]:
        """One row per trial, with one column per parameter."""
        columns: dict[str, list[Any]] = {
            name: [getattr(trial, name) for trial in self.trials] for name in ("number", "value", "seconds", "size")
        }
        return columns | {name: [trial.parameters[name] for trial in self.trials] for name in self.best.parameters}

    def plot(self, ax: Any = None, *, parameter: str | None = None) -> Any:
        """Draw the metric of every trial: in their order, with the best so far; or against the values of a parameter.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.
            parameter: The name of a parameter that was searched. If None, the order of the trials.

        Returns:
            The axes.
        """
        if parameter is not None and parameter not in self.best.parameters:
            known = did_you_mean(parameter, self.best.parameters)
            raise ParameterError(f"the parameter '{parameter}' was not searched; {known}")
        axes = axes_for(ax)
        done = [trial for trial in self.trials if trial.value is not None]
        given_up = [trial for trial in self.trials if trial.value is None]
        x = _places(axes, self.trials, parameter)
        axes.plot([x[trial.number] for trial in done], [trial.value for trial in done], "o", alpha=0.6, label="trial")
        if parameter is None:
            best = np.maximum.accumulate([trial.value or 0.0 for trial in done])
            axes.step(
                [trial.number for trial in done], best, where="post", color="C0", linewidth=1, label="best so far"
            )
        if given_up:
            bottom = {"transform": axes.get_xaxis_transform(), "clip_on": False, "color": "0.5"}
            label = f"given up early: {len(given_up):,}"
            axes.plot([x[trial.number] for trial in given_up], [0.0] * len(given_up), "x", label=label, **bottom)
        label = f"best: trial {self.best.number}"
        axes.plot([x[self.best.number]], [self.best.value], "*", markersize=14, color="C3", label=label)
        return finish_chart(axes, "", parameter or "trial", f"{self.metric} on the validation set")


def _places(axes: Any, trials: Sequence[Trial], parameter: str | None) -> dict[int, float]:
    """The place of each trial on the x axis, by its number."""
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


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace(" ", "")
