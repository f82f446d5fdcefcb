"""The base class of rankers that learn the weights of a linear model round by round."""

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.linear.architectures import LinearArchitecture
from swaprank.linear.score_functions import LinearScoreFunction
from swaprank.models.linear import LinearModel
from swaprank.models.model import Model
from swaprank.models.scaling import Units, units_of
from swaprank.rankers.linear_fitting import center_weights
from swaprank.rankers.ranker import FitRequest, Ranker
from swaprank.rankers.rounds import Measured, Progress, run_rounds


class LinearProblem(NamedTuple):
    """Judged documents for a learner of weights; everything is grouped by query."""

    data: Dataset
    score_function: LinearScoreFunction
    """`scores(weights)` and `pull_back(weights, grad)`; `features` x `factor` are the standardized features."""
    units: Units
    """The standard deviation and the mean of every feature."""
    labels: Floats
    indptr: Ints
    document_weights: Floats
    """The weight of each document: 1, unless the data says otherwise."""
    start: Floats
    """The weights at which training begins: those of the base ranker, or 0."""
    random_state: int
    n_threads: int | None
    is_watched: bool = False
    """True if a validation set chooses the round that is kept."""


class LinearRanker(Ranker):
    """A weighted sum of the features, whose weights change from round to round.

    Weights are those of standardized features while training: (x - mean) / standard deviation, without the mean, which
    changes no order. `model_` has the weights of the features as they are.
    """

    model_classes: ClassVar[tuple[type[Model], ...]] = (LinearModel,)
    standardize: bool
    early_stopping_rounds: int | None = None

    @abstractmethod
    def _weights_by_round(self, problem: LinearProblem) -> Iterator[Floats]:
        """Yield the weights after each round, until there is nothing more to learn."""

    def _model(self, units: Units, weights: Floats) -> Model:
        """Return the model with these weights."""
        return LinearArchitecture(units).model(weights)

    def _n_rounds(self) -> int:
        """Return the maximum number of rounds."""
        assert self.rounds_parameter is not None  # noqa: S101
        return int(getattr(self, self.rounds_parameter))

    @property
    def coef_(self) -> Floats:
        """The weight of every feature."""
        if not isinstance(self.model_, LinearModel):
            raise AttributeError(f"{self.model_.describe()} has no coef_: it is not linear in the features.")
        return self.model_.weights

    def _fit(self, request: FitRequest) -> None:
        data, valid, metrics, base, callbacks, *_ = request
        self._check_words()
        units = units_of(data.features, self.standardize, self.n_threads)
        problem = self._problem(data, units, base)

        def scores(model: Model, other: Dataset) -> Floats:
            return self._plus_base_score(model.score(other.features, self.n_threads), other)

        measured = Measured(valid, metrics, partial(scores, self._model(units, problem.start)), self.n_threads)
        if base is not None or data.base_score is not None:
            measured.measure_start()
        problem = problem._replace(is_watched=measured.watched is not None)
        kept, now = (0, problem.start), problem.start
        rounds = self._weights_by_round(problem)
        pending = next(rounds, None)

        def one_round(number: int) -> None:
            nonlocal now
            now = np.array(pending, dtype=np.float64)
            model = self._model(units, now)
            for name, other in valid.items():
                measured.scores[name] = scores(model, other)
            self.n_rounds_ = number

        def keep() -> None:
            nonlocal kept
            kept = (self.n_rounds_, now)

        def is_finished(progress: Progress) -> bool:
            """Begin the next round; True if there is none."""
            nonlocal pending
            pending = next(rounds, None) if progress.round < progress.n_rounds else None
            return pending is None

        self.n_rounds_ = 0
        self.interrupted_ = False
        if pending is not None:
            self.interrupted_ = run_rounds(
                self._n_rounds(), one_round, measured, [*callbacks, is_finished], self.early_stopping_rounds, keep
            )
        measured.drop_partial_round()
        self.best_round_, weights = kept
        self.model_ = self._model(units, weights)
        self.history_ = measured.history

    def _problem(self, data: Dataset, units: Units, base: Any) -> LinearProblem:
        architecture = LinearArchitecture(units)
        weights = np.ones(len(data)) if data.sample_weight is None else np.array(data.by_query(data.sample_weight))
        return LinearProblem(
            data,
            architecture.score_function(data),
            units,
            np.array(data.by_query(data.labels), dtype=np.float64),
            np.array(data.indptr),
            weights,
            center_weights(base, architecture, data),
            getattr(self, "random_state_", 0),
            self.n_threads,
        )
