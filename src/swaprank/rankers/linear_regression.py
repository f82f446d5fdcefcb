"""Linear regression: the first ranker to try."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import Hint, MetricError
from swaprank.linear.architectures import LinearArchitecture
from swaprank.linear.cross_validation import Evaluator, cross_validate, mean_ignoring_nan, query_folds
from swaprank.linear.ridge import STRENGTHS, ridge_fit
from swaprank.metrics.metric import Metric, bind_metric
from swaprank.metrics.terms import WITHOUT_SWAP_GAINS
from swaprank.models.linear import LinearModel
from swaprank.models.scaling import units_of
from swaprank.parameters import parameter
from swaprank.rankers.learned import Capabilities, found, learned_value
from swaprank.rankers.linear_rounds import (
    N_FOLDS,
    center_weights,
    check_same_metric,
    fit_problem,
    found_by_strength,
    needs_folds,
    regularizations,
    watched_evaluator,
)
from swaprank.rankers.rounds import Measured, run_rounds
from swaprank.rankers.shared_parameters import RandomChoices
from swaprank.rankers.training import FitRequest, TrainableRanker, Trained
from swaprank.seeds import RandomState

TARGETS = ("gains", "labels")
FOLDS = 10
"""Default number of folds of cross-validation."""


@final
class LinearRegressionRanker(RandomChoices, TrainableRanker):
    """Ridge regression of each document's gain or label: minimizes mean (w'x + b - y)² + regularization |w|².

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_polynomial((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.LinearRegressionRanker().fit(train)
    >>> ranker.coef_.shape
    (10,)
    >>> ranker.score(test) > 0.6
    True
    """

    kind: ClassVar[str] = "linear_regression"
    can: ClassVar[Capabilities] = Capabilities(models=(LinearModel,))
    metric: str | Metric = parameter(
        default="ndcg@10", kw_only=False, text="Defines the gains. It also chooses the best regularization."
    )
    target: Literal["gains", "labels"] = parameter(
        default="gains",
        words=TARGETS,
        tune=[*TARGETS],
        text='The regression target: "gains" of the metric (2^label - 1 for NDCG), or "labels".',
    )
    regularization: float | str | Sequence[float] = parameter(
        default="auto",
        text='Strength of the L2 regularization: a number, a tuple of numbers to choose from, or "auto" for 10^3 to '
        "10^-6 in half decades. The best one is chosen on the watched data set, or by cross-validation over the "
        "queries if there is none.",
    )
    overweight: bool = parameter(
        default=False,
        tune=[False, True],
        text="Give the documents above the lowest target the same total weight as the others "
        "[Chapelle2010, section 7].",
    )
    standardize: bool = parameter(
        default=True,
        tune=[True, False],
        text="Regularize the weights of standardized features. False: of the features as they are.",
    )
    n_folds: int | None = parameter(
        default=None,
        low=2,
        high=10**7,
        whole=True,
        text="Number of folds of cross-validation, which is then used in addition to a watched data set. If None: 10 "
        "folds if no set is watched, else only the watched set.",
    )
    base_ranker: Any = parameter(
        default=None, text="A fitted linear ranker. Weights are regularized towards its weights instead of 0."
    )
    random_state: RandomState = parameter(default=0, text="Seed of the folds.")

    model_ = learned_value[LinearModel]("model")
    regularization_ = found(float)
    """The chosen regularization, or the given one."""
    candidates_ = found_by_strength()
    """The metric of each regularization that could be chosen; empty if there was only one."""

    @property
    def coef_(self) -> Floats:
        """The weight of every feature."""
        return self.model_.weights

    def _fit(self, request: FitRequest) -> Trained:
        data, valid, metrics, base, callbacks, seed, *_ = request
        strengths = regularizations(self.regularization, STRENGTHS)
        architecture = LinearArchitecture(units_of(data.features, self.standardize))
        center = center_weights(base, architecture, data)
        measured = Measured(valid, metrics, lambda other: np.zeros(len(other)), self.n_threads)
        score_functions = {name: architecture.score_function(other) for name, other in valid.items()}
        labels = np.array(data.by_query(data.labels))
        targets = labels if self.target == "labels" else self._gains(data)
        problem = fit_problem(data, architecture.score_function(data), targets, self.n_threads)
        fit = ridge_fit(problem, strengths, self.overweight, center)
        watched = watched_evaluator(measured, score_functions)
        by_folds = len(strengths) > 1 and needs_folds(data, measured, self.n_folds)
        if by_folds:
            check_same_metric(measured, metrics[0], "no ", N_FOLDS)
        results: list[tuple[int, Floats, list[float]]] = []

        def one_round(number: int) -> None:
            fits, values = fit(problem.all_queries), []
            if by_folds:
                folds = query_folds(data.n_queries, self.n_folds or FOLDS, seed)
                training = Evaluator(problem.score_function, bind_metric(metrics[0], data, refuse_constant=True))
                by_query = cross_validate(fit, folds, training, watched, self.n_threads)
                values = [mean_ignoring_nan(of_strength) for of_strength in by_query]
            elif watched and len(fits) > 1:
                values = [mean_ignoring_nan(watched.per_query(weights, self.n_threads)) for weights in fits]
            best = int(np.argmax(values)) if values else 0
            results.append((best, fits[best], values))
            for name, score_function in score_functions.items():
                measured.scores[name] = valid[name].as_given(score_function(fits[best], self.n_threads))

        interrupted = run_rounds(1, one_round, measured, callbacks, patience=None)
        if not results:
            raise KeyboardInterrupt
        best, weights, values = results[0]
        chosen = {
            "regularization": strengths[best],
            "candidates": dict(zip(strengths, values, strict=True)) if values else {},
        }
        return Trained(architecture.model(weights), measured.history, 1, 1, interrupted, chosen)

    def _gains(self, data: Dataset) -> Floats:
        """The gain of each document, grouped by query."""
        terms = bind_metric(self.training_metric(), data).terms
        if terms.family in WITHOUT_SWAP_GAINS:
            raise MetricError(
                f"{self.training_metric()} has no gains of documents: choose a metric of labels, or ",
                Hint("target", "labels", "--set target=labels"),
                ".",
            )
        return terms.gains

    def _check_together(self) -> None:
        regularizations(self.regularization, STRENGTHS)
