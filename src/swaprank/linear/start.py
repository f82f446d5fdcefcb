"""The parameters w0 from which the annealing starts: a regression on the gains, or a pairwise fit.

[Chapelle2010, section 4.4.1]
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.data.grouping import sum_by_query
from swaprank.lanes import dot
from swaprank.linear.candidates import Evaluator, held_out_values
from swaprank.linear.limited_memory_bfgs import limited_memory_bfgs
from swaprank.linear.mixing import mean_of_fits, shares_of_fits
from swaprank.linear.ranking_svm import fit_ranking_svm
from swaprank.linear.ridge import STRENGTHS, moments_of, overweighted, ridge
from swaprank.linear.scorers import LinearScorer, Scorer
from swaprank.metrics.metric import BoundMetric

Start = Literal["regression", "overweighted", "pairwise", "zero"]
STARTS: tuple[Start, ...] = ("regression", "overweighted", "pairwise", "zero")

_PAIR_STRENGTHS = STRENGTHS[2:-2:2]
_NET_STRENGTH = 1e-4
"""Regularization of a net's start. It is fixed: a choice between several would take too many fits."""


@final
@dataclass(frozen=True, eq=False)
class FitProblem:
    """The data that a start is fitted to; all arrays are grouped by query."""

    scorer: Scorer
    targets: Floats
    """Of the regression."""
    labels: Floats
    indptr: Ints
    weights: Floats
    """One per document."""
    n_threads: int | None = None

    @property
    def all_queries(self) -> Bools:
        """True for every query."""
        return np.ones(len(self.indptr) - 1, np.bool_)

    def weights_of(self, queries: Bools) -> Floats:
        """The weights of the documents, 0 for those of other queries."""
        weights: Floats = self.weights * np.repeat(queries, np.diff(self.indptr))
        return weights


Fit = Callable[[Bools], list[Floats]]
"""A function of the training queries. It returns the fitted parameters for each regularization strength."""


def ridge_fit(problem: FitProblem, strengths: Sequence[float], overweight: bool, center: Floats) -> Fit:
    """Ridge regression of the targets minus the base scores, regularized towards `center`."""
    scorer = problem.scorer
    if not isinstance(scorer, LinearScorer):
        raise TypeError("ridge regression is for linear scorers")
    origin = scorer.features.mean(axis=0, dtype=np.float64)
    residual = problem.targets - scorer.scores(center, problem.n_threads)
    is_relevant = problem.targets > problem.targets.min()
    classes = [is_relevant, ~is_relevant] if overweight else [np.ones(len(is_relevant), np.bool_)]

    def sums_by_class(rows: Bools) -> Floats:
        arrays = scorer.features, scorer.factor, origin, residual, problem.weights
        return np.array([moments_of(*arrays, np.flatnonzero(rows & of_class)) for of_class in classes])

    whole = sums_by_class(np.ones(len(is_relevant), np.bool_))

    def fit(queries: Bools) -> list[Floats]:
        # Without the held-out queries, which are few: folds take no more passes over the data than one.
        sums = whole - sums_by_class(np.repeat(~queries, np.diff(problem.indptr)))
        totals = sums[:, 0, 0]
        if (totals > 1e-9 * whole[:, 0, 0]).all():
            sums *= (totals.sum() / (len(totals) * totals))[:, None, None]  # as `overweighted` does
        return [center + difference for difference in ridge(sums.sum(axis=0), strengths)]

    return fit


def pairwise_fit(problem: FitProblem, strengths: Sequence[float], start: Floats) -> Fit:
    """Ranking SVM; the weight of a query is the mean weight of its documents."""

    def fit(queries: Bools) -> list[Floats]:
        weights = sum_by_query(problem.weights_of(queries), problem.indptr) / np.maximum(np.diff(problem.indptr), 1)
        data, found = (problem.labels, problem.indptr, weights), [start]
        for strength in strengths:
            found.append(fit_ranking_svm(problem.scorer, found[-1], *data, strength, problem.n_threads))
        return found[1:]

    return fit


