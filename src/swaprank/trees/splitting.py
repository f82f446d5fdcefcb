"""The best split of one leaf on a number: the feature, the bin and the side of missing values with the largest gain."""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.trees.histogram import BINS

GAIN, FEATURE, BIN, MISSING_LEFT, LEFT_HESS, HESS, MIDDLE = 0, 1, 2, 3, 4, 5, 6
"""Columns of a split. A split into sets of bins has the bin 0. The middle is for monotone features only."""
SPLIT_COLUMNS = 7
NOT_ALLOWED, NUMBER, SET = 0, 1, 2
"""How a tree may use a column of bins: not at all, split between neighbouring bins, or split into sets of bins."""


@kernel
def best_split(
    histogram: Ints,
    counts: Ints,
    check_counts: bool,
    min_docs: int,
    n_bins: Ints,
    allowed: Ints,
    first: int,
    last: int,
    l2: float,
    prefix: Ints,
    gains: Floats,
    split: Floats,
) -> None:
    """Write the split with the largest gain among the features from first to last.

    gain = G_L²/(H_L + l2) + G_R²/(H_R + l2) - G²/(H + l2): twice the cost that one Newton step per side saves over one
    Newton step for the whole leaf. If `check_counts`, `counts` has the number of documents in each bin, and each side
    needs at least `min_docs` of them. A gain of 0 means that there is no split. Of equal gains the first feature wins,
    then missing values to the right, then the lowest bin.
    """
    split[GAIN] = 0.0
    total = np.int64(0)
    for b in range(BINS):
        total += histogram[first * BINS + b]
    gradient, hessian = float(total >> 32), float(total & 0xFFFFFFFF)
    unsplit = gradient * gradient / (hessian + l2)
    split[HESS] = hessian
    for f in range(first, last):
        if allowed[f] != NUMBER:
            continue
        missing = histogram[f * BINS]
        running = np.int64(0)
        known, n_known = np.uint64(f * BINS + 1), np.uint64(n_bins[f])
        for t in range(n_known):
            running += histogram[known + t]
            prefix[t] = running
        for side in range(2 if missing != 0 else 1):
            # With missing values on the right, the last cut separates all known values from the missing ones.
            n_cuts = n_bins[f] - 1 if side == 1 or missing == 0 else n_bins[f]
            missing_sum = int(missing) if side == 1 else 0
            best = newton_gains(prefix, missing_sum, n_cuts, gradient, hessian, unsplit, l2, gains)
            if best <= split[GAIN]:
                continue
            if check_counts:
                clear_small_sides(counts, f * BINS, n_cuts, side == 1, min_docs, gains)
            for t in range(n_cuts):
                if gains[t] > split[GAIN]:
                    split[GAIN] = gains[t]
                    split[FEATURE] = f
                    split[BIN] = t + 1
                    split[MISSING_LEFT] = side
                    split[LEFT_HESS] = (prefix[t] + missing_sum) & 0xFFFFFFFF


@kernel
def newton_gains(
    prefix: Ints,
    missing_sum: int,
    n_cuts: int,
    gradient: float,
    hessian: float,
    unsplit: float,
    l2: float,
    gains: Floats,
) -> float:
    """Write the gain of every cut of a feature, 0 if a side has no hessian, and return the largest; vectorizes."""
    for t in range(np.uint64(n_cuts)):
        left_sum = prefix[t] + missing_sum
        g_left, h_left = np.float64(left_sum >> 32), np.float64(left_sum & 0xFFFFFFFF)
        g_right, h_right = gradient - g_left, hessian - h_left
        # One common denominator: divisions are most of the cost.
        d_left, d_right = h_left + l2, h_right + l2
        gain = (g_left * g_left * d_right + g_right * g_right * d_left) / (d_left * d_right) - unsplit
        gains[t] = gain if (h_left >= 1.0) & (h_right >= 1.0) else 0.0
    # Positive floats have the same order as their bits, and the maximum of integers needs no branch.
    bits, largest = gains.view(np.int64), np.int64(0)
    for t in range(np.uint64(n_cuts)):
        largest = max(largest, bits[t])
    bits[BINS - 1] = largest  # beyond the last cut
    return float(gains[BINS - 1])


@kernel
def clear_small_sides(counts: Ints, start: int, n_cuts: int, missing_left: bool, min_docs: int, gains: Floats) -> None:
    """Set the gain of every cut to 0 that leaves fewer than `min_docs` documents on a side."""
    total = np.int64(0)
    for b in range(BINS):
        total += counts[start + b]
    left = counts[start] if missing_left else np.int64(0)
    for t in range(n_cuts):
        left += counts[start + 1 + t]
        if left < min_docs or total - left < min_docs:
            gains[t] = 0.0
