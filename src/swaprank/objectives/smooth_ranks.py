"""Average precision by soft ranks [Chapelle2010, Eqs. 5 and 9].

a_ij = 1 / (1 + exp((s_i - s_j) / sigma))     is document j above i?
r_i  = 1 + sum_(j≠i) a_ij                     the soft rank of i
n_i  = 1 + sum_(j≠i) l_j a_ij                 relevant documents down to i, itself included
A    = sum_i l_i n_i / r_i / sum_i l_i

The paper's Eq. 9 takes i above itself with a_ii = 1/2, and so would not tend to AP; here it counts 1, as in Eq. 4.
"""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel, vector_kernel
from swaprank.metrics.terms import MetricTerms
from swaprank.objectives.smooth_exponential import LOG2_E, exp2


@vector_kernel
def soft_rank(score: float, scale: float, scores: Floats, relevant: Floats, above: Floats) -> tuple[float, float]:
    """above[j] = 1 / (1 + 2^(scale (score - s_j))); gives their sum, and that of the relevant ones."""
    total, found = 0.0, 0.0
    for j in range(len(above)):
        ahead = scale * (scores[j] - score)
        small = exp2(-min(abs(ahead), 1000.0))
        share = (1.0 if ahead > 0.0 else small) / (1.0 + small)
        above[j] = share
        total += share
        found += share * relevant[j]
    return total, found


@vector_kernel
def push(factor: float, rank: float, found: float, relevant: Floats, above: Floats, grad: Floats) -> float:
    """Add d(n_i / r_i) / ds_j to the gradients of all documents j; gives their sum, the force on i, reversed."""
    total = 0.0
    for j in range(len(above)):
        force = factor * (relevant[j] * rank - found) * above[j] * (1.0 - above[j])
        grad[j] += force
        total += force
    return total


@kernel
def smooth_rank_queries(
    terms: MetricTerms,
    indptr: Ints,
    weights: Floats,
    scores: Floats,
    sigma: float,
    longest: int,
    first: int,
    last: int,
    values: Floats,
    grad: Floats,
) -> None:
    """The smooth average precision of the queries from first to last, and its gradient.

    Both are multiplied by the query's weight; queries of weight 0 cost nothing.
    """
    above = np.empty(longest)
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        divisor = terms.divisors[query] / weights[query]
        s, relevant, shares = scores[start:stop], terms.gains[start:stop], above[: stop - start]
        g = grad[start:stop]
        g[:] = 0.0
        value = 0.0
        for i in range(len(s) if divisor != np.inf else 0):
            if relevant[i] > 0.0:
                # The sums have a_ii = 1/2 in them, where 1 is meant.
                total, found = soft_rank(s[i], LOG2_E / sigma, s, relevant, shares)
                rank, found = total + 0.5, found + 0.5
                value += found / rank
                factor = 1.0 / (sigma * rank * rank * divisor)
                force = push(factor, rank, found, relevant, shares, g)
                g[i] -= force
        values[query] = value / divisor
