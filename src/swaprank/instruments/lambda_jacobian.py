"""When are lambdas a gradient? Look at their Jacobian [Burges2006, section 4; Burges2010, section 4.3]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.scores import check_scores
from swaprank.errors import DataError
from swaprank.metrics.metric import Metric
from swaprank.metrics.terms import PAIRWISE
from swaprank.objectives.forces import PAIRS, RANKNET, BoundForces
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective_names import PairwiseObjective, pairwise_objective

_TOLERANCE = 1e-6
"""Relative to the largest entry or eigenvalue; differences of gradients are good to about 1e-9."""
_STEP = 1e-5


@final
@dataclass(frozen=True, eq=False)
class LambdaJacobian:
    """J_ij = d grad_i / d s_j at the scores of one query, and what it says; `str()` puts it into words.

    >>> import swaprank as sr
    >>> isinstance(sr.lambda_jacobian("ranknet", [0, 1], [0.0, 0.0]), sr.LambdaJacobian)
    True
    """

    objective: PairwiseObjective
    matrix: Floats
    eigenvalues: Floats
    """Of the symmetric part, ascending."""
    order_held: bool
    """Whether swap gains were held as they are at this order of the documents: they jump where two change places."""

    @property
    def asymmetry(self) -> float:
        """The largest |J_ij - J_ji|, relative to the largest |J_ij|."""
        largest = np.abs(self.matrix).max()
        return float(np.abs(self.matrix - self.matrix.T).max() / largest) if largest > 0 else 0.0

    @property
    def symmetric(self) -> bool:
        """Whether the lambdas are, about here, the gradient of some cost (Poincaré's lemma)."""
        return self.asymmetry <= _TOLERANCE

    @property
    def positive_semidefinite(self) -> bool:
        """Whether that cost is, about here, convex."""
        return bool(self.eigenvalues[0] >= -_TOLERANCE * np.abs(self.eigenvalues).max())

    def __str__(self) -> str:
        lowest, highest = (f"{0.0 if abs(value) < 1e-12 else value:.3g}" for value in self.eigenvalues[[0, -1]])
        about = f"symmetric (to {self.asymmetry:.1g})" if self.symmetric else f"not symmetric ({self.asymmetry:.2g})"
        definite = "" if self.positive_semidefinite else "not "
        if not self.symmetric:
            verdict = "no cost has these lambdas as its gradient"
        else:
            verdict = f"the lambdas are the gradient of a cost that is {'' if definite == '' else 'not '}convex"
        where = "as long as no two documents change places" if self.order_held else "at all scores"
        if self.order_held and not (self.symmetric and self.positive_semidefinite):
            where = "at these scores"
        return (
            f"Jacobian of {len(self.matrix)} lambdas: {about}, {definite}positive semidefinite "
            f"(eigenvalues {lowest} to {highest}); {verdict}, {where}."
        )


def lambda_jacobian(
    objective: str | Metric | PairwiseObjective, labels: ArrayLike, scores: ArrayLike
) -> LambdaJacobian:
    """The Jacobian of one query's lambdas: symmetric if they are a gradient, positive semidefinite if of a convex cost.

    RankNet's is both, at all scores: J is the Laplacian of a graph whose edges are the pairs, weighted by
    sigma² rho (1 - rho). So is LambdaRank's, with |dZ| as a factor, inside every set of scores that put the documents
    in one order. Where two documents change places, |dZ| of their pairs with third ones jumps, so that no cost has
    these lambdas everywhere, unless a query has but two documents. Normalised lambdas are not even there a gradient.

    Args:
        objective: "ranknet", a metric or its name for LambdaRank as in the paper, or an objective.
        labels: Of one query's documents.
        scores: One a document; ties are broken as in training.

    >>> import swaprank as sr
    >>> print(sr.lambda_jacobian("ranknet", [2, 1, 0], [0.5, 0.1, 0.3]))
    Jacobian of 3 lambdas: symmetric (to 0), positive semidefinite (eigenvalues 0 to 0.743); the lambdas are the \
gradient of a cost that is convex, at all scores.
    >>> sr.lambda_jacobian("ndcg", [2, 1, 0], [0.5, 0.1, 0.3]).order_held
    True
    """
    chosen = pairwise_objective(objective)
    judged = np.atleast_1d(np.asarray(labels, dtype=np.float64))
    if judged.ndim != 1 or len(judged) == 0:
        raise DataError("labels must be one a document of one query.")
    here = check_scores(np.atleast_1d(np.asarray(scores, dtype=np.float64)), len(judged))
    data = Dataset(np.zeros((len(judged), 1)), judged, qid=np.zeros(len(judged), np.int64))
    bound = chosen.bind(data, random_state=0, n_threads=1)
    rule = bound.forces.rule
    if rule == RANKNET or (rule == PAIRS and not bound.forces.normalize):
        matrix = _laplacian(_pair_weights(chosen, bound, judged, here), here, bound.forces.sigma)
    else:
        matrix = _by_differences(bound, here)
    eigenvalues = np.asarray(np.linalg.eigvalsh((matrix + matrix.T) / 2), dtype=np.float64)
    return LambdaJacobian(chosen, matrix, eigenvalues, rule != RANKNET)


def _pair_weights(objective: PairwiseObjective, bound: BoundForces, labels: Floats, scores: Floats) -> Floats:
    """What each pair's RankNet force is multiplied by; 0 for pairs that do not push."""
    forces, n = bound.forces, len(labels)
    pushes = forces.terms.gains[:, None] != forces.terms.gains
    if forces.ties:
        pushes = ~np.eye(n, dtype=bool)
    weights = np.full((n, n), 1.0 / forces.terms.divisors[0])
    if isinstance(objective, LambdaRankObjective) and forces.rule == PAIRS:
        order = forces.tie_order[np.argsort(-scores[forces.tie_order], kind="stable")]
        gains = weights if forces.terms.family == PAIRWISE else np.abs(objective.metric.swap_gains(labels[order]))
        rank = np.arange(n)
        weights = np.empty((n, n))
        weights[np.ix_(order, order)] = np.where(np.minimum(rank[:, None], rank) < forces.truncation, gains, 0.0)
    return np.where(pushes, weights, 0.0)


def _laplacian(weights: Floats, scores: Floats, sigma: float) -> Floats:
    ahead = sigma * (scores[:, None] - scores)
    edges: Floats = sigma**2 * weights * expit(ahead) * expit(-ahead)
    return np.diag(edges.sum(axis=1)) - edges


def _by_differences(bound: BoundForces, scores: Floats) -> Floats:
    """Central differences with steps so small that no two documents change places."""
    gaps = np.diff(np.sort(scores))
    if (gaps == 0).any():
        raise DataError("these lambdas jump where two scores are equal: give scores that differ.")
    step = min(_STEP, 0.25 * float(gaps.min(initial=1.0)))
    n = len(scores)
    matrix, up, down, hess = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)
    for j in range(n):
        move = step * (np.arange(n) == j)
        bound.update(scores + move, up, hess)
        bound.update(scores - move, down, hess)
        matrix[:, j] = (up - down) / (2 * step)
    return matrix
