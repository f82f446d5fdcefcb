"""Grow a symmetric tree: all leaves of a level are split by the same feature and cut, the best one for all of them.

    leaf by leaf      the leaf with the largest gain is split by its own best cut
    symmetric         the cut whose gain, summed over all leaves, is the largest splits every leaf of the level

A cut that all leaves must agree on is less likely to follow the noise of a few documents: of small or noisy data such
trees learn better scores [Prokhorenkova2018].
"""

import numpy as np

from swaprank.arrays import Bytes, Floats, Ints
from swaprank.kernels import kernel
from swaprank.trees.growing import record_split
from swaprank.trees.histogram import BINS
from swaprank.trees.intrinsics import barrier
from swaprank.trees.leaf_division import divide_leaves, start_root
from swaprank.trees.split_search import note_least_documents, surely_enough_documents, write_noise
from swaprank.trees.splitting import (
    BIN,
    FEATURE,
    GAIN,
    HESS,
    LEFT_HESS,
    MISSING_LEFT,
    NOISY_GAIN,
    NUMBER,
    clear_split,
    is_better,
    leaf_sums,
)
from swaprank.trees.tree import Tree
from swaprank.trees.worker_sums import exchange_splits
from swaprank.trees.workspace import (
    N_CHECKED,
    N_CHOSEN,
    N_FOUND,
    N_LEAVES,
    OPEN,
    REFUTED,
    SLOT,
    SPLIT_NOISE,
    STATE,
    Columns,
    Limits,
    Workspace,
    searched_columns,
)


@kernel
def grow_symmetric(
    blocks: Bytes,
    columns: Columns,
    packed: Ints,
    n_rows: int,
    n_total: int,
    limits: Limits,
    work: Workspace,
    tree: Tree,
    thread: int,
    n_threads: int,
) -> int:
    """Grow a tree on the listed rows and return its number of leaves; all threads call this together, as `grow`.

    There are as many levels as it takes for so many leaves, and on the last one, the leaves with the largest gains are
    split. A leaf is not split where a side would have too few documents, or nothing is gained.
    """
    start_root(blocks, columns, packed, n_rows, n_total, limits, work, thread, n_threads)
    n_leaves, n_levels = 1, 0
    while n_levels < limits.max_depth and 1 << n_levels < limits.max_leaves:
        n_levels += 1
    for level in range(n_levels):
        find_level_split(columns, limits, n_leaves, level, work, thread, n_threads)
        if thread == 0:
            choose_level(limits, level == n_levels - 1, work)
        barrier(work.barrier_state, n_threads)
        divide_leaves(blocks, columns, packed, limits, work, thread, n_threads)
        if thread == 0:
            take_level(limits, work, tree)
        barrier(work.barrier_state, n_threads)
        if work.sizes[N_LEAVES] == n_leaves or work.failed[0]:
            break
        n_leaves = int(work.sizes[N_LEAVES])
    return int(work.sizes[N_LEAVES])


@kernel
def choose_level(limits: Limits, is_last: bool, work: Workspace) -> None:
    """List the leaves of a level that are divided; the children of the last level's leaves are not needed."""
    n_chosen, n_checked = np.int64(0), np.int64(0)
    for number in range(work.sizes[N_LEAVES]):
        leaf = work.tree_leaves[number]
        work.leaves[leaf, STATE] = OPEN
        if not work.splits[leaf, GAIN] > limits.min_gain:
            continue
        if not is_last:
            work.chosen[n_chosen] = leaf
            n_chosen += 1
        elif limits.min_docs > 1 and not surely_enough_documents(work.splits[leaf], limits):
            work.checked[n_checked] = leaf
            n_checked += 1
    work.sizes[N_CHOSEN], work.sizes[N_CHECKED] = n_chosen, n_checked


@kernel
def take_level(limits: Limits, work: Workspace, tree: Tree) -> None:
    """Split the leaves of a level, those with the largest gains first."""
    gains = np.zeros(work.sizes[N_LEAVES])
    for number in range(len(gains)):
        leaf = work.tree_leaves[number]
        gains[number] = work.splits[leaf, GAIN] if work.leaves[leaf, STATE] != REFUTED else 0.0
    while work.sizes[N_LEAVES] < limits.max_leaves:
        chosen = np.argmax(gains)
        if not gains[chosen] > limits.min_gain:
            return
        gains[chosen] = 0.0
        record_split(int(chosen), work, tree)


