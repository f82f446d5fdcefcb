"""Rankers that learn the weights of a linear model round by round, and what they share with other linear fits."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, Hint, ParameterError
from swaprank.linear.architectures import (
    KernelArchitecture,
    LinearArchitecture,
    LinearScoreFunction,
    ScoreFunction,
)
from swaprank.linear.cross_validation import Evaluator, FitProblem
from swaprank.metrics.metric import Metric
from swaprank.models.linear import LinearModel
from swaprank.models.model import Model
from swaprank.models.scaling import Units, units_of
from swaprank.parameters import Bounds, check_parameter, parameter
from swaprank.rankers.learned import Capabilities, found
from swaprank.rankers.rounds import VALID, Measured, Patience, Progress, run_rounds
from swaprank.rankers.training import FitRequest, TrainableRanker, Trained, base_weights

N_FOLDS = Hint("n_folds", option="--set n_folds")


class LinearProblem(NamedTuple):
    """Judged documents for a learner of weights; everything is grouped by query."""

    data: Dataset
    score_function: LinearScoreFunction
    """The scores as a function of the weights; `features` x `factor` are the standardized features."""
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


class LinearRound(NamedTuple):
    """The weights after a round, and the values that it found beside them."""

    weights: Floats
    found: Mapping[str, Any] = MappingProxyType({})


class LinearRanker(TrainableRanker):
    """A weighted sum of the features, whose weights change from round to round.

    Weights are those of standardized features while training: (x - mean) / standard deviation, without the mean, which
    changes no order. `model_` has the weights of the features as they are.
    """

    can: ClassVar[Capabilities] = Capabilities(models=(LinearModel,), needs="order")
    standardize: bool = parameter(
        default=True,
        tune=[True, False],
        text="Divide every feature by its standard deviation. False: take the features as they are.",
    )
    base_ranker: Any = parameter(default=None, text="A fitted linear ranker, whose weights training starts from.")
    early_stopping_rounds: Patience = None

    @abstractmethod
    def _rounds(self, problem: LinearProblem) -> Iterator[LinearRound]:
        """Yield the result of each round, until there is nothing more to learn."""

    def _architecture(self, data: Dataset, seed: int) -> LinearArchitecture | KernelArchitecture:
        """Return the kind of model whose weights are learned."""
        return LinearArchitecture(units_of(data.features, self.standardize, self.n_threads))

    def _model(self, architecture: LinearArchitecture | KernelArchitecture, weights: Floats) -> Model:
        """Return the model with these weights."""
        return architecture.model(weights)

    def _n_rounds(self) -> int:
        """Return the maximum number of rounds."""
        return int(getattr(self, str(self.can.rounds_parameter)))

    @property
    def coef_(self) -> Floats:
        """The weight of every feature."""
        if not isinstance(self.model_, LinearModel):
            raise AttributeError(f"{self.model_.describe()} has no coef_: it is not linear in the features.")
        return self.model_.weights

    def _fit(self, request: FitRequest) -> Trained:
        data, valid, metrics, base, callbacks, *_ = request
        architecture = self._architecture(data, request.seed)
        problem = self._problem(request, architecture)

        def scores(model: Model, other: Dataset) -> Floats:
            return self._plus_base_score(model.score(other.features, self.n_threads), other)

        start = partial(scores, self._model(architecture, problem.start))
        measured = Measured(valid, metrics, start, self.n_threads)
        if base is not None or data.base_score is not None:
            measured.measure_start()
        rounds = self._rounds(problem._replace(is_watched=measured.watched is not None))
        pending, n_rounds, interrupted = next(rounds, None), 0, False
        now = LinearRound(problem.start)
        best_round, kept = 0, now

        def one_round(number: int) -> None:
            nonlocal now, n_rounds
            if pending is not None:
                now = pending._replace(weights=np.array(pending.weights, dtype=np.float64))
            model = self._model(architecture, now.weights)
            for name, other in valid.items():
                measured.scores[name] = scores(model, other)
            n_rounds = number

        def keep() -> None:
            nonlocal best_round, kept
            best_round, kept = n_rounds, now

        def is_finished(progress: Progress) -> bool:
            """Begin the next round; True if there is none."""
            nonlocal pending
            pending = next(rounds, None) if progress.round < progress.n_rounds else None
            return pending is None

        if pending is not None:
            interrupted = run_rounds(
                self._n_rounds(), one_round, measured, [*callbacks, is_finished], self.early_stopping_rounds, keep
            )
        measured.drop_partial_round()
        model = self._model(architecture, kept.weights)
        return Trained(model, measured.history, n_rounds, best_round, interrupted, kept.found)

    def _problem(self, request: FitRequest, architecture: LinearArchitecture | KernelArchitecture) -> LinearProblem:
        data = request.data
        weights = np.ones(len(data)) if data.sample_weight is None else np.array(data.by_query(data.sample_weight))
        return LinearProblem(
            data,
            architecture.score_function(data),
            architecture.units,
            np.array(data.by_query(data.labels), dtype=np.float64),
            np.array(data.indptr),
            weights,
            center_weights(request.base, architecture, data),
            request.seed,
            self.n_threads,
        )


class RegularizationPath(LinearRanker):
    """A linear ranker that is fitted with one regularization after another, from the strongest; each is a round."""

    can: ClassVar[Capabilities] = replace(LinearRanker.can, round_name="strength")
    auto: ClassVar[Sequence[float]]
    """The strengths that "auto" chooses from."""
    alone: ClassVar[float]
    """The strength that "auto" means if no set is watched."""
    metric: str | Metric = parameter(
        default="ndcg@10",
        kw_only=False,
        text="Evaluated for every regularization, and chooses the best one on the watched set. It does not change "
        "training.",
    )
    regularization: float | str | Sequence[float] = parameter(default="auto", text="The strength.")
    standardize: bool = parameter(
        default=True,
        text="Regularize the weights of standardized features. False: of the features as they are.",
    )
    base_ranker: Any = parameter(
        default=None, text="A fitted linear ranker. Weights are regularized towards its weights instead of 0."
    )

    regularization_ = found(float)
    """The chosen regularization, or the given one; infinite if the base ranker was best."""
    gap_ = found(float)
    """A bound on the distance of the cost from its minimum."""

    @abstractmethod
    def _fits(self, problem: LinearProblem, strengths: Sequence[float]) -> Iterator[tuple[Floats, float]]:
        """Yield the weights for each strength, and the gap of their cost."""

    def _rounds(self, problem: LinearProblem) -> Iterator[LinearRound]:
        strengths = self._strengths(problem.is_watched)
        for strength, (weights, gap) in zip(strengths, self._fits(problem, strengths), strict=True):
            yield LinearRound(weights, {"regularization": strength, "gap": gap})

    def _fit(self, request: FitRequest) -> Trained:
        trained = super()._fit(request)
        return trained._replace(found=trained.found or {"regularization": np.inf, "gap": 0.0})

    def _strengths(self, is_watched: bool) -> list[float]:
        """Return the strengths of the rounds, in descending order.

        >>> import swaprank as sr
        >>> sr.baselines.RankSVM(regularization=(1.0, 10.0))._strengths(is_watched=True)
        [10.0, 1.0]
        >>> sr.baselines.RankSVM()._strengths(is_watched=False)
        [0.1]
        """
        strengths = regularizations(self.regularization, self.auto)
        if 0.0 in strengths:
            raise ParameterError("regularization must be above 0: without it, there are many minima, or none.")
        if is_watched or len(strengths) == 1:
            return strengths
        if isinstance(self.regularization, str):
            return [self.alone]
        raise DataError(
            "several values of regularization need a set to choose by, in which the documents of a query have "
            "different labels: ",
            VALID,
            ". Or give one value.",
        )

    def _n_rounds(self) -> int:
        return len(self._strengths(is_watched=True))

    def _check_together(self) -> None:
        self._strengths(is_watched=True)


def found_by_strength() -> found[dict[float, float]]:
    """Declare a value for each regularization strength, which training finds."""
    return found(
        lambda pairs: {float(strength): float(value) for strength, value in pairs},
        save=lambda values: list(values.items()),
    )


def regularizations(given: Any, auto: Sequence[float]) -> list[float]:
    """Return the strengths to choose from, in descending order: of equally good ones, the strongest is chosen."""
    if isinstance(given, str):
        if given != "auto":
            raise ParameterError(f"regularization must be a number from 0, several, or 'auto'; found {given!r}.")
        return list(auto)
    several = np.atleast_1d(given) if isinstance(given, np.ndarray) else given
    strengths = list(several) if isinstance(several, Sequence | np.ndarray) else [several]
    if not strengths:
        raise ParameterError("regularization has nothing to choose from: it is empty.")
    for strength in strengths:
        check_parameter("regularization", strength, Bounds(False, 0, np.inf))
    return sorted({float(strength) for strength in strengths}, reverse=True)


def center_weights(base: Any, architecture: LinearArchitecture | KernelArchitecture, data: Dataset) -> Floats:
    """Return a base ranker's weights, as weights of the standardized features; zeros if there is no base ranker."""
    if base is None:
        return np.zeros(architecture.n_parameters)
    if isinstance(architecture, KernelArchitecture):
        raise ParameterError("a kernel machine takes no base ranker.")
    factor = architecture.units.factor
    weights = base_weights(base, data.n_features)
    # A feature that is constant on this data has a factor of 0, and its weight has no effect.
    center: Floats = np.divide(weights, factor, out=np.zeros(len(weights)), where=factor > 0)
    return center


