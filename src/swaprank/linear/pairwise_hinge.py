"""The pairwise start of SmoothRank: the better document of each pair should lead by a margin of 1.

minimize   mean over queries of  mean over pairs l_i > l_j of  max(0, 1 - (s_i - s_j))²   +   alpha |w|²

For a linear model this is a ranking SVM. L-BFGS needs no more than the gradient of a score function, so that it fits
nets, too; the ranker RankSVM takes Newton steps, which need a linear model (`baselines/primal_svm.py`).
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.data.grouping import longest_list, sum_by_query
from swaprank.kernels import kernel
from swaprank.lanes import WIDTH, dot, load, spread, store, sum_lanes, where_positive
from swaprank.linear.cross_validation import Fit, FitProblem
from swaprank.linear.minimization import limited_memory_bfgs
from swaprank.objectives.ranknet_objective import by_descending_label
from swaprank.threads import query_chunks, run_in_threads, thread_count

_PAIRS_WORTH_A_THREAD = 100_000.0


@kernel
def squared_hinge(score: float, scores: Floats, grad: Floats) -> tuple[float, float]:
    """Add 2 h_j to each grad[j], h_j = max(0, 1 - (score - s_j)); return the sums of h_j and of h_j²."""
    totals, squared, j, n = spread(0.0), spread(0.0), np.uint64(0), np.uint64(len(scores))
    while j + WIDTH <= n:
        margin = (1.0 - score) + load(scores, j)
        losses = where_positive(margin, margin, 0.0)
        store(grad, j, load(grad, j) + 2.0 * losses)
        totals += losses
        squared += losses * losses
        j += WIDTH
    total, squares = sum_lanes(totals), sum_lanes(squared)
    for k in range(j, n):
        loss = max(0.0, (1.0 - score) + scores[k])
        grad[k] += 2.0 * loss
        total += loss
        squares += loss * loss
    return total, squares


@kernel
def squared_hinge_queries(
    labels: Floats,
    indptr: Ints,
    by_label: Ints,
    scores: Floats,
    longest: int,
    first: int,
    last: int,
    costs: Floats,
    grad: Floats,
) -> None:
    """Compute the mean loss of each query's pairs, and its gradient; by_label sorts by descending label."""
    s, g = np.empty(longest), np.empty(longest)
    for query in range(first, last):
        start, n = indptr[query], indptr[query + 1] - indptr[query]
        for r in range(n):
            s[r] = scores[by_label[start + r]]
            g[r] = 0.0
        cost, n_pairs, worse = 0.0, 0, 0
        for i in range(n):
            label = labels[by_label[start + i]]
            while worse < n and labels[by_label[start + worse]] >= label:
                worse += 1
            total, squares = squared_hinge(s[i], s[worse:n], g[worse:n])
            g[i] -= 2.0 * total
            cost += squares
            n_pairs += n - worse
        costs[query] = cost / max(n_pairs, 1)
        for r in range(n):
            grad[by_label[start + r]] = g[r] / max(n_pairs, 1)


def pairwise_fit(problem: FitProblem, strengths: Sequence[float], start: Floats) -> Fit:
    """Return the fit of pairs for each strength; the weight of a query is the mean weight of its documents.

    >>> import numpy as np
    >>> from swaprank.linear.architectures import LinearScoreFunction
    >>> from swaprank.linear.cross_validation import FitProblem
    >>> from swaprank.linear.pairwise_hinge import pairwise_fit
    >>> function = LinearScoreFunction(np.array([[1.0], [0.0], [0.5]], dtype=np.float32), np.ones(1))
    >>> labels = np.array([2.0, 0.0, 1.0])
    >>> problem = FitProblem(function, labels, labels, indptr=np.array([0, 3]), weights=np.ones(3))
    >>> [fitted.round(3).tolist() for fitted in pairwise_fit(problem, [0.0], np.zeros(1))(problem.all_queries)]
    [[2.0]]
    """
    score_function, n_threads = problem.score_function, problem.n_threads
    labels, indptr = problem.labels, problem.indptr
    by_label, longest, lengths = by_descending_label(labels, indptr), longest_list(indptr), np.diff(indptr)
    chunks = query_chunks(indptr, thread_count(n_threads), costs=lengths**2, least_cost=_PAIRS_WORTH_A_THREAD)
    costs, grad = np.empty(len(lengths)), np.empty(len(labels))

    def fit(queries: Bools) -> list[Floats]:
        weights = sum_by_query(problem.weights_in(queries), indptr) / np.maximum(lengths, 1)
        shares = weights / max(weights.sum(), np.finfo(float).tiny)
        share_of_row = np.repeat(shares, lengths)

        def cost(parameters: Floats, strength: float) -> tuple[float, Floats]:
            scores = score_function(parameters, n_threads)
            run_in_threads(
                lambda first, last: squared_hinge_queries(
                    labels, indptr, by_label, scores, longest, first, last, costs, grad
                ),
                chunks,
            )
            back = score_function.pull_back(parameters, grad * share_of_row, n_threads)
            return dot(costs, shares) + strength * dot(parameters, parameters), back + 2.0 * strength * parameters

        found = [start]
        for strength in strengths:
            at_strength = partial(cost, strength=strength)
            found.append(limited_memory_bfgs(at_strength, found[-1], max_iterations=200, least_slope=1e-6))
        return found[1:]

    return fit
