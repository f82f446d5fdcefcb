"""The best split of one leaf on categories: which bins go left.

Sorted by G / (H + smoothing), the best of all 2^n sets of bins is one of the n first ones [Fisher1958], as cuts are of
a number's bins. The smoothing moves bins of few documents to the middle.

Sorting finds a gain in noise, too: if the gradients of n bins of equal size are noise with the variance v per hessian,
the upper and the lower half of the bins have a gain of about 2/pi v n. For bins of any size, n is the effective number
(sum of sqrt(H))² / (sum of H). Twice this gain is subtracted, so that ids without a meaning do not win against features
that have one.

A set of bins is over several columns, which hold the bins of one feature with many categories: bin b of column j has
the number j * 255 + b in the set. All columns but the last have 255 bins, a document has a bin above 0 in one of them,
and number 0 means that it has none.
"""

import numpy as np

from swaprank.arrays import Bytes, Floats, Ints
from swaprank.kernels import kernel
from swaprank.trees.histogram import BINS
from swaprank.trees.splitting import BIN, HESS, LEFT_HESS, MISSING_LEFT, SET, bounded_step, is_better, saved_cost

_SORTED_NOISE = 2.0 * 2.0 / np.pi


@kernel
def best_set_split(
    histogram: Ints,
    counts: Ints,
    check_counts: bool,
    min_docs: int,
    n_bins: Ints,
    n_columns: Ints,
    allowed: Ints,
    first: int,
    last: int,
    l2: float,
    smoothing: float,
    noise: float,
    bounds: Floats,
    split_noise: Floats,
    order: Ints,
    keys: Floats,
    sums: Ints,
    documents: Ints,
    split: Floats,
    left_set: Bytes,
) -> None:
    """Replace the split by the best one into sets of bins, if its gain is larger; see `best_split`.

    noise: The variance of gradients per hessian. split_noise: See `noisy_gain`. The bins without documents in the leaf
    go to the side with the larger hessian. Of equal gains the first feature wins, then the shortest set. order, keys,
    sums and documents are work arrays, one value per number in a set.
    """
    for f in range(first, last):
        if allowed[f] != SET:
            continue
        n_numbers = collect_bins(histogram, f, n_columns[f], n_bins, sums)
        if check_counts:
            collect_bins(counts, f, n_columns[f], n_bins, documents)
        n_used, total, n_documents, roots = np.int64(0), np.int64(0), np.int64(0), 0.0
        for number in range(n_numbers):
            found = sums[number]
            if found != 0:
                bin_hessian = float(found & 0xFFFFFFFF)
                keys[n_used], order[n_used] = float(found >> 32) / (bin_hessian + smoothing), number
                n_used += 1
                total += found
                roots += np.sqrt(bin_hessian)
                n_documents += documents[number] if check_counts else 0
        gradient, hessian = float(total >> 32), float(total & 0xFFFFFFFF)
        if n_used < 2 or hessian < 2.0:
            continue
        sort_pairs(keys, order, int(n_used))
        needed = _SORTED_NOISE * noise * (roots * roots / hessian - 1.0)
        needed += saved_cost(gradient, hessian + l2, bounded_step(gradient, hessian + l2, bounds))
        running, n_running, best = np.int64(0), np.int64(0), np.int64(0)
        for k in range(n_used - 1):
            running += sums[order[k]]
            n_running += documents[order[k]] if check_counts else 0
            g_left, h_left = float(running >> 32), float(running & 0xFFFFFFFF)
            g_right, h_right = gradient - g_left, hessian - h_left
            if h_left < 1.0 or h_right < 1.0:
                continue
            if check_counts and min(n_running, n_documents - n_running) < min_docs:
                continue
            d_left, d_right = h_left + l2, h_right + l2
            gain = saved_cost(g_left, d_left, bounded_step(g_left, d_left, bounds))
            gain += saved_cost(g_right, d_right, bounded_step(g_right, d_right, bounds)) - needed
            if is_better(gain, split_noise[f], f, split):
                split[BIN] = 0
                split[LEFT_HESS], split[HESS] = h_left, hessian
                best = np.int64(k + 1)
        if best > 0:
            unseen = np.uint8(2.0 * split[LEFT_HESS] > hessian)
            for number in range(len(left_set)):
                left_set[number] = unseen
            for k in range(n_used):
                left_set[order[k]] = k < best
            split[MISSING_LEFT] = left_set[0]


@kernel
def collect_bins(histogram: Ints, column: int, n_columns: int, n_bins: Ints, sums: Ints) -> int:
    """Write a histogram's sums of a set's numbers, and return how many there are."""
    rest = np.int64(0)
    for b in range(n_bins[column] + 1):
        rest += histogram[column * BINS + b]
    for c in range(n_columns):
        before = c * (BINS - 1)
        for b in range(1, n_bins[column + c] + 1):
            sums[before + b] = histogram[(column + c) * BINS + b]
            rest -= sums[before + b]
    sums[0] = rest
    return int(before + n_bins[column + n_columns - 1] + 1)


@kernel
def sort_pairs(keys: Floats, order: Ints, n: int) -> None:
    """Sort the first n keys together with their numbers, which ascend among equal keys: Shell's sort."""
    gap = n
    while gap > 1:
        gap = max(1, gap * 5 // 11)
        for k in range(gap, n):
            key, number, at = keys[k], order[k], k
            while at >= gap and (keys[at - gap] > key or (keys[at - gap] == key and order[at - gap] > number)):
                keys[at], order[at] = keys[at - gap], order[at - gap]
                at -= gap
            keys[at], order[at] = key, number


@kernel
def number_in_set(bins: Bytes, at: int, n_columns: int) -> int:
    """The number of a document's bin in the sets of a feature, whose first bin is bins[at]."""
    number = np.int64(0)
    for c in range(n_columns):
        found = np.int64(bins[at + c])
        number += found + (BINS - 1) * c if found > 0 else 0
    return int(number)
