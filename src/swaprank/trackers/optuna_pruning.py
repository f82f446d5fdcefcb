"""Optuna: report the rounds of a trial, and give it up when the study's pruner says so."""

import math
from collections.abc import Mapping
from typing import Any, final

from swaprank.errors import DataError, import_extra
from swaprank.rankers.observers import Observer
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import VALID, Progress

_MAX_REPORTS = 100
"""Largest number of intermediate values that a trial reports to Optuna."""


@final
class OptunaPruning(Observer):
    """Prune a trial of an Optuna study: `fit` then raises `optuna.TrialPruned`, which the study expects.

    Reported is the best value so far of the watched metric, the first one on the last validation set, because the best
    round is kept. The study must maximize. `sr.tune` does all this by itself. Needs pip install 'swaprank[tune]'.

    Args:
        trial: The trial that Optuna gives to the objective.

    >>> import swaprank as sr
    >>> def objective(trial):
    ...     ranker = sr.LambdaMART(n_leaves=trial.suggest_int("n_leaves", 4, 63))
    ...     ranker.fit(train, valid=vali, callbacks=[sr.trackers.OptunaPruning(trial)])
    ...     return ranker.score(vali)
    """

    def __init__(self, trial: Any) -> None:
        self.trial = trial
        self.best = -math.inf
        """The best value so far."""
        self.round = 0
        """The last round with a value."""
        self.pruned = False

    def started(self, ranker: Ranker, sets: Mapping[str, Any]) -> None:
        """Raise DataError if nothing is measured during training."""
        import_extra("optuna", "pruning needs Optuna: pip install 'swaprank[tune]'.")
        if set(sets) == {"train"}:
            raise DataError("pruning needs a data set to measure on: ", VALID, ".")

    def __call__(self, progress: Progress) -> bool:
        """Report a round, and stop training if the trial is pruned."""
        value = next(iter(progress.measured[list(progress.measured)[-1]].values()))
        if math.isnan(value):
            return False
        self.best, self.round = max(self.best, value), progress.round
        if progress.round % max(1, progress.n_rounds // _MAX_REPORTS) == 0 and progress.round < progress.n_rounds:
            self.trial.report(self.best, progress.round)
            self.pruned = bool(self.trial.should_prune())
        return self.pruned

    def ended(self, ranker: Ranker) -> None:
        """Tell the study that the trial was given up."""
        if self.pruned and not ranker.interrupted_:
            raise import_extra("optuna", "").TrialPruned(f"given up after {self.round} rounds at {self.best:.4f}")
