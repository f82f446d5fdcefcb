"""Kernels for sums of discounted gains: value, swap gains, and the best possible sum."""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.ordering import SELECTION_LIMIT, largest, rank_documents


@kernel
def cumulative_value(ranked: Floats, ends: Ints, discounts: Floats) -> float:
    """sum_r g_r D(r); documents tied in score share their mean gain [McSherry2008]."""
    n = min(len(ranked), len(discounts))
    value = 0.0
    start = 0
    while start < n:
        end = ends[start]
        gain = 0.0
        for r in range(start, end):
            gain += ranked[r]
        discount = 0.0
        for r in range(start, min(end, n)):
            discount += discounts[r]
        value += gain / (end - start) * discount
        start = end
    return value


@kernel
def cumulative_swaps(ranked: Floats, discounts: Floats, norm: float, i: int, out: Floats) -> None:
    """N (g_i - g_j) (D_j - D_i) for every rank j below i [Burges2010, section 4]."""
    n, cut = len(ranked), len(discounts)
    gain = ranked[i]
    discount = discounts[i] if i < cut else 0.0
    for j in range(i + 1, min(n, cut)):
        out[j] = norm * (gain - ranked[j]) * (discounts[j] - discount)
    # Slices that start at 0: a loop over an index that could be negative is not vectorized.
    beyond = max(i + 1, cut)
    gains, gained = ranked[beyond:], out[beyond:n]
    for j in range(len(gained)):
        gained[j] = norm * (gains[j] - gain) * discount


@kernel
def best_cumulative(gains: Floats, indptr: Ints, discounts: Floats, falling: bool, longest: int, best: Floats) -> None:
    """The largest sum of gain * discount over all orders of each query's documents.

    The largest gain goes with the largest discount [rearrangement inequality]. Discounts that do not fall with the rank
    are sorted too, and must then be as many as the longest list has documents.
    """
    order, scratch = np.empty(longest, np.int64), np.empty(longest, np.int64)
    gathered, top, weights = np.empty(longest), np.empty(longest), discounts.copy()
    for query in range(len(best)):
        start, stop = indptr[query], indptr[query + 1]
        n = stop - start
        cut = min(n, len(discounts))
        if falling and cut <= SELECTION_LIMIT:
            largest(gains, start, stop, cut, top)
        else:
            descending(gains, start, n, order, scratch, gathered, top)
        if not falling:
            descending(discounts, 0, n, order, scratch, gathered, weights)
        total = 0.0
        for r in range(cut):
            total += top[r] * weights[r]
        best[query] = total


@kernel
def descending(values: Floats, start: int, n: int, order: Ints, scratch: Ints, gathered: Floats, out: Floats) -> None:
    """out[:n]: the n values from `start`, in descending order."""
    for r in range(n):
        order[r] = start + r
    rank_documents(values, order[:n], scratch, gathered)
    for r in range(n):
        out[r] = values[order[r]]
