"""Cross-validation of SmoothRank's regularizations: all candidates of all folds go through the annealing together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.metrics.metric import Metric
from swaprank.rankers.rounds import Callback, Measured, run_rounds
from swaprank.smoothrank.annealing import Ascent
from swaprank.smoothrank.candidates import Candidate, Judge, step_all, unseen_mean, without


class FoldValues(NamedTuple):
    """The cross-validated metric of each ascent after each step, and whether Ctrl-C ended it."""

    values: Floats
    """Ascents x completed steps."""
    interrupted: bool


def try_folds(
    ascents: Sequence[Ascent],
    start: Floats,
    folds: Sequence[Bools],
    steps: Sequence[float],
    metric: Metric,
    judges: tuple[Judge, Judge | None],
    callbacks: Sequence[Callback],
    n_threads: int,
) -> FoldValues:
    """Take every ascent through the annealing, once without each fold; judged on that fold, and on a watched set."""
    rows = [[Candidate(without(ascent, aside), start) for aside in folds] for ascent in ascents]
    means: list[list[float]] = []

    def one_round(number: int) -> None:
        step_all([candidate for row in rows for candidate in row], float(steps[number - 1]), n_threads)
        means.append([unseen_mean([each.path[-1] for each in row], folds, *judges, n_threads) for row in rows])

    def with_folds(callback: Callback) -> Callback:
        # As many rounds follow: those of the ascent that is chosen.
        return lambda progress: callback(
            progress._replace(n_rounds=2 * len(steps), measured={"folds": {str(metric): max(means[-1])}})
        )

    nothing = Measured({}, [metric], lambda other: np.zeros(len(other)), n_threads)
    interrupted = run_rounds(len(steps), one_round, nothing, [with_folds(each) for each in callbacks], patience=None)
    return FoldValues(np.array(means).reshape(-1, len(ascents)).T, interrupted)


def renumbered(callback: Callback, n_rounds: int) -> Callback:
    """A callback for which rounds are counted on from `n_rounds`."""
    return lambda progress: callback(
        progress._replace(
            round=progress.round + n_rounds,
            n_rounds=progress.n_rounds + n_rounds,
            best_round=progress.best_round + n_rounds,
        )
    )