def fit_problem(data: Dataset, score_function: ScoreFunction, targets: Floats, n_threads: int | None) -> FitProblem:
    """Return the regression of targets, which are grouped by query."""
    weights = np.ones(len(data)) if data.sample_weight is None else np.array(data.by_query(data.sample_weight))
    labels = np.array(data.by_query(data.labels))
    return FitProblem(score_function, targets, labels, np.array(data.indptr), weights, n_threads)


def watched_evaluator(measured: Measured, score_functions: Mapping[str, ScoreFunction]) -> Evaluator | None:
    """Return an evaluator of the watched metric on the watched set; None if no set is watched."""
    if measured.watched is None:
        return None
    return Evaluator(score_functions[measured.watched.set], measured.watched_metric)


def check_same_metric(measured: Measured, of_folds: Metric, *advice: str | Hint) -> None:
    """Raise if the watched set is measured by another metric than the folds, because the two choose together."""
    if measured.watched is not None and measured.watched_metric.metric != of_folds:
        raise DataError(
            f"the watched set is measured by {measured.watched.metric}, the folds by {of_folds}: give ",
            *advice,
            ", or labels to the validation set.",
        )


def needs_folds(data: Dataset, measured: Measured, n_folds: int | None) -> bool:
    """Return True if cross-validation chooses the regularization, and not the watched set alone."""
    if n_folds is None and measured.unusable is not None:
        raise DataError(
            f"cannot choose by {measured.unusable}, which is the same for every order of the documents. Watch a set "
            "in which the documents of a query have different labels, or none."
        )
    if n_folds is None and measured.watched is not None:
        return False
    if data.n_queries < 2:
        raise DataError(
            "one query is too few to choose a regularization by; give a number, or a validation set: ", VALID, "."
        )
    return True
