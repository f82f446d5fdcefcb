"""RankNet's cost of pairs with its gradient and hessian, for Newton's method.

C_ij = log(1 + exp(-m)) + (1 - P_ij) m        m = sigma (s_i - s_j)               [Burges2005, Eq. 3]
grad_i += sigma (p_ij - P_ij)                 p_ij = 1 / (1 + exp(-m))
(H v)_i += sigma² p_ij (1 - p_ij) (v_i - v_j)
"""

from typing import final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.baselines.primal_svm import Losses, PairCost
from swaprank.data.grouping import sum_by_query
from swaprank.data.pairs import PairLists, pairs_by_query, pairs_of_labels
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.objectives.ranknet_costs import pair_cost
from swaprank.objectives.ranknet_objective import pair_derivatives
from swaprank.rankers.linear_rounds import LinearProblem
from swaprank.threads import query_chunks, run_in_threads, thread_count


@kernel
def entropy_queries(
    pairs: PairLists, indptr: Ints, sigma: float, scores: Floats, first: int, last: int, costs: Floats, bends: Floats,
    grad: Floats,
) -> None:  # fmt: skip
    """Fill cost and gradient of the queries from first to last, and the curvature of each of their pairs."""
    for query in range(first, last):
        total = 0.0
        for r in range(indptr[query], indptr[query + 1]):
            grad[r] = 0.0
        for pair in range(pairs.indptr[query], pairs.indptr[query + 1]):
            i, j, target, weight = pairs.above[pair], pairs.below[pair], pairs.probability[pair], pairs.weight[pair]
            margin = sigma * (scores[i] - scores[j])
            slope, curvature = pair_derivatives(margin, target)
            total += weight * (pair_cost(margin) + (1.0 - target) * margin)
            grad[i] += weight * sigma * slope
            grad[j] -= weight * sigma * slope
            bends[pair] = weight * sigma * sigma * curvature
        costs[query] = total


@kernel
def entropy_hessian(
    pairs: PairLists, indptr: Ints, bends: Floats, moves: Floats, first: int, last: int, product: Floats
) -> None:
    """product: the hessian times moves, for the documents of the queries from first to last."""
    for r in range(indptr[first], indptr[last]):
        product[r] = 0.0
    for pair in range(pairs.indptr[first], pairs.indptr[last]):
        i, j = pairs.above[pair], pairs.below[pair]
        change = bends[pair] * (moves[i] - moves[j])
        product[i] += change
        product[j] -= change


@final
class PairEntropy(PairCost):
    """The mean cross entropy of the pairs of a data set: the given ones, or all of different labels."""

    def __init__(self, problem: LinearProblem, sigma: float) -> None:
        data, indptr = problem.data, problem.indptr
        pairs = (
            pairs_of_labels(problem.labels, indptr)
            if data.pairs is None
            else pairs_by_query(data.pairs, indptr, data.order)
        )
        if not pairs.weight.any():
            what = (
                "no query has documents of different labels"
                if data.pairs is None
                else "no given pair has a weight above 0"
            )
            raise DataError(f"{what}: there is nothing to learn from.")
        # A query counts by the mean weight of its documents.
        of_query = sum_by_query(problem.document_weights, indptr) / np.diff(indptr)
        weight = pairs.weight * np.repeat(of_query, np.diff(pairs.indptr))
        self.pairs = pairs._replace(weight=weight / max(float(np.sum(weight)), np.finfo(float).tiny))
        self.indptr, self.sigma, n = indptr, sigma, len(problem.labels)
        self.chunks = query_chunks(indptr, thread_count(problem.n_threads), costs=np.diff(pairs.indptr) + 1.0)
        self.costs, self.bends = np.empty(len(indptr) - 1), np.empty(len(pairs.above))
        self.grad, self.product = np.empty(n), np.empty(n)

    def at(self, scores: Floats) -> Losses:
        """See `PairCost`."""
        out = self.costs, self.bends, self.grad
        run_in_threads(
            lambda first, last: entropy_queries(self.pairs, self.indptr, self.sigma, scores, first, last, *out),
            self.chunks,
        )
        cost = float(np.sum(self.costs))
        return Losses(cost, cost, 0.0, self.grad.copy())

    def hessian_product(self, moves: Floats) -> Floats:
        """See `PairCost`."""
        run_in_threads(
            lambda first, last: entropy_hessian(self.pairs, self.indptr, self.bends, moves, first, last, self.product),
            self.chunks,
        )
        return self.product.copy()
