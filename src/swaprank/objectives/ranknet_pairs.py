"""RankNet's gradients from labels, pair by pair: exact, and quadratic in the length of a list.

The target P_ij is 1 where i has the larger label, and 1/2 for equal labels if ties are pairs. With e_i = exp(sigma
s_i), 1 - p_ij = e_j / (e_i + e_j) and 1/2 - p_ij = (e_j - e_i) / 2 (e_i + e_j): one division per pair.
"""

import numpy as np

from swaprank.arrays import Floats
from swaprank.elementary import exp
from swaprank.kernels import kernel
from swaprank.lanes import sum_of
from swaprank.objectives.query_gradients import WIDEST_RANGE


@kernel
def add_list(labels: Floats, x: Floats, ties: bool, e: Floats, g: Floats, h: Floats) -> None:
    """Add p - P and p (1 - p) of all pairs of a list by descending label; x = sigma * score, e is scratch."""
    highest, lowest = x[0], x[0]
    for r in range(len(x)):
        highest = max(highest, x[r])
        lowest = min(lowest, x[r])
    if highest - lowest < WIDEST_RANGE:
        for r in range(len(x)):
            e[r] = exp(x[r] - highest)
        add_narrow_list(labels, e, ties, np.empty((2, len(x))), g, h)
    else:
        add_wide_list(labels, x, ties, g, h)


@kernel
def add_narrow_list(labels: Floats, e: Floats, ties: bool, pairs: Floats, g: Floats, h: Floats) -> None:
    """`add_list` from e = exp(sigma * score). Indices are unsigned: signed ones keep loops from vectorizing.

    pairs: A work array of two rows, the gradients and hessians of one document's pairs.
    """
    n, end, pair_grad, pair_hess = np.uint64(len(e)), np.uint64(0), pairs[0], pairs[1]
    for i in range(n):
        while end < n and labels[end] == labels[i]:
            end += np.uint64(1)
        mine = e[i]
        first = i + np.uint64(1) if ties else end
        for j in range(first, n):
            inverse = 1.0 / (mine + e[j])
            pair_grad[j] = e[j] * inverse
            pair_hess[j] = e[j] * inverse * mine * inverse
        for j in range(first, end):
            pair_grad[j] = 0.5 * (e[j] - mine) / (mine + e[j])
        for j in range(first, n):
            g[j] += pair_grad[j]
            h[j] += pair_hess[j]
        g[i] -= sum_of(pair_grad, first, n)
        h[i] += sum_of(pair_hess, first, n)


@kernel
def add_wide_list(labels: Floats, x: Floats, ties: bool, g: Floats, h: Floats) -> None:
    """`add_list` from x = sigma * score, with one exp per pair."""
    n, end = len(x), 0
    for i in range(n):
        while end < n and labels[end] == labels[i]:
            end += 1
        for j in range(i + 1 if ties else end, n):
            margin = x[i] - x[j]
            small = exp(-abs(margin))
            upper, lower = 1.0 / (1.0 + small), small / (1.0 + small)
            p, q = (upper, lower) if margin > 0.0 else (lower, upper)
            pair_grad = 0.5 * (q - p) if j < end else q
            g[i] -= pair_grad
            g[j] += pair_grad
            h[i] += upper * lower
            h[j] += upper * lower
