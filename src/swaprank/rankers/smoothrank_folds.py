"""Cross-validation of SmoothRank's regularizations: the candidates of all folds are annealed together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.metrics.metric import Metric
from swaprank.rankers.rounds import Callback, Measured, run_rounds
from swaprank.smoothrank.annealing import Ascent
from swaprank.smoothrank.candidates import Candidate, Evaluator, annealing_step, exclude_queries, held_out_mean


class FoldValues(NamedTuple):
    """The cross-validated metric of each ascent after each step, and whether Ctrl-C ended the run."""

    values: Floats
    """Ascents x completed steps."""
    interrupted: bool


def cross_validate_annealing(
    ascents: Sequence[Ascent],
    start: Floats,
    folds: Sequence[Bools],
    steps: Sequence[float],
    metric: Metric,
    evaluators: tuple[Evaluator, Evaluator | None],
    callbacks: Sequence[Callback],
    n_threads: int,
) -> FoldValues:
    """Anneal each ascent once per fold without the fold's queries, and measure on them and on a watched set."""
    rows = [[Candidate(exclude_queries(ascent, held_out), start) for held_out in folds] for ascent in ascents]
    means: list[list[float]] = []

    def one_round(number: int) -> None:
        annealing_step([candidate for row in rows for candidate in row], float(steps[number - 1]), n_threads)
        means.append([held_out_mean([each.path[-1] for each in row], folds, *evaluators, n_threads) for row in rows])

    def with_folds(callback: Callback) -> Callback:
        # The chosen ascent is annealed afterwards, in as many rounds again.
        return lambda progress: callback(
            progress._replace(n_rounds=2 * len(steps), measured={"folds": {str(metric): max(means[-1])}})
        )

    no_sets = Measured({}, [metric], lambda other: np.zeros(len(other)), n_threads)
    interrupted = run_rounds(len(steps), one_round, no_sets, [with_folds(each) for each in callbacks], patience=None)
    return FoldValues(np.array(means).reshape(-1, len(ascents)).T, interrupted)


def renumbered(callback: Callback, n_rounds: int) -> Callback:
    """A callback whose round numbers continue after `n_rounds`."""
    return lambda progress: callback(
        progress._replace(
            round=progress.round + n_rounds,
            n_rounds=progress.n_rounds + n_rounds,
            best_round=progress.best_round + n_rounds,
        )
    )