def fit_least_squares(problem: FitProblem, start: Floats, strength: float) -> Floats:
    """Minimize the weighted variance of the errors plus strength |w|², for any scorer."""
    shares = problem.weights / max(problem.weights.sum(), np.finfo(float).tiny)

    def cost(parameters: Floats) -> tuple[float, Floats]:
        errors = problem.scorer.scores(parameters, problem.n_threads) - problem.targets
        # A constant added to all scores does not change their order, and base scores may contain any constant.
        errors -= dot(shares, errors)
        back = problem.scorer.pull_back(parameters, 2.0 * shares * errors, problem.n_threads)
        return dot(shares, errors**2) + strength * dot(parameters, parameters), back + 2.0 * strength * parameters

    # More steps along the flat valleys of a net would only amplify rounding errors.
    return limited_memory_bfgs(cost, start, max_iterations=200, least_slope=1e-6, min_decrease=1e-8)


def start_fit(
    start: Start, problem: FitProblem, initial: Floats, metric: BoundMetric, folds: Sequence[Bools], random_state: int
) -> Callable[[Bools], Floats]:
    """A function of the training queries, which returns the parameters fitted as `start` says.

    Linear fits are means over the regularization strengths. Cross-validation over all queries finds their shares.
    """
    pairwise, overweight, scorer = start == "pairwise", start == "overweighted", problem.scorer
    if not isinstance(scorer, LinearScorer):
        return _net_fit(problem, initial, pairwise, overweight)
    strengths = _PAIR_STRENGTHS if pairwise else STRENGTHS
    fit = pairwise_fit(problem, strengths, initial) if pairwise else ridge_fit(problem, strengths, overweight, initial)
    shares = np.array([float(strength == 1.0) for strength in strengths])
    if len(folds) > 1:
        values = cross_validate(fit, folds, Evaluator(scorer, metric), None, problem.n_threads)
        shares = shares_of_fits(values, random_state)
    return lambda queries: mean_of_fits(fit(queries), shares, scorer, problem.indptr, problem.n_threads)


def _net_fit(problem: FitProblem, initial: Floats, pairwise: bool, overweight: bool) -> Callable[[Bools], Floats]:
    def fit(queries: Bools) -> Floats:
        if pairwise:
            return pairwise_fit(problem, [_NET_STRENGTH], initial)(queries)[0]
        weights = problem.weights_of(queries)
        weights = overweighted(problem.targets - problem.targets.min(), weights) if overweight else weights
        return fit_least_squares(replace(problem, weights=weights), initial, _NET_STRENGTH)

    return fit


def cross_validate(
    fit: Fit, folds: Sequence[Bools], training: Evaluator, validation: Evaluator | None, n_threads: int | None
) -> Floats:
    """The metric of each held-out query for each strength, strengths x queries; see `held_out_values`."""
    by_fold = [fit(~held_out) for held_out in folds]
    return np.array(
        [held_out_values(fits, folds, training, validation, n_threads) for fits in zip(*by_fold, strict=True)]
    )


def calibrated(parameters: Floats, scores: Floats, targets: Floats) -> Floats:
    """The parameters, multiplied by the slope of the regression of the targets on the scores.

    Scores then have the unit of the targets, in which smoothing factors are measured. Without this, scores can have any
    scale if regularization has shrunk the weights or if another ranker has learned them.

    >>> import numpy as np
    >>> from swaprank.linear.start import calibrated
    >>> calibrated(np.array([2.0, 4.0]), scores=np.array([0.0, 2.0]), targets=np.array([0.0, 1.0])).tolist()
    [1.0, 2.0]
    """
    centered = scores - scores.mean()
    sum_of_squares = dot(centered, centered)
    slope = dot(centered, targets) / sum_of_squares if sum_of_squares > 0 else 0.0
    return parameters * slope if slope > 0 and np.isfinite(slope) else parameters
