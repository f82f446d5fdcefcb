"""The best split of one leaf on a number if features are monotone: within the leaf's bounds, in the right direction."""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.trees.histogram import BINS
from swaprank.trees.splitting import BIN, FEATURE, GAIN, HESS, LEFT_HESS, MIDDLE, MISSING_LEFT, NUMBER, leaf_sums


@kernel
def best_bounded_split(
    histogram: Ints,
    counts: Ints,
    check_counts: bool,
    min_docs: int,
    n_bins: Ints,
    monotone: Ints,
    allowed: Ints,
    first: int,
    last: int,
    l2: float,
    bounds: Floats,
    split: Floats,
) -> None:
    """Write the split with the largest gain, as `best_split` does; the values of both sides are within the bounds.

    MIDDLE is the middle of the values of both sides.
    """
    split[GAIN] = 0.0
    gradient, hessian = leaf_sums(histogram, n_bins, first)
    split[HESS] = hessian
    if hessian < 2.0:
        return
    unsplit = saved_cost(gradient, hessian + l2, bounded_step(gradient, hessian + l2, bounds))
    for f in range(first, last):
        if allowed[f] != NUMBER:
            continue
        missing, n_documents = histogram[f * BINS], np.int64(0)
        for b in range(BINS if check_counts else 0):
            n_documents += counts[f * BINS + b]
        for side in range(2 if missing != 0 else 1):
            running = missing if side == 1 else np.int64(0)
            n_left = counts[f * BINS] if check_counts and side == 1 else np.int64(0)
            for t in range(n_bins[f] - 1 if side == 1 or missing == 0 else n_bins[f]):
                running += histogram[f * BINS + 1 + t]
                n_left += counts[f * BINS + 1 + t] if check_counts else 0
                g_left, h_left = float(running >> 32), float(running & 0xFFFFFFFF)
                g_right, h_right = gradient - g_left, hessian - h_left
                if h_left < 1.0 or h_right < 1.0:
                    continue
                if check_counts and min(n_left, n_documents - n_left) < min_docs:
                    continue
                left_step = bounded_step(g_left, h_left + l2, bounds)
                right_step = bounded_step(g_right, h_right + l2, bounds)
                if monotone[f] * (right_step - left_step) < 0.0:
                    continue
                gain = saved_cost(g_left, h_left + l2, left_step) + saved_cost(g_right, h_right + l2, right_step)
                gain -= unsplit
                if gain > split[GAIN]:
                    split[GAIN], split[FEATURE], split[BIN], split[MISSING_LEFT] = gain, f, t + 1, side
                    split[LEFT_HESS], split[MIDDLE] = h_left, (left_step + right_step) / 2


@kernel
def bounded_step(gradient: float, curvature: float, bounds: Floats) -> float:
    """A Newton step, within bounds."""
    return float(min(max(-gradient / curvature, bounds[0]), bounds[1]))


@kernel
def saved_cost(gradient: float, curvature: float, step: float) -> float:
    """Twice the cost that a step saves: gradient² / curvature for a Newton step without bounds."""
    return -step * (2.0 * gradient + curvature * step)
