"""Average precision by soft ranks [Chapelle2010, Eqs. 5 and 9].

a_ij = 1 / (1 + exp((s_i - s_j) / sigma))     is document j above i? sigma: the smoothing factor
r_i  = 1 + sum_(j≠i) a_ij                     the soft rank of i
n_i  = 1 + sum_(j≠i) l_j a_ij                 relevant documents down to i, itself included
A    = sum_i l_i n_i / r_i / sum_i l_i

The paper's Eq. 9 includes a_ii = 1/2, with which A would not tend to AP; here it is 1, as in Eq. 4. The kernel writes
minus the metric and minus its gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel, vector_kernel
from swaprank.metrics.terms import MetricTerms
from swaprank.objectives.query_gradients import gradients_of, longest_of
from swaprank.elementary import LOG2_E, exp2


class SmoothRankArrays(NamedTuple):
    """Average precision by soft ranks on one data set."""

    terms: MetricTerms
    query_weights: Floats
    smoothing_factor: float
    costs: Floats
    """Receives the cost of each query: minus the smooth metric, times the query's weight."""


@vector_kernel
def soft_rank(score: float, scale: float, scores: Floats, relevant: Floats, above: Floats) -> tuple[float, float]:
    """above[j] = 1 / (1 + 2^(scale (score - s_j))); return their sum and that of the relevant documents."""
    total, found = 0.0, 0.0
    for j in range(len(above)):
        margin = scale * (scores[j] - score)
        small = exp2(-min(abs(margin), 1000.0))
        share = (1.0 if margin > 0.0 else small) / (1.0 + small)
        above[j] = share
        total += share
        found += share * relevant[j]
    return total, found


@vector_kernel
def add_rank_gradient(factor: float, rank: float, found: float, relevant: Floats, above: Floats, grad: Floats) -> float:
    """Add d(n_i / r_i) / ds_j to the gradients of all documents j; return their sum, minus which i gets."""
    total = 0.0
    for j in range(len(above)):
        pair_grad = factor * (relevant[j] * rank - found) * above[j] * (1.0 - above[j])
        grad[j] += pair_grad
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
            if relevant[i] > 0.0:
                # The sums contain a_ii = 1/2, where 1 is needed.
                total, found = soft_rank(s[i], LOG2_E / sigma, s, relevant, shares)
                rank, found = total + 0.5, found + 0.5
                value += found / rank
                factor = 1.0 / (sigma * rank * rank * divisor)
                total = add_rank_gradient(factor, rank, found, relevant, shares, g)
                g[i] -= total
        arrays.costs[query] = -(value / divisor)
        for r in range(n):
            grad[start + r] = -g[r]
            hess[start + r] = abs(g[r]) / sigma
