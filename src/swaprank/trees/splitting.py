"""The best cut of one leaf: the feature, bin and side of missing values that lower the cost most."""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel, vector_kernel
from swaprank.trees.histogram import BINS

GAIN, FEATURE, BIN, MISSING_LEFT, LEFT_HESS, HESS = 0, 1, 2, 3, 4, 5
"""Columns of a split."""
SPLIT_COLUMNS = 6


@kernel
def best_split(
    histogram: Ints,
    documents: Ints,
    counted: bool,
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
    """The largest G_L²/(H_L + l2) + G_R²/(H_R + l2) - G²/(H + l2) over the features from first to last.

    That is twice what one Newton step a side lowers the cost by, over one step for both. Where `counted`, `documents`
    has the number of documents in each bin, and neither side may have fewer than `min_docs`. A gain of 0 says that
    there is no cut. Equal gains: the first feature, the lowest bin, missing values right.
    """
    split[GAIN] = 0.0
    total = np.int64(0)
    for b in range(BINS):
        total += histogram[first * BINS + b]
    gradient, hessian = float(total >> 32), float(total & 0xFFFFFFFF)
    whole = gradient * gradient / (hessian + l2)
    split[HESS] = hessian
    for f in range(first, last):
        if allowed[f] == 0:
            continue
        missing = histogram[f * BINS]
        running = np.int64(0)
        known, n_known = np.uint64(f * BINS + 1), np.uint64(n_bins[f])
        for t in range(n_known):
            running += histogram[known + t]
            prefix[t] = running
        for side in range(2 if missing != 0 else 1):
            # Missing values right: the last cut may part all that is known from what is missing.
            cuts = n_bins[f] - 1 if side == 1 or missing == 0 else n_bins[f]
            more = int(missing) if side == 1 else 0
            best = newton_gains(prefix, more, cuts, gradient, hessian, whole, l2, gains)
            if best <= split[GAIN]:
                continue
            if counted:
                forbid_small_sides(documents, f * BINS, cuts, side == 1, min_docs, gains)
            for t in range(cuts):
                if gains[t] > split[GAIN]:
                    split[GAIN] = gains[t]
                    split[FEATURE] = f
                    split[BIN] = t + 1
                    split[MISSING_LEFT] = side
                    split[LEFT_HESS] = (prefix[t] + more) & 0xFFFFFFFF


@vector_kernel
def newton_gains(
    prefix: Ints, more: int, cuts: int, gradient: float, hessian: float, whole: float, l2: float, gains: Floats
) -> float:
    """Gains of all cuts of a feature, 0 where a side would have no curvature, and the largest of them; vectorises."""
    for t in range(np.uint64(cuts)):
        side = prefix[t] + more
        left, h_left = np.float64(side >> 32), np.float64(side & 0xFFFFFFFF)
        right, h_right = gradient - left, hessian - h_left
        # Both sides over one denominator: divisions are most of the cost.
        below_left, below_right = h_left + l2, h_right + l2
        gain = (left * left * below_right + right * right * below_left) / (below_left * below_right) - whole
        gains[t] = gain if (h_left >= 1.0) & (h_right >= 1.0) else 0.0
    # Positive floats are ordered as their bits are, and the largest of whole numbers is found without a branch.
    bits, most = gains.view(np.int64), np.int64(0)
    for t in range(np.uint64(cuts)):
        most = max(most, bits[t])
    bits[BINS - 1] = most  # beyond the last cut
    return float(gains[BINS - 1])


@kernel
def forbid_small_sides(
    documents: Ints, start: int, cuts: int, missing_left: bool, min_docs: int, gains: Floats
) -> None:
    """Take the gain from cuts that leave fewer than `min_docs` on a side."""
    total = np.int64(0)
    for b in range(BINS):
        total += documents[start + b]
    left = documents[start] if missing_left else np.int64(0)
    for t in range(cuts):
        left += documents[start + 1 + t]
        if left < min_docs or total - left < min_docs:
            gains[t] = 0.0
