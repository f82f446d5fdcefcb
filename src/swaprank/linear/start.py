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
from swaprank.linear.architectures import LinearScoreFunction, ScoreFunction
from swaprank.linear.cross_validation import Evaluator, Fit, cross_validate, mean_of_fits, shares_of_fits
from swaprank.linear.minimization import limited_memory_bfgs
from swaprank.linear.pairwise_hinge import fit_pairwise_hinge
from swaprank.linear.ridge import STRENGTHS, moments_of, overweighted, ridge
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

    score_function: ScoreFunction
    targets: Floats
    """The targets of the regression."""
    labels: Floats
    indptr: Ints
    weights: Floats
    """One per document."""
    n_threads: int | None = None

    @property
    def all_queries(self) -> Bools:
        """True for every query."""
        return np.ones(len(self.indptr) - 1, np.bool_)

    def weights_in(self, queries: Bools) -> Floats:
        """Return the weights of the documents of these queries, and 0 for all others."""
        return np.asarray(self.weights * np.repeat(queries, np.diff(self.indptr)))


def ridge_fit(problem: FitProblem, strengths: Sequence[float], overweight: bool, center: Floats) -> Fit:
    """Return the ridge regression of the targets minus the base scores, regularized towards `center`."""
    score_function = problem.score_function
    if not isinstance(score_function, LinearScoreFunction):
        raise TypeError("ridge regression is for linear score functions")
    origin = score_function.features.mean(axis=0, dtype=np.float64)
    residual = problem.targets - score_function(center, problem.n_threads)
    is_relevant = problem.targets > problem.targets.min()
    classes = [is_relevant, ~is_relevant] if overweight else [np.ones(len(is_relevant), np.bool_)]

    def sums_by_class(rows: Bools) -> Floats:
        arrays = score_function.features, score_function.factor, origin, residual, problem.weights
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
    """Return the fit of pairs; the weight of a query is the mean weight of its documents."""

    def fit(queries: Bools) -> list[Floats]:
        weights = sum_by_query(problem.weights_in(queries), problem.indptr) / np.maximum(np.diff(problem.indptr), 1)
        data, found = (problem.labels, problem.indptr, weights), [start]
        for strength in strengths:
            found.append(fit_pairwise_hinge(problem.score_function, found[-1], *data, strength, problem.n_threads))
        return found[1:]

    return fit


def fit_least_squares(problem: FitProblem, start: Floats, strength: float) -> Floats:
    """Minimize the weighted variance of the errors plus strength |w|², for any score function."""
    shares = problem.weights / max(problem.weights.sum(), np.finfo(float).tiny)

    def cost(parameters: Floats) -> tuple[float, Floats]:
        errors = problem.score_function(parameters, problem.n_threads) - problem.targets
        # A constant added to all scores does not change their order, and base scores may contain any constant.
        errors -= dot(shares, errors)
        back = problem.score_function.pull_back(parameters, 2.0 * shares * errors, problem.n_threads)
        return dot(shares, errors**2) + strength * dot(parameters, parameters), back + 2.0 * strength * parameters

    # More steps along the flat valleys of a net would only amplify rounding errors.
    return limited_memory_bfgs(cost, start, max_iterations=200, least_slope=1e-6, min_decrease=1e-8)


def start_fit(
    start: Start, problem: FitProblem, initial: Floats, metric: BoundMetric, folds: Sequence[Bools], random_state: int
) -> Callable[[Bools], Floats]:
    """Return a function of the training queries, which returns the parameters fitted as `start` says.

    Linear fits are means over the regularization strengths. Cross-validation over all queries finds their shares.
    """
    pairwise, overweight, score_function = start == "pairwise", start == "overweighted", problem.score_function
    if not isinstance(score_function, LinearScoreFunction):
        return _net_fit(problem, initial, pairwise, overweight)
    strengths = _PAIR_STRENGTHS if pairwise else STRENGTHS
    fit = pairwise_fit(problem, strengths, initial) if pairwise else ridge_fit(problem, strengths, overweight, initial)
    shares = np.array([float(strength == 1.0) for strength in strengths])
    if len(folds) > 1:
        values = cross_validate(fit, folds, Evaluator(score_function, metric), None, problem.n_threads)
        shares = shares_of_fits(values, random_state)
    return lambda queries: mean_of_fits(fit(queries), shares, score_function, problem.indptr, problem.n_threads)


def _net_fit(problem: FitProblem, initial: Floats, pairwise: bool, overweight: bool) -> Callable[[Bools], Floats]:
    def fit(queries: Bools) -> Floats:
        if pairwise:
            return pairwise_fit(problem, [_NET_STRENGTH], initial)(queries)[0]
        weights = problem.weights_in(queries)
        weights = overweighted(problem.targets - problem.targets.min(), weights) if overweight else weights
        return fit_least_squares(replace(problem, weights=weights), initial, _NET_STRENGTH)

    return fit


def calibrated(parameters: Floats, scores: Floats, targets: Floats) -> Floats:
    """Return the parameters, multiplied by the slope of the regression of the targets on the scores.

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
