"""Linear regression: the first ranker to try, and where SmoothRank begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.models.linear import LinearModel
from swaprank.models.scaling import units_of
from swaprank.rankers.linear_fitting import center_weights, check_watched, regularizations, watched_judge
from swaprank.rankers.parameter_checks import check_flags, check_parameters, check_word
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback, Measured, run_rounds
from swaprank.smoothrank.architectures import Linear
from swaprank.smoothrank.candidates import Judge, mean_known, query_folds
from swaprank.smoothrank.ridge import STRENGTHS
from swaprank.smoothrank.start import Fit, FitProblem, fold_values, ridge_fit

TARGETS = ("gains", "labels")
FOLDS = 10
"""Of cross-validation, if nobody says how many: regressions are cheap."""


@final
class LinearRegressionRanker(Ranker):
    """Ridge regression of each document's gain or label: minimises mean (w'x + b - y)² + regularization |w|².

    Args:
        target: What is regressed: the "gains" of the metric (2^label - 1 for NDCG), or the "labels" themselves.
        metric: What gains are taken from, and what "auto" chooses by.
        regularization: How strongly weights are held back, of features in units of their deviation; a number, several
            to choose from, or "auto": 10^3 to 10^-6 in half decades. They are chosen on the watched data set, or else
            by cross-validation over the queries.
        overweight: Let the documents above the lowest target count as much in all as the others
            [Chapelle2010, section 7].
        standardize: Measure features in their deviations; else regularise them as they are.
        n_folds: Choose by cross-validation in so many folds, on the watched data set as well if there is one; if None,
            in 10 where none is watched, else on that alone.
        base_ranker: A fitted linear ranker towards which, and not towards 0, the weights are held back.
        random_state: Seed of the folds.
        n_threads: All cores if None.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_polynomial((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.LinearRegressionRanker().fit(train)
    >>> ranker.coef_.shape
    (10,)
    >>> ranker.score(test) > 0.6
    True
    """

    kind: ClassVar[str] = "linear_regression"
    model_: LinearModel
    regularization_: float
    """The one that was chosen, or given."""
    candidates_: dict[float, float]
    """The metric by which each regularisation was judged; empty if there was nothing to choose."""

    def __init__(
        self,
        target: Literal["gains", "labels"] = "gains",
        *,
        metric: str | Metric = "ndcg@10",
        regularization: float | str | Sequence[float] = "auto",
        overweight: bool = False,
        standardize: bool = True,
        n_folds: int | None = None,
        base_ranker: Any = None,
        random_state: int = 0,
        n_threads: int | None = None,
    ) -> None:
        self.target = target
        self.metric = metric
        self.regularization = regularization
        self.overweight = overweight
        self.standardize = standardize
        self.n_folds = n_folds
        self.base_ranker = base_ranker
        self.random_state = random_state
        self.n_threads = n_threads

    @property
    def coef_(self) -> Floats:
        """The weight of every feature."""
        return self.model_.weights

    def _fit(
        self,
        data: Dataset,
        valid: Mapping[str, Dataset],
        metrics: str | Metric | Sequence[str | Metric] | None,
        base: Any,
        callbacks: Sequence[Callback],
    ) -> None:
        strengths = self._check()
        chosen = [self._metric()] if metrics is None else parse_metrics(metrics)
        shape = Linear(units_of(data.features, self.standardize))
        center = center_weights(base, shape, data)
        measured = Measured(valid, chosen, lambda other: np.zeros(len(other)), self.n_threads)
        problem = self._problem(data, shape)
        fit = ridge_fit(problem, strengths, self.overweight, center)
        found: list[tuple[int, Floats, list[float]]] = []

        def one_round(number: int) -> None:
            every = fit(np.ones(data.n_queries, np.bool_))
            values = self._values(data, shape, problem, fit, every, measured, chosen[0])
            at = int(np.argmax(values)) if values else 0
            found.append((at, every[at], values))
            for name, other in measured.sets.items():
                measured.scores[name] = other.as_given(shape.scorer(other).scores(every[at], self.n_threads))

        interrupted = run_rounds(1, one_round, measured, callbacks, patience=None)
        if not found:
            raise KeyboardInterrupt
        at, weights, values = found[0]
        self.interrupted_ = interrupted
        self.model_ = shape.model(weights)
        self.regularization_ = strengths[at]
        self.candidates_ = dict(zip(strengths, values, strict=True)) if values else {}
        self.history_, self.n_rounds_, self.best_round_ = measured.history, 1, 1

    def _values(
        self,
        data: Dataset,
        shape: Linear,
        problem: FitProblem,
        fit: Fit,
        every: list[Floats],
        measured: Measured,
        metric: Metric,
    ) -> list[float]:
        """How good each strength is, on the watched set or by cross-validation; empty if there is but one."""
        if len(every) == 1:
            return []
        if self.n_folds is None:
            check_watched(measured)
        other = watched_judge(measured, {name: shape.scorer(each) for name, each in measured.sets.items()})
        if other and self.n_folds is None:
            return [mean_known(other.values(weights, self.n_threads)) for weights in every]
        if data.n_queries < 2:
            raise DataError("one query is too few to choose a regularization by; give a number, or a valid= set.")
        folds = query_folds(data.n_queries, self.n_folds or FOLDS, int(self.random_state))
        judge = Judge(problem.scorer, bind_metric(metric, data, refuse_constant=True))
        return [float(value) for value in fold_values(fit, folds, judge, other, self.n_threads)]

    def _problem(self, data: Dataset, shape: Linear) -> FitProblem:
        labels = np.array(data.by_query(data.labels))
        targets = labels if self.target == "labels" else self._metric().bind(labels, data.indptr).terms.gains
        weights = np.ones(len(data)) if data.sample_weight is None else np.array(data.by_query(data.sample_weight))
        return FitProblem(shape.scorer(data), targets, labels, np.array(data.indptr), weights, self.n_threads)

    def _check(self) -> list[float]:
        check_parameters(self)
        check_word("target", self.target, TARGETS)
        check_flags(self, "overweight", "standardize")
        return regularizations(self.regularization, STRENGTHS)

    def _fitted_values(self) -> dict[str, Any]:
        return {"regularization": self.regularization_, "candidates": list(self.candidates_.items())}

    def _restore_values(self, values: Mapping[str, Any]) -> None:
        self.regularization_ = float(values["regularization"])
        self.candidates_ = {float(key): float(value) for key, value in values["candidates"]}
