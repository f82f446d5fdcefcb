"""The Jacobian of lambdas, and if they are the gradient of a cost [Burges2006, section 4; Burges2010, section 4.3]."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.row_values import check_scores
from swaprank.errors import DataError
from swaprank.metrics.metric import Metric
from swaprank.metrics.terms import PAIRWISE
from swaprank.objectives.diagonal import without_diagonal
from swaprank.objectives.lambdarank_objective import LambdaArrays, LambdaRankObjective, learned_metric
from swaprank.objectives.long_lists import LongLambdaArrays
from swaprank.objectives.objective import BoundKernelObjective
from swaprank.objectives.objective_names import PairwiseObjective, pairwise_objective
from swaprank.objectives.ranknet_objective import LongRankNetArrays, RankNetArrays
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks

_TOLERANCE = 1e-6
"""Relative to the largest entry or eigenvalue; numeric differences have an error of about 1e-9."""
_STEP = 1e-5


@final
@dataclass(frozen=True, eq=False, repr=False)
class LambdaJacobian(Result):
    """J_ij = d grad_i / d s_j at the scores of one query; `str()` tells if it is that of a cost.

    >>> import swaprank as sr
    >>> isinstance(sr.instruments.lambda_jacobian("ranknet", [0, 1], [0.0, 0.0]), sr.instruments.LambdaJacobian)
    True
    """

    objective: PairwiseObjective
    matrix: Floats
    eigenvalues: Floats
    """The eigenvalues of the symmetric part, ascending."""
    order_held: bool
    """True if the swap gains are those of this order of the documents; they jump where two documents swap ranks."""

    @property
    def asymmetry(self) -> float:
        """The largest |J_ij - J_ji|, relative to the largest |J_ij|."""
        largest = np.abs(self.matrix).max()
        return float(np.abs(self.matrix - self.matrix.T).max() / largest) if largest > 0 else 0.0

    @property
    def symmetric(self) -> bool:
        """True if the lambdas are, near these scores, the gradient of some cost (Poincaré's lemma)."""
        return self.asymmetry <= _TOLERANCE

    @property
    def positive_semidefinite(self) -> bool:
        """True if that cost is convex near these scores."""
        return bool(self.eigenvalues[0] >= -_TOLERANCE * np.abs(self.eigenvalues).max())

    @property
    def positive_definite(self) -> bool:
        """True if it is strictly convex: then it has one minimum. The lambdas of pairs need `diagonal` for this."""
        return bool(self.eigenvalues[0] > _TOLERANCE * np.abs(self.eigenvalues).max())

    def _blocks(self) -> Blocks:
        lowest, highest = (f"{0.0 if abs(value) < 1e-12 else value:.3g}" for value in self.eigenvalues[[0, -1]])
        about = f"symmetric (to {self.asymmetry:.1g})" if self.symmetric else f"not symmetric ({self.asymmetry:.2g})"
        definite = "" if self.positive_semidefinite else "not "
        name = "definite" if self.positive_definite else "semidefinite"
        verdict = "no cost has these lambdas as its gradient"
        if self.symmetric:
            verdict = f"the lambdas are the gradient of a cost that is {definite}convex"
        where = "as long as no two documents change places" if self.order_held else "at all scores"
        if self.order_held and not (self.symmetric and self.positive_semidefinite):
            where = "at these scores"
        return [
            f"Jacobian of {len(self.matrix)} lambdas: {about}, {definite}positive {name} "
            f"(eigenvalues {lowest} to {highest}); {verdict}, {where}."
        ]

    def _values(self) -> dict[str, Any]:
        names = ("objective", "matrix", "eigenvalues", "asymmetry", "symmetric", "positive_semidefinite")
        return {name: getattr(self, name) for name in (*names, "positive_definite", "order_held")}

    def _columns(self) -> dict[str, list[Any]]:
        """One row per pair of documents: d grad_i / d s_j."""
        i, j = np.indices(self.matrix.shape)
        return {"i": i.ravel().tolist(), "j": j.ravel().tolist(), "value": self.matrix.ravel().tolist()}


def lambda_jacobian(
    objective: str | Metric | PairwiseObjective, labels: ArrayLike, scores: ArrayLike
) -> LambdaJacobian:
    """The Jacobian of one query's lambdas: symmetric if they are a gradient, positive semidefinite if of a convex cost.

    RankNet's is both, at all scores: J is the Laplacian of a graph whose edges are the pairs, weighted by
    sigma² rho (1 - rho). So is LambdaRank's, with |dZ| as a factor, as long as the order of the documents is the same.
    Where two documents swap ranks, |dZ| of their pairs with third documents jumps, so no cost has these lambdas as its
    gradient everywhere, except for queries of two documents. Normalized lambdas are not a gradient anywhere.

    The lambdas of pairs do not feel a shift of all scores, so that an eigenvalue is 0; a `diagonal` of the objective is
    added to all eigenvalues.

    Args:
        objective: "ranknet", a metric or its name for LambdaRank as in the paper, or an objective.
        labels: One per document of one query.
        scores: One per document; ties are broken as in training.

    >>> import swaprank as sr
    >>> print(sr.instruments.lambda_jacobian("ranknet", [2, 1, 0], [0.5, 0.1, 0.3]))
    Jacobian of 3 lambdas: symmetric (to 0), positive semidefinite (eigenvalues 0 to 0.743); the lambdas are the \
gradient of a cost that is convex, at all scores.
    >>> sr.instruments.lambda_jacobian("ndcg", [2, 1, 0], [0.5, 0.1, 0.3]).order_held
    True
    """
    chosen = pairwise_objective(objective)
    judged = np.atleast_1d(np.asarray(labels, dtype=np.float64))
    if judged.ndim != 1 or len(judged) == 0:
        raise DataError("labels must have one label per document of one query.")
    here = check_scores(np.atleast_1d(np.asarray(scores, dtype=np.float64)), len(judged))
    data = Dataset(np.zeros((len(judged), 1)), judged, qid=np.zeros(len(judged), np.int64))
    bound = chosen.bind(data, random_state=0, n_threads=1)
    arrays = without_diagonal(bound.arrays)
    arrays = arrays.lists if isinstance(arrays, LongRankNetArrays | LongLambdaArrays) else arrays
    is_ranknet = isinstance(arrays, RankNetArrays)
    if is_ranknet or (isinstance(arrays, LambdaArrays) and not arrays.normalize):
        matrix = _laplacian(_pair_weights(chosen, arrays, judged, here), here, arrays.sigma)
        matrix += getattr(chosen, "diagonal", 0.0) * np.eye(len(here))
    else:
        matrix = _by_differences(bound, here)
    eigenvalues = np.asarray(np.linalg.eigvalsh((matrix + matrix.T) / 2), dtype=np.float64)
    return LambdaJacobian(chosen, matrix, eigenvalues, not is_ranknet)


def _pair_weights(
    objective: PairwiseObjective, arrays: RankNetArrays | LambdaArrays, labels: Floats, scores: Floats
) -> Floats:
    """The factor of each pair's RankNet gradient; 0 for two documents that do not form a pair."""
    n = len(labels)
    if isinstance(arrays, RankNetArrays):
        is_pair = ~np.eye(n, dtype=bool) if arrays.ties else arrays.labels[:, None] != arrays.labels
        return np.where(is_pair, 1.0 / arrays.divisors[0], 0.0)
    terms, weights = arrays.terms, np.empty((n, n))
    order = arrays.tie_order[np.argsort(-scores[arrays.tie_order], kind="stable")]
    gains: Floats = np.full((n, n), 1.0 / terms.divisors[0])
    if isinstance(objective, LambdaRankObjective) and terms.family != PAIRWISE:
        gains = np.abs(learned_metric(objective.metric, objective.horizon).swap_gains(labels[order]))
    weights[np.ix_(order, order)] = gains
    return np.where(terms.gains[:, None] != terms.gains, weights, 0.0)


def _laplacian(weights: Floats, scores: Floats, sigma: float) -> Floats:
    margin = sigma * (scores[:, None] - scores)
    edges: Floats = sigma**2 * weights * expit(margin) * expit(-margin)
    return np.diag(edges.sum(axis=1)) - edges


def _by_differences(bound: BoundKernelObjective, scores: Floats) -> Floats:
    """Central differences, with steps so small that no two documents swap ranks."""
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
