"""Candidates of every fold side by side, down the sigmas: how SmoothRank chooses where it cannot watch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.metrics.metric import Metric
from swaprank.rankers.ranker import Callback
from swaprank.rankers.rounds import Measured, run_rounds
from swaprank.smoothrank.annealing import Ascent
from swaprank.smoothrank.candidates import Candidate, Judge, step_all, unseen_mean, without


class RaceResult(NamedTuple):
    """What each ascent reached after each step, and whether the user ended it (Ctrl-C)."""

    values: Floats
    """Ascents x steps that were completed."""
    interrupted: bool


def race_folds(
    ascents: Sequence[Ascent],
    start: Floats,
    folds: Sequence[Bools],
    sigmas: Sequence[float],
    metric: Metric,
    judges: tuple[Judge, Judge | None],
    callbacks: Sequence[Callback],
    n_threads: int,
) -> RaceResult:
    """Take every ascent down the sigmas, once without each fold; judged by the training set, and by a watched one."""
    rows = [[Candidate(without(ascent, aside), start) for aside in folds] for ascent in ascents]
    means: list[list[float]] = []

    def one_round(number: int) -> None:
        step_all([candidate for row in rows for candidate in row], float(sigmas[number - 1]), n_threads)
        means.append([unseen_mean([each.path[-1] for each in row], folds, *judges, n_threads) for row in rows])

    def told(callback: Callback) -> Callback:
        # As many rounds follow: those of the ascent that is chosen.
        return lambda progress: callback(
            progress._replace(n_rounds=2 * len(sigmas), measured={f"folds {metric}": max(means[-1])})
        )

    nothing = Measured({}, [metric], lambda other: np.zeros(len(other)), n_threads)
    interrupted = run_rounds(len(sigmas), one_round, nothing, [told(callback) for callback in callbacks], patience=None)
    return RaceResult(np.array(means).reshape(-1, len(ascents)).T, interrupted)


def later(callback: Callback, n_rounds: int) -> Callback:
    """A callback to which rounds are numbered on from so many that have been."""
    return lambda told: callback(
        told._replace(
            round=told.round + n_rounds, n_rounds=told.n_rounds + n_rounds, best_round=told.best_round + n_rounds
        )
    )
