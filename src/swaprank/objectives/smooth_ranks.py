"""Average precision and sums of discounted gains by soft ranks [Chapelle2010, Eqs. 5 and 9].

a_ij = 1 / (1 + exp((s_i - s_j) / sigma))     is document j above i? sigma: the smoothing factor
r_i  = 1 + sum_(j≠i) a_ij                     the soft rank of i
A    = sum_i G_i D(r_i) / divisor             for (N)DCG [Eq. 5]
n_i  = c + sum_(j≠i) l_j a_ij                 relevant documents down to i, itself included
A    = sum_i l_i n_i / r_i / sum_i l_i        for average precision

The paper's Eq. 9 has c = a_ii = 1/2, with which A does not tend to AP; "ranks" has c = 1, as in Eq. 4, and "ranks_half"
the paper's. The kernel writes minus the metric and minus its gradient.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.elementary import LOG2_E, exp2, log2
from swaprank.kernels import kernel
from swaprank.lanes import WIDTH, dot, load, spread, store, sum_lanes, sum_of
from swaprank.metrics.terms import CUMULATIVE, MetricTerms
from swaprank.objectives.query_gradients import gradients_of, longest_of

RANK_DISCOUNTS = ("log2", "reciprocal")
"""The discounts that have a slope at every soft rank."""


class SmoothRankArrays(NamedTuple):
    """A metric by soft ranks on one data set."""

    terms: MetricTerms
    query_weights: Floats
    smoothing_factor: float
    own: float
    """c: how much a relevant document counts for its own precision."""
    is_reciprocal: bool
    """The discount of a sum of gains: 1 / r if True, else 1 / log2(1 + r)."""
    costs: Floats
    """Receives the cost of each query: minus the smooth metric, times the query's weight."""


@kernel
def soft_rank(score: float, scale: float, scores: Floats, relevant: Floats, above: Floats) -> tuple[float, float]:
    """above[j] = 1 / (1 + 2^(scale (score - s_j))); return their sum and that of the relevant documents."""
    for j in range(len(above)):
        margin = scale * (scores[j] - score)
        small = exp2(-min(abs(margin), 1000.0))
        above[j] = (1.0 if margin > 0.0 else small) / (1.0 + small)
    return sum_of(above, 0, len(above)), dot(above, relevant)


@kernel
def discount_at(rank: float, is_reciprocal: bool) -> tuple[float, float]:
    """D(r) and its slope."""
    if is_reciprocal:
        return 1.0 / rank, -1.0 / (rank * rank)
    discount = 1.0 / log2(1.0 + rank)
    return discount, -LOG2_E * discount * discount / (1.0 + rank)


@kernel
def add_rank_gradient(factor: float, rank: float, found: float, relevant: Floats, above: Floats, grad: Floats) -> float:
    """Add d(n_i / r_i) / ds_j to the gradients of all documents j; return their sum, minus which i gets.

    With rank = 0 and found = -1, it is the slope of r_i alone.
    """
    sums, j, n = spread(0.0), np.uint64(0), np.uint64(len(above))
    while j + WIDTH <= n:
        share = load(above, j)
        pair_grads = factor * (load(relevant, j) * rank - found) * share * (1.0 - share)
        store(grad, j, load(grad, j) + pair_grads)
        sums += pair_grads
        j += WIDTH
    total = sum_lanes(sums)
    for k in range(j, n):
        pair_grad = factor * (relevant[k] * rank - found) * above[k] * (1.0 - above[k])
        grad[k] += pair_grad
        total += pair_grad
    return total


@gradients_of(SmoothRankArrays)
@kernel
def smooth_rank_queries(
    arrays: SmoothRankArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write costs, grad and hess of the queries from first to last; queries of weight 0 take no time."""
    terms, sigma, longest = arrays.terms, arrays.smoothing_factor, longest_of(indptr, first, last)
    above, gradient = np.empty(longest), np.empty(longest)
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        n = stop - start
        divisor, value = terms.divisors[query] / arrays.query_weights[query], 0.0
        s, relevant, shares, g = scores[start:stop], terms.gains[start:stop], above[:n], gradient[:n]
        for r in range(n):
            g[r] = 0.0
        for i in range(n if divisor != np.inf else 0):
            if relevant[i] != 0.0:
                # The sums contain a_ii = 1/2, where 1 or c is needed.
                total, found = soft_rank(s[i], LOG2_E / sigma, s, relevant, shares)
                rank = total + 0.5
                if terms.family == CUMULATIVE:
                    discount, slope = discount_at(rank, arrays.is_reciprocal)
                    value += relevant[i] * discount
                    total = add_rank_gradient(relevant[i] * slope / (sigma * divisor), 0.0, -1.0, relevant, shares, g)
                else:
                    found += arrays.own - 0.5
                    value += found / rank
                    factor = 1.0 / (sigma * rank * rank * divisor)
                    total = add_rank_gradient(factor, rank, found, relevant, shares, g)
                g[i] -= total
        arrays.costs[query] = -(value / divisor)
        for r in range(n):
            grad[start + r] = -g[r]
            hess[start + r] = abs(g[r]) / sigma
