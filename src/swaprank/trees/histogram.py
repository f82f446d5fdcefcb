"""Sums of gradients per feature and bin: splits are found on these sums instead of on documents.

    block b        n x 16 bytes: the bins of 16 features, row by row, so that one cache line holds 4 rows
    packed         one int64 per row: the rounded gradient in the high 32 bits, the rounded hessian in the low 32
    histogram      features x 256 int64: one addition adds both; the 16 x 256 x 8 bytes of a block fit the L1 cache

Integer sums do not depend on the order of addition: any number of threads gives the same histogram, bit for bit.
"""

from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Ints
from swaprank.data.binned_features import BLOCK as BLOCK
from swaprank.kernels import inlined_kernel, kernel
from swaprank.trees.intrinsics import prefetch

BINS = 256
HALF = BLOCK // 2
"""The bins of the last features of a data set are summed in half of a block if it has room for all of them."""
PREFETCH_DISTANCE = 24
"""The rows of a leaf are scattered over memory. Prefetching this many rows ahead hides the latency."""


@kernel
def add_rows(block: Bytes, rows: AnyArray, start: int, stop: int, packed: Ints, histogram: Ints) -> None:
    """Add rows[start:stop], distinct and ascending, to the histogram of one block's features.

    The histogram may have room for the first half of the features only, if a data set has no more of them.
    """
    last, both_halves = stop - 1, len(histogram) > HALF * BINS
    if start < stop and rows[last] - rows[start] == last - start:
        # All rows from the first to the last one, as in the root of most trees: the processor fetches them itself.
        for row in range(np.uint64(rows[start]), np.uint64(rows[last]) + np.uint64(1)):
            add_row(block, row, packed[row], both_halves, histogram)
        return
    for k in range(start, stop):
        upcoming = np.int64(rows[min(k + PREFETCH_DISTANCE, last)])
        prefetch(block, upcoming * BLOCK)
        prefetch(packed, upcoming)
        at = np.uint64(rows[k])
        add_row(block, at, packed[at], both_halves, histogram)


@inlined_kernel
def add_row(block: Bytes, row: Any, value: int, both_halves: bool, histogram: Ints) -> None:
    """Add one row to the bins of 8 or 16 features."""
    for f in range(HALF):
        histogram[(np.uint64(f) << np.uint64(8)) + np.uint64(block[row, np.uint64(f)])] += value
    if both_halves:
        for f in range(HALF, BLOCK):
            histogram[(np.uint64(f) << np.uint64(8)) + np.uint64(block[row, np.uint64(f)])] += value


@kernel
def count_rows(block: Bytes, column: int, rows: AnyArray, start: int, stop: int, counts: Ints) -> None:
    """Count rows[start:stop] in each bin of one feature."""
    counts[:] = 0
    for k in range(start, stop):
        counts[np.uint64(block[np.uint64(rows[k]), np.uint64(column)])] += 1


@kernel
def clear_bins(histogram: Ints, n_bins: Ints, first: int, last: int) -> None:
    """Set the sums of the features from first to last to 0; bins that a feature does not have are never read."""
    for f in range(first, last):
        histogram[f * BINS : f * BINS + n_bins[f] + 1] = 0


@kernel
def subtract_bins(histogram: Ints, other: Ints, n_bins: Ints, first: int, last: int) -> None:
    """Subtract another histogram, for the features from first to last."""
    for f in range(first, last):
        for c in range(np.uint64(f * BINS), np.uint64(f * BINS + n_bins[f] + 1)):
            histogram[c] -= other[c]


@kernel
def sum_bins(histograms: Ints, n_bins: Ints, first: int, last: int, total: Ints) -> None:
    """Sum several histograms, for the features from first to last."""
    for f in range(first, last):
        for c in range(np.uint64(f * BINS), np.uint64(f * BINS + n_bins[f] + 1)):
            value = histograms[0, c]
            for other in range(1, len(histograms)):
                value += histograms[other, c]
            total[c] = value
