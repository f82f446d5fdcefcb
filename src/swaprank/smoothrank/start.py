"""Where an ascent begins, and what it is center to: a regression on the gains, or a pairwise fit.

[Chapelle2010, section 4.4.1]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.data.grouping import sum_by_query
from swaprank.metrics.metric import BoundMetric
from swaprank.smoothrank.candidates import Judge, unseen_mean
from swaprank.smoothrank.ranking_svm import fit_pairs
from swaprank.smoothrank.ridge import STRENGTHS, moments_of, overweighted, ridge
from swaprank.smoothrank.scorers import LinearScorer, Scorer

Start = Literal["regression", "overweighted", "pairwise", "zero"]
STARTS: tuple[Start, ...] = ("regression", "overweighted", "pairwise", "zero")

_PAIR_STRENGTHS = STRENGTHS[2:-2:2]
_NET_STRENGTH = 1e-4
"""How strongly the weights of a net are center back in its start: many such fits, to choose, would take too long."""


@final
@dataclass(frozen=True, eq=False)
class FitProblem:
    """What a start is fitted to; all arrays query after query."""

    scorer: Scorer
    targets: Floats
    """What a regression aims at."""
    labels: Floats
    indptr: Ints
    weights: Floats
    """One a document."""
    n_threads: int | None = None

    def kept(self, queries: Bools) -> Floats:
        """The documents' weights, 0 for those of queries that are put aside."""
        kept: Floats = self.weights * np.repeat(queries, np.diff(self.indptr))
        return kept


Fit = Callable[[Bools], list[Floats]]
"""The parameters for each of some strengths, learned from the queries that are kept."""


def ridge_fit(problem: FitProblem, strengths: Sequence[float], overweight: bool, center: Floats) -> Fit:
    """Ridge regressions of the targets, minus the scores that documents have already; weights are drawn to `center`."""
    scorer = problem.scorer
    if not isinstance(scorer, LinearScorer):
        raise TypeError("ridge regression is for linear scorers")
    origin = scorer.features.mean(axis=0, dtype=np.float64)
    residual = problem.targets - scorer.scores(center, problem.n_threads)

    def fit(queries: Bools) -> list[Floats]:
        weights = problem.kept(queries)
        weights = overweighted(problem.targets - problem.targets.min(), weights) if overweight else weights
        moments = moments_of(scorer.features, scorer.factor, origin, residual, weights)
        return [center + away for away in ridge(moments, strengths)]

    return fit


def pairs_fit(problem: FitProblem, strengths: Sequence[float], start: Floats) -> Fit:
    """Pairwise fits; queries weigh the mean weight of their documents."""

    def fit(queries: Bools) -> list[Floats]:
        weights = sum_by_query(problem.kept(queries), problem.indptr) / np.maximum(np.diff(problem.indptr), 1)
        found, at = [], start
        for strength in strengths:
            at = fit_pairs(problem.scorer, at, problem.labels, problem.indptr, weights, strength, problem.n_threads)
            found.append(at)
        return found

    return fit


def fit_squares(problem: FitProblem, start: Floats, strength: float) -> Floats:
    """Any scorer's parameters with the least weighted variance of the errors, plus strength times their squares."""
    from scipy.optimize import minimize

    shares = problem.weights / max(problem.weights.sum(), np.finfo(float).tiny)

    def cost(parameters: Floats) -> tuple[float, Floats]:
        ahead = problem.scorer.scores(parameters, problem.n_threads) - problem.targets
        # The level of scores changes no order, and base scores may have any.
        ahead -= shares @ ahead
        back = problem.scorer.pull_back(parameters, 2.0 * shares * ahead, problem.n_threads)
        return float(shares @ ahead**2 + strength * parameters @ parameters), back + 2.0 * strength * parameters

    result = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return np.asarray(result.x)


def start_parameters(
    start: Start, problem: FitProblem, first: Floats, metric: BoundMetric, folds: Sequence[Bools]
) -> Floats:
    """The fit that `start` names; linear ones with the strength that is best for the metric over the folds."""
    if not isinstance(problem.scorer, LinearScorer):
        if start == "pairwise":
            return pairs_fit(problem, [_NET_STRENGTH], first)(np.ones(len(problem.indptr) - 1, np.bool_))[0]
        weights = overweighted(problem.targets - problem.targets.min(), problem.weights)
        return fit_squares(
            replace(problem, weights=weights) if start == "overweighted" else problem, first, _NET_STRENGTH
        )
    pairwise = start == "pairwise"
    strengths = _PAIR_STRENGTHS if pairwise else STRENGTHS
    fit = (
        pairs_fit(problem, strengths, first)
        if pairwise
        else ridge_fit(problem, strengths, start == "overweighted", first)
    )
    at = strengths.index(1.0)
    if len(folds) > 1:
        judge = Judge(problem.scorer, metric)
        at = int(np.argmax(fold_values(fit, folds, judge, None, problem.n_threads)))
    return fit(np.ones(len(problem.indptr) - 1, np.bool_))[at]


def fold_values(fit: Fit, folds: Sequence[Bools], judge: Judge, other: Judge | None, n_threads: int | None) -> Floats:
    """The mean metric for each strength, over queries that the fits did not see: see `unseen_mean`."""
    by_fold = [fit(~aside) for aside in folds]
    return np.array([unseen_mean(fits, folds, judge, other, n_threads) for fits in zip(*by_fold, strict=True)])


def calibrated(parameters: Floats, scores: Floats, targets: Floats) -> Floats:
    """The parameters times the slope of the targets by their scores, so that a unit of score is a unit of target.

    How large scores are says nothing about an order, but sigma is measured in them; and weights that a strong
    regularisation has shrunk, or that another ranker learned, may have any size.

    >>> import numpy as np
    >>> from swaprank.smoothrank.start import calibrated
    >>> calibrated(np.array([2.0, 4.0]), scores=np.array([0.0, 2.0]), targets=np.array([0.0, 1.0])).tolist()
    [1.0, 2.0]
    """
    ahead = scores - scores.mean()
    spread = float(ahead @ ahead)
    slope = float(ahead @ targets) / spread if spread > 0 else 0.0
    return parameters * slope if slope > 0 and np.isfinite(slope) else parameters
