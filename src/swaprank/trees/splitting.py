"""The best split of one leaf on a number: the feature, the bin and the side of missing values with the largest gain.

If features are monotone, the split is within the bounds of the leaf, and in the right direction.
"""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.trees.histogram import BINS

GAIN, FEATURE, BIN, MISSING_LEFT, LEFT_HESS, HESS, MIDDLE, NOISY_GAIN, LEAST = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Columns of a split. A split into sets of bins has the bin 0. The middle is for monotone features only. Each side has
at least LEAST documents, see `least_documents`."""
SPLIT_COLUMNS = 9
NOT_ALLOWED, NUMBER, SET = 0, 1, 2
"""The uses of a column of bins: not allowed, split between neighbouring bins, or split into sets of bins."""

CUTS_AT_ONCE = 2048
"""Gains are computed for this many cuts at once, which fit into the L1 cache; a feature has at most 2 x 256."""


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
    sums: Ints,
    cuts: Ints,
    ends: Ints,
    gains: Floats,
    feature_gains: Floats,
    noise: Floats,
    split: Floats,
) -> None:
    """Write the split with the largest gain among the features from first to last.

    gain = G_L²/(H_L + l2) + G_R²/(H_R + l2) - G²/(H + l2): twice the cost that one Newton step per side saves over one
    Newton step for the whole leaf. If `check_counts`, `counts` has the number of documents in each bin, and each side
    needs at least `min_docs` of them. `feature_gains` gets each feature's largest gain. Features are compared with
    their `noise`, see `noisy_gain`. A gain of 0 means that there is no split. Of equal gains the first feature wins,
    then missing values to the right, then the lowest bin.
    """
    clear_split(split)
    gradient, hessian = leaf_sums(histogram, n_bins, first)
    unsplit = gradient * gradient / (hessian + l2)
    split[HESS] = hessian
    feature = first
    while feature < last:
        begin = feature
        feature = list_cuts(histogram, n_bins, allowed, check_counts, begin, last, sums, cuts, ends)
        n_cuts = ends[feature - 1]
        newton_gains(sums, n_cuts, gradient, hessian, unsplit, l2, gains)
        if check_counts:
            clear_small_sides(counts, min_docs, cuts, n_cuts, gains)
        largest_gains(gains, ends, begin, feature, feature_gains)
        k = np.uint64(0)
        for f in range(begin, feature):
            if is_better(feature_gains[f], noise[f], f, split):
                while gains[k] != feature_gains[f]:
                    k += np.uint64(1)
                split[BIN], split[MISSING_LEFT] = cuts[k] % BINS, cuts[k] // BINS % 2
                split[LEFT_HESS] = sums[k] & 0xFFFFFFFF
            k = np.uint64(ends[f])


@kernel
def clear_split(split: Floats) -> None:
    """There is no split yet."""
    split[GAIN] = 0.0
    split[NOISY_GAIN] = -np.inf


@kernel
def noisy_gain(gain: float, noise: float) -> float:
    """(sqrt(gain) + noise)², with the sign of the root; without noise, the gain itself to the last bit.

    Of gradients that are noise, the root of a gain is about normally distributed, with the same variance in every leaf:
    so noise of that size changes the order of what noise could have ordered, and hardly that of large gains.
    """
    root = float(np.sqrt(gain))
    return gain + noise * (2.0 * root + noise) if root + noise > 0.0 else -((root + noise) ** 2)


@kernel
def is_better(gain: float, noise: float, feature: int, split: Floats) -> bool:
    """If a gain is better than that of the split so far, write it there; of equal ones the first feature wins."""
    if not gain > 0.0:
        return False
    noisy = noisy_gain(gain, noise)
    if noisy > split[NOISY_GAIN] or (noisy == split[NOISY_GAIN] and feature < split[FEATURE]):
        split[GAIN], split[NOISY_GAIN], split[FEATURE] = gain, noisy, feature
        return True
    return False


@kernel
def leaf_sums(histogram: Ints, n_bins: Ints, feature: int) -> tuple[float, float]:
    """Gradient and hessian of a leaf: the sums of all bins of any feature."""
    total = np.int64(0)
    for b in range(n_bins[feature] + 1):
        total += histogram[feature * BINS + b]
    return float(total >> 32), float(total & 0xFFFFFFFF)


@kernel
def least_documents(histogram: Ints, n_bins: Ints, split: Floats, largest_hessian: int) -> int:
    """So many documents are surely on each side of a split, by the hessians of the bins there.

    A bin with any sum has at least one document; a set of bins tells nothing.
    """
    feature, cut = int(split[FEATURE]), int(split[BIN])
    if split[GAIN] == 0.0 or cut == 0:
        return 0
    left, right = np.int64(0), np.int64(0)
    for b in range(n_bins[feature] + 1):
        value = histogram[feature * BINS + b]
        if value != 0:
            found = max(np.int64(1), ((value & 0xFFFFFFFF) + largest_hessian - 1) // largest_hessian)
            if (b > 0 or split[MISSING_LEFT] == 1.0) and b <= cut:
                left += found
            else:
                right += found
    return int(min(left, right))


@kernel
def list_cuts(
    histogram: Ints, n_bins: Ints, allowed: Ints, every_bin: bool, feature: int, last: int, sums: Ints, cuts: Ints,
    ends: Ints,
) -> int:  # fmt: skip
    """List the cuts of the features from `feature` on, as many as have room, and the sums of their left sides.

    A cut after an empty bin is the same as the cut before it: unless `every_bin`, there is none. In a small leaf most
    bins are empty. The cut after the last bin separates all known values from the missing ones; without missing values
    it has no gain. A cut is numbered feature * 512 + 256 if missing values are on the left + its last bin on the left.
    `ends` gets the number of cuts up to each feature. Returns the first feature that is not listed.
    """
    n, kept = np.uint64(0), np.int64(every_bin)
    while feature < last and n <= np.uint64(CUTS_AT_ONCE - 2 * BINS):
        if allowed[feature] != NUMBER:
            ends[feature] = n
            feature += 1
            continue
        start, number, begin, running = np.uint64(feature * BINS), np.int64(feature) * 2 * BINS, n, np.int64(0)
        for b in range(np.uint64(1), np.uint64(n_bins[feature] + 1)):
            value = histogram[start + b]
            running += value
            sums[n] = running
            cuts[n] = number + np.int64(b)
            n += np.uint64((value | kept) != 0)
        missing, end = histogram[start], n
        if missing != 0:
            for k in range(begin, end):
                sums[n] = sums[k] + missing
                cuts[n] = cuts[k] + BINS
                n += np.uint64(1)
        ends[feature] = n
        feature += 1
    return feature


@kernel
def newton_gains(
    sums: Ints, n_cuts: int, gradient: float, hessian: float, unsplit: float, l2: float, gains: Floats
) -> None:
    """Write the gain of every cut, 0 if a side has no hessian; vectorizes."""
    for k in range(np.uint64(n_cuts)):
        # No sum has more than 31 bits, and AVX2 converts only integers of 32 bits in lanes.
        g_left, h_left = np.float64(np.int32(sums[k] >> 32)), np.float64(np.int32(sums[k]))
        g_right, h_right = gradient - g_left, hessian - h_left
        # One common denominator: divisions are most of the cost.
        d_left, d_right = h_left + l2, h_right + l2
        gain = (g_left * g_left * d_right + g_right * g_right * d_left) / (d_left * d_right) - unsplit
        gains[k] = gain if (h_left >= 1.0) & (h_right >= 1.0) else 0.0


@kernel
def largest_gains(gains: Floats, ends: Ints, first: int, last: int, feature_gains: Floats) -> None:
    """Write the largest gain of each feature from first to last."""
    # Positive floats have the same order as their bits, and the maximum of integers needs no branch.
    bits, found, k = gains.view(np.int64), feature_gains.view(np.int64), np.uint64(0)
    for f in range(first, last):
        largest, end = np.int64(0), np.uint64(ends[f])
        for cut in range(k, end):
            largest = max(largest, bits[cut])
        k = end
        found[f] = largest


@kernel
def clear_small_sides(counts: Ints, min_docs: int, cuts: Ints, n_cuts: int, gains: Floats) -> None:
    """Set the gain of every cut to 0 that leaves fewer than `min_docs` documents on a side; `counts` become sums."""
    feature = np.int64(-1)
    missing = total = np.int64(0)
    for k in range(n_cuts):
        bins = counts[cuts[k] // (2 * BINS) * BINS :]
        if cuts[k] // (2 * BINS) != feature:
            feature = cuts[k] // (2 * BINS)
            missing = bins[0]
            bins[0] = 0
            for b in range(1, BINS):
                bins[b] += bins[b - 1]
            total = bins[BINS - 1] + missing
        left = bins[cuts[k] % BINS] + (missing if cuts[k] // BINS % 2 else 0)
        if left < min_docs or total - left < min_docs:
            gains[k] = 0.0


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
    noise: Floats,
    split: Floats,
) -> None:
    """Write the split with the largest gain, as `best_split` does; the values of both sides are within the bounds.

    MIDDLE is the middle of the values of both sides.
    """
    clear_split(split)
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
                if is_better(gain, noise[f], f, split):
                    split[BIN], split[MISSING_LEFT] = t + 1, side
                    split[LEFT_HESS], split[MIDDLE] = h_left, (left_step + right_step) / 2


@kernel
def bounded_step(gradient: float, curvature: float, bounds: Floats) -> float:
    """A Newton step, within bounds."""
    return float(min(max(-gradient / curvature, bounds[0]), bounds[1]))


@kernel
def saved_cost(gradient: float, curvature: float, step: float) -> float:
    """Twice the cost that a step saves: gradient² / curvature for a Newton step without bounds."""
    return -step * (2.0 * gradient + curvature * step)
