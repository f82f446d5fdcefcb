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
    scratch: Floats,
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
    gradients, hessians, gains = scratch[0], scratch[1], scratch[2]
    for f in range(first, last):
        if allowed[f] == 0:
            continue
        missing = histogram[f * BINS]
        known = histogram[f * BINS + 1 : f * BINS + 1 + n_bins[f]]
        prefix_sums(known, gradients, hessians)
        for side in range(2 if missing != 0 else 1):
            # Missing values right: the last cut may part all that is known from what is missing.
            cuts = n_bins[f] - 1 if side == 1 or missing == 0 else n_bins[f]
            more_gradient, more_hessian = (
                (float(missing >> 32), float(missing & 0xFFFFFFFF)) if side == 1 else (0.0, 0.0)
            )
            best = newton_gains(
                gradients, hessians, cuts, gradient, hessian, whole, more_gradient, more_hessian, l2, gains
            )
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
                    split[LEFT_HESS] = hessians[t] + more_hessian


@kernel
def prefix_sums(histogram: Ints, gradients: Floats, hessians: Floats) -> None:
    """Gradient and hessian of all bins up to each one."""
    running = np.int64(0)
    for t in range(len(histogram)):
        running += histogram[t]
        gradients[t] = running >> 32
        hessians[t] = running & 0xFFFFFFFF


@vector_kernel
def newton_gains(
    gradients: Floats,
    hessians: Floats,
    cuts: int,
    gradient: float,
    hessian: float,
    whole: float,
    more_gradient: float,
    more_hessian: float,
    l2: float,
    gains: Floats,
) -> float:
    """Gains of all cuts of a feature, 0 where a side would have no curvature, and the largest of them; vectorises."""
    best = 0.0
    for t in range(cuts):
        left, h_left = gradients[t] + more_gradient, hessians[t] + more_hessian
        right, h_right = gradient - left, hessian - h_left
        # Both sides over one denominator: divisions are most of the cost.
        below_left, below_right = h_left + l2, h_right + l2
        gain = (left * left * below_right + right * right * below_left) / (below_left * below_right) - whole
        gain = gain if min(h_left, h_right) >= 1.0 else 0.0
        gains[t] = gain
        best = max(best, gain)
    return best


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
