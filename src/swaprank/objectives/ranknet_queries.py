"""RankNet's gradients, query by query: from the labels, or from pairs that were given.

p_ij = 1 / (1 + exp(-sigma (s_i - s_j)))            the model's probability that i is above j
C_ij = -P_ij log p_ij - (1 - P_ij) log(1 - p_ij)     with the target P_ij               [Burges2005, Eq. 3]
grad_i += sigma (p_ij - P_ij)                        grad_j -= sigma (p_ij - P_ij)
hess_i, hess_j += sigma² p_ij (1 - p_ij)
"""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.objectives.lambdas import LONGEST_STEP
from swaprank.objectives.pair_sums import push_levels
from swaprank.objectives.ranknet_pairs import push_list_down

LONG_LIST = 2000
"""Lists longer than this take the fast pair sums, which are as fast as the exact ones from 500 to 1000 documents on."""


def long_lists(longest: int) -> tuple[int, ...]:
    """A tuple that says by its length, which Numba knows before it compiles, whether there are long lists.

    >>> from swaprank.objectives.ranknet_queries import long_lists
    >>> long_lists(100), long_lists(10_000)
    ((), (0,))
    """
    return (0,) if longest > LONG_LIST else ()


@kernel
def ranknet_queries(
    labels: Floats,
    divisors: Floats,
    indptr: Ints,
    by_label: Ints,
    scores: Floats,
    sigma: float,
    ties: bool,
    long: tuple[int, ...],
    longest: int,
    first: int,
    last: int,
    grad: Floats,
    hess: Floats,
) -> None:
    """Write grad and hess of the queries from first to last; `by_label` has each query's documents by falling label.

    `long` is what `long_lists` says of the longest: without long lists, their kernels are not compiled.
    """
    ranked, x, e = np.empty(longest), np.empty(longest), np.empty(longest)
    g, h = np.empty(longest), np.empty(longest)
    places, scratch = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for query in range(first, last):
        order = by_label[indptr[query] : indptr[query + 1]]
        n = len(order)
        for r in range(n):
            ranked[r] = labels[order[r]]
            x[r] = sigma * scores[order[r]]
            g[r] = 0.0
            h[r] = 0.0
        if len(long) == 0:
            if n > 0:
                push_list_down(ranked[:n], x[:n], ties, e[:n], g[:n], h[:n])
        elif n > LONG_LIST:
            push_levels(ranked[:n], x[:n], ties, places, scratch, e, g, h)
        elif n > 0:
            push_list_down(ranked[:n], x[:n], ties, e[:n], g[:n], h[:n])
        for r in range(n):
            force = sigma * g[r] / divisors[query]
            bend = sigma * sigma * h[r] / divisors[query]
            grad[order[r]] = force
            hess[order[r]] = max(bend, sigma * abs(force) / LONGEST_STEP)


@kernel
def given_pairs_queries(
    indptr: Ints,
    pair_indptr: Ints,
    above: Ints,
    below: Ints,
    targets: Floats,
    scores: Floats,
    sigma: float,
    first: int,
    last: int,
    grad: Floats,
    hess: Floats,
) -> None:
    """Write grad and hess of the queries from first to last, from the pairs that were given, with their targets P."""
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        for r in range(start, stop):
            grad[r] = 0.0
            hess[r] = 0.0
        for pair in range(pair_indptr[query], pair_indptr[query + 1]):
            i, j, target = above[pair], below[pair], targets[pair]
            ahead = sigma * (scores[i] - scores[j])
            small = np.exp(-abs(ahead))
            upper, lower = 1.0 / (1.0 + small), small / (1.0 + small)
            p, q = (upper, lower) if ahead > 0.0 else (lower, upper)
            # (1 - P) p - P (1 - p) = p - P, to all digits where P is 0 or 1.
            force = sigma * ((1.0 - target) * p - target * q)
            bend = sigma * sigma * upper * lower
            grad[i] += force
            grad[j] -= force
            hess[i] += bend
            hess[j] += bend
        for r in range(start, stop):
            hess[r] = max(hess[r], sigma * abs(grad[r]) / LONGEST_STEP)
