"""SmoothRank's training: the candidates of all regularizations and folds are annealed together, and mixed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.linear.annealing import Candidate, annealing_step
from swaprank.linear.architectures import LinearScoreFunction, ScoreFunction
from swaprank.linear.cross_validation import (
    Evaluator,
    held_out_values,
    mean_ignoring_nan,
    mean_of_fits,
    shares_of_fits,
)
from swaprank.objectives.smooth import BoundSmooth
from swaprank.rankers.learned import History
from swaprank.rankers.rounds import Callback, Measured, run_rounds


class AnnealingStep(NamedTuple):
    """The model after an annealing step."""

    values: list[float]
    """The mean metric over held-out queries for each regularization; -inf if no query is held out."""
    shares: Floats
    """The share of each regularization in the parameters."""
    parameters: Floats
    smooth: float
    """The mean of the smooth metric over the training queries."""


class Kept(NamedTuple):
    """The number of the step that is kept, the step, and what was measured after every step."""

    n_steps: int
    step: AnnealingStep
    history: History


@final
@dataclass(frozen=True, eq=False)
class AnnealingRun:
    """Candidates of several regularizations, each fitted without some of the queries, and the models they make."""

    rows: list[list[Candidate]]
    """Regularizations x folds."""
    folds: list[Bools]
    """The queries that each fold holds out, perhaps none."""
    smooth: BoundSmooth
    """The smooth metric of all training queries."""
    training: Evaluator
    validation: Evaluator | None
    average: bool
    """True: the model is a mean of all fits. False: the last fit of the best regularization; it holds out nothing."""
    random_state: int
    n_threads: int
    steps: list[AnnealingStep] = field(default_factory=list)

    def anneal(
        self,
        factors: Sequence[float],
        measured: Measured,
        score_functions: Mapping[str, ScoreFunction],
        callbacks: Sequence[Callback],
    ) -> bool:
        """Anneal with these smoothing factors, and measure after each step; return True if Ctrl-C ended it."""

        def one_round(number: int) -> None:
            annealing_step([each for row in self.rows for each in row], factors[number - 1], self.n_threads)
            self.steps.append(self._step(factors[number - 1]))
            for name, score_function in score_functions.items():
                scores = score_function(self.steps[-1].parameters, self.n_threads)
                measured.scores[name] = measured.sets[name].as_given(scores)

        interrupted = run_rounds(len(factors), one_round, measured, callbacks, patience=None)
        measured.drop_partial_round()
        return interrupted

    def kept(self, measured: Measured, smooth_name: str, any_step: bool) -> Kept:
        """Return the last step, or the one with the best value of any regularization.

        The history has the smooth metric under `smooth_name`.
        """
        n_measured = min(len(values) for of_set in measured.history.values() for values in of_set.values())
        steps, history = self.steps[:n_measured], {name: dict(of_set) for name, of_set in measured.history.items()}
        history["train"][smooth_name] = [step.smooth for step in steps]
        best = [max(step.values) for step in steps]
        at = int(np.argmax(best)) if any_step and max(best) > -np.inf else len(steps) - 1
        return Kept(at + 1, steps[at], history)

    def _step(self, factor: float) -> AnnealingStep:
        fits = [[each.parameters for each in row] for row in self.rows]
        by_query = np.array(
            [held_out_values(row, self.folds, self.training, self.validation, self.n_threads) for row in fits]
        )
        values = [mean_ignoring_nan(of_row) for of_row in by_query]
        if self.average:
            shares = shares_of_fits(by_query, self.random_state)
        else:
            shares = np.eye(len(fits))[int(np.argmax(values))]
        parameters = self._mixed(fits, shares)
        whole = replace(self.rows[0][0].ascent, metric=self.smooth)
        return AnnealingStep(values, shares, parameters, whole.smooth_mean(parameters, factor))

    def _mixed(self, fits: list[list[Floats]], shares: Floats) -> Floats:
        """Return the mean of all fits, or the last one of the best regularization."""
        score_function, n_folds = self.training.score_function, len(self.folds)
        if not (self.average and isinstance(score_function, LinearScoreFunction)):
            return fits[int(np.argmax(shares))][-1]
        of_fits = np.repeat(shares / n_folds, n_folds)
        return mean_of_fits(
            [fit for row in fits for fit in row], of_fits, score_function, self.smooth.indptr, self.n_threads
        )
