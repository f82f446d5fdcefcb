"""The parameters w0 from which the annealing starts: a regression on the gains, or a pairwise fit.

[Chapelle2010, section 4.4.1]
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.lanes import dot
from swaprank.linear.architectures import LinearScoreFunction
from swaprank.linear.cross_validation import Evaluator, FitProblem, cross_validate, mean_of_fits, shares_of_fits
from swaprank.linear.minimization import limited_memory_bfgs
from swaprank.linear.pairwise_hinge import pairwise_fit
from swaprank.linear.ridge import STRENGTHS, overweighted, ridge_fit
from swaprank.metrics.metric import BoundMetric

Start = Literal["regression", "overweighted", "least_squares", "pairwise", "zero"]
STARTS: tuple[Start, ...] = ("regression", "overweighted", "least_squares", "pairwise", "zero")

_PAIR_STRENGTHS = STRENGTHS[2:-2:2]
_NET_STRENGTH = 1e-4
"""Regularization of a net's start. It is fixed: a choice between several would take too many fits."""


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
    "least_squares" has no regularization, no intercept and no folds: the equation of [Chapelle2010, section 4.4.1].
    """
    pairwise, overweight, score_function = start == "pairwise", start == "overweighted", problem.score_function
    if not isinstance(score_function, LinearScoreFunction):
        return _net_fit(problem, initial, pairwise, overweight)
    if start == "least_squares":
        least_squares = ridge_fit(problem, [0.0], False, initial, intercept=False)
        return lambda queries: least_squares(queries)[0]
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
