"""Kernels for average precision: value and swap gains."""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel


@kernel
def average_precision_value(ranked: Floats, ends: Ints, discounts: Floats) -> float:
    """sum_r rel(r) D(r) c(r), with D(r) = 1/r and c(r) the number of relevant documents down to rank r.

    In a group of t tied documents with m relevant ones, each rank is relevant with probability m/t. Given that, every
    higher rank of the group is relevant with probability (m-1)/(t-1) [McSherry & Najork 2008].
    """
    n = min(len(ranked), len(discounts))
    value = 0.0
    above = 0.0
    start = 0
    while start < n:
        end = ends[start]
        size = end - start
        if size == 1:
            value += ranked[start] * discounts[start] * (above + 1.0)
            above += ranked[start]
            start = end
            continue
        relevant = 0.0
        for r in range(start, end):
            relevant += ranked[r]
        share = relevant / size
        step = (relevant - 1.0) / (size - 1.0)
        for r in range(start, min(end, n)):
            value += share * discounts[r] * (above + 1.0 + step * (r - start))
        above += relevant
        start = end
    return value


@kernel
def prepare_average_precision(ranked: Floats, discounts: Floats, work: Floats) -> None:
    """Prefix sums: work[0] counts relevant documents, c(r); work[1] sums rel(r) D(r); work[2] is D(r) c(r)."""
    count, total = 0.0, 0.0
    for r in range(len(ranked)):
        discount = discounts[r] if r < len(discounts) else 0.0
        count += ranked[r]
        total += ranked[r] * discount
        work[0, r] = count
        work[1, r] = total
        work[2, r] = discount * count


@kernel
def average_precision_swaps(
    ranked: Floats, discounts: Floats, norm: float, first: int, last: int, work: Floats, out: Floats
) -> None:
    """The change when ranks i < j are swapped [Donmez2009]; a relevant document rises if rel(j) > rel(i).

    A rise from j to i adds 1 to the relevant count of every relevant rank between:
    D(i) (c(i) + 1) - D(j) c(j) + sum_{i<r<j} rel(r) D(r). A fall from i to j is the inverse.
    """
    n, one = np.uint64(len(ranked)), np.uint64(1)
    for i in range(first, last):
        gain, row = ranked[i], np.uint64(i - first)
        discount = discounts[i] if i < len(discounts) else 0.0
        stays, rises = discount * work[0, i] - work[1, i], discount * (work[0, i] + 1.0) - work[1, i]
        # An unsigned index: a loop over an index that could be negative is not vectorized.
        for j in range(np.uint64(i + 1), n):
            rise = ranked[j] - gain
            there = rises if rise > 0.0 else stays
            out[row, j] = norm * rise * (there - work[2, j] + work[1, j - one])