@kernel
def find_level_split(
    columns: Columns, limits: Limits, n_leaves: int, level: int, work: Workspace, thread: int, n_threads: int
) -> None:
    """Write the cut with the largest sum of gains to the splits of all leaves, with the gain of each leaf.

    Noise is added to the root of what all splits of the tree so far and this one gain together [Prokhorenkova2018].
    """
    barrier(work.barrier_state, n_threads)
    first, last = searched_columns(columns, work, thread, n_threads)
    totals = np.empty((n_leaves, 2))
    unsplit = 0.0
    clear_split(work.candidates[thread, 0])
    any_column = work.owners[work.rank] if work.owners[work.rank] < len(columns.n_bins) else 0
    for number in range(n_leaves):
        histogram = work.histograms[work.leaves[work.tree_leaves[number], SLOT]]
        totals[number, 0], totals[number, 1] = leaf_sums(histogram, columns.n_bins, any_column)
        unsplit += totals[number, 0] ** 2 / max(totals[number, 1] + limits.l2, 1.0)
    if limits.split_noise > 0.0:
        write_noise(columns, limits, level, first, last, work.noise[SPLIT_NOISE], work.split_noise[level])
    for feature in range(first, last):
        if columns.allowed[feature] == NUMBER:
            search_feature(columns, limits, feature, totals, unsplit, work.split_noise[level, feature], work, thread)
    barrier(work.barrier_state, n_threads)
    if thread == 0:
        best = 0
        for other in range(1, n_threads):
            if work.candidates[other, 0, NOISY_GAIN] > work.candidates[best, 0, NOISY_GAIN]:
                best = other
        for number in range(n_leaves):
            leaf = work.tree_leaves[number]
            write_leaf_gain(limits, work.candidates[best, 0], totals[number], leaf, work)
            note_least_documents(columns, limits, leaf, work)
            work.found[number] = leaf
        work.sizes[N_FOUND] = n_leaves
    barrier(work.barrier_state, n_threads)
    exchange_splits(work, thread, n_threads)


@kernel
def search_feature(
    columns: Columns, limits: Limits, feature: int, totals: Floats, unsplit: float, noise: float, work: Workspace,
    thread: int,
) -> None:  # fmt: skip
    """Make the best cut of a feature this thread's candidate if it is better than the one so far.

    As everywhere, missing values go right first, then left: of equal gains the first one wins.
    """
    best, sums, gains = work.candidates[thread, 0], work.sums[thread], work.gains[thread]
    n_bins, start = columns.n_bins[feature] + 1, np.uint64(feature * BINS)
    any_missing = False
    for side in range(2):
        if side == 1 and not any_missing:
            return
        for b in range(n_bins):
            gains[b] = 0.0
        for number in range(len(totals)):
            histogram = work.histograms[work.leaves[work.tree_leaves[number], SLOT]]
            running = histogram[start] if side == 1 else np.int64(0)
            any_missing |= histogram[start] != 0
            for b in range(np.uint64(1), np.uint64(n_bins)):
                running += histogram[start + b]
                sums[b] = running
            add_gains(sums, n_bins, totals[number, 0], totals[number, 1], limits.l2, gains)
        for b in range(np.uint64(1), np.uint64(n_bins)):
            if gains[b] > 0.0 and is_better(unsplit + gains[b], noise, feature, best):
                best[BIN], best[MISSING_LEFT] = b, side


@kernel
def add_gains(sums: Ints, n_bins: int, gradient: float, hessian: float, l2: float, gains: Floats) -> None:
    """Add a leaf's gain of every cut of a feature, if there is one: otherwise the leaf is not split; vectorizes."""
    if hessian < 2.0:
        return
    unsplit = gradient * gradient / (hessian + l2)
    for b in range(np.uint64(1), np.uint64(n_bins)):
        g_left, h_left = np.float64(np.int32(sums[b] >> 32)), np.float64(np.int32(sums[b]))
        g_right, h_right = gradient - g_left, hessian - h_left
        d_left, d_right = h_left + l2, h_right + l2
        gain = (g_left * g_left * d_right + g_right * g_right * d_left) / (d_left * d_right) - unsplit
        gains[b] += gain if (h_left >= 1.0) & (h_right >= 1.0) & (gain > 0.0) else 0.0


@kernel
def write_leaf_gain(limits: Limits, split: Floats, total: Floats, leaf: int, work: Workspace) -> None:
    """Write the level's split and its gain in one leaf."""
    mine, histogram = work.splits[leaf], work.histograms[work.leaves[leaf, SLOT]]
    mine[GAIN], mine[NOISY_GAIN] = 0.0, split[NOISY_GAIN]
    if split[GAIN] == 0.0:
        return
    feature, cut, side = int(split[FEATURE]), int(split[BIN]), int(split[MISSING_LEFT])
    left = histogram[feature * BINS] if side == 1 else np.int64(0)
    for b in range(1, cut + 1):
        left += histogram[feature * BINS + b]
    g_left, h_left = np.float64(left >> 32), np.float64(left & 0xFFFFFFFF)
    g_right, h_right = total[0] - g_left, total[1] - h_left
    if h_left < 1.0 or h_right < 1.0:
        return
    gain = g_left * g_left / (h_left + limits.l2) + g_right * g_right / (h_right + limits.l2)
    mine[GAIN] = max(gain - total[0] * total[0] / (total[1] + limits.l2), 0.0)
    mine[FEATURE], mine[BIN], mine[MISSING_LEFT] = feature, cut, side
    mine[LEFT_HESS], mine[HESS] = h_left, total[1]
