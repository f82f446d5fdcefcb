"""Grow one tree, leaf by leaf: always split the leaf with the largest gain, until there are enough leaves.

Every thread runs `grow` from start to end. The threads share all arrays, do their part of each step and wait for each
other at barriers; every thread makes the same decisions. The rows of a leaf are a segment of one of two row lists, in
ascending order. Splitting a leaf writes its segment, partitioned, to the other list.

Workers of a cluster each have their own rows, and add up their histograms and counts: all workers make the same
decisions, too.
"""

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Ints
from swaprank.kernels import kernel
from swaprank.trees.histogram import BINS, BLOCK, HALF, add_rows, clear_bins, subtract_bins, sum_bins
from swaprank.trees.intrinsics import barrier
from swaprank.trees.split_search import find_splits, mark_left
from swaprank.trees.splitting import BIN, FEATURE, GAIN, MIDDLE, MISSING_LEFT
from swaprank.trees.tree import Tree
from swaprank.trees.workspace import (
    COUNT,
    DEPTH,
    HISTOGRAM,
    LIST,
    SLOT,
    START,
    TOTAL,
    Columns,
    Limits,
    Workspace,
    sum_over_workers,
    thread_range,
    total_left,
)

_MIN_ROWS_TO_SHARE = 30_000
"""Threads divide the rows of a leaf of at least this size and sum their histograms; in smaller leaves they divide the
blocks of features."""


@kernel
def grow(
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
    """Grow a tree on the rows work.rows[0, :n_rows] and return its number of leaves; n_total: rows of all workers."""
    # Numba gives the literals 0, -1 and 1 types of their own and would compile the functions called with them twice.
    root, none, n_leaves = int(np.int64(0)), int(np.int64(-1)), int(np.int64(1))
    start_root(blocks, columns, packed, n_rows, n_total, work, thread, n_threads)
    find_splits(blocks, columns, limits, root, none, work, thread, n_threads)
    while n_leaves < len(work.leaves):
        chosen = root
        for number in range(1, n_leaves):
            if work.splits[number, GAIN] > work.splits[chosen, GAIN]:
                chosen = number
        if not work.splits[chosen, GAIN] > limits.min_gain or work.failed[0]:
            break
        n_left = partition_rows(blocks, columns, chosen, work, thread, n_threads)
        n_all_left = total_left(n_left, work, thread, n_threads)
        smaller = n_leaves if 2 * n_all_left >= work.leaves[chosen, TOTAL] else chosen
        larger = chosen + n_leaves - smaller
        # All threads have read the leaf and its split, so that one thread may overwrite them now.
        barrier(work.barrier_state, n_threads)
        if thread == 0:
            record_split(chosen, n_leaves, n_left, n_all_left, smaller, larger, work, tree)
            constrain_children(columns, chosen, n_leaves, work)
        barrier(work.barrier_state, n_threads)
        n_leaves += 1
        if n_leaves < len(work.leaves):  # The last two leaves are not split.
            child_histograms(blocks, columns, packed, smaller, larger, work, thread, n_threads)
            find_splits(blocks, columns, limits, smaller, larger, work, thread, n_threads)
    return n_leaves


@kernel
def start_root(
    blocks: Bytes, columns: Columns, packed: Ints, n_rows: int, n_total: int, work: Workspace, thread: int,
    n_threads: int,
) -> None:  # fmt: skip
    """Make all rows one leaf, and sum its histogram."""
    root = int(np.int64(0))
    if thread == 0:
        leaf = work.leaves[0]
        leaf[START], leaf[COUNT], leaf[LIST], leaf[DEPTH], leaf[SLOT], leaf[TOTAL] = 0, n_rows, 0, 0, 0, n_total
        work.bounds[0, 0], work.bounds[0, 1] = -np.inf, np.inf
        for g in range(work.open_groups.shape[1]):
            work.open_groups[0, g] = 1
        allow_open_groups(columns, root, work)
    histogram_by_rows(blocks, columns, packed, work.rows[root], root, n_rows, root, work, thread, n_threads)


@kernel
def histogram_by_rows(
    blocks: Bytes,
    columns: Columns,
    packed: Ints,
    rows: AnyArray,
    start: int,
    count: int,
    slot: int,
    work: Workspace,
    thread: int,
    n_threads: int,
) -> None:
    """Compute the histogram of rows[start : start + count]; the threads divide the rows."""
    first, last = thread_range(count, thread, n_threads)
    mine, n_features = work.thread_histograms[thread] if n_threads > 1 else work.histograms[slot], len(columns.n_bins)
    clear_bins(mine, columns.n_bins, 0, n_features)
    for b in range(len(blocks)):
        add_rows(blocks[b], rows, start + first, start + last, packed, block_bins(mine, b, n_features))
    if n_threads > 1:
        barrier(work.barrier_state, n_threads)
        first, last = thread_range(len(columns.n_bins), thread, n_threads)
        sum_bins(work.thread_histograms, columns.n_bins, first, last, work.histograms[slot])
        barrier(work.barrier_state, n_threads)
    sum_over_workers(HISTOGRAM, slot, work, thread, n_threads)


@kernel
def block_bins(histogram: Ints, block: int, n_features: int) -> Ints:
    """The bins of a block's features; of half of the block if it has no more."""
    first = block * BLOCK
    bins: Ints = histogram[first * BINS : (first + (HALF if n_features - first <= HALF else BLOCK)) * BINS]
    return bins


@kernel
def partition_rows(blocks: Bytes, columns: Columns, chosen: int, work: Workspace, thread: int, n_threads: int) -> int:
    """Write the leaf's rows to the other list, those that go left first, and return their number; order is kept."""
    n_left = mark_left(blocks, columns, chosen, work, thread, n_threads)
    leaf = work.leaves[chosen]
    first, last = thread_range(leaf[COUNT], thread, n_threads)
    begin = leaf[START]
    before = np.int64(0)
    for other in range(thread):
        before += work.left_counts[8 * other]
    left_at, right_at = begin + before, begin + n_left + first - before
    mine, goes_left = work.rows[leaf[LIST], begin + first : begin + last], work.goes_left[begin + first : begin + last]
    target = work.rows[1 - leaf[LIST]]
    for k in range(len(mine)):
        left = np.int64(goes_left[k])
        target[left_at if left else right_at] = mine[k]
        left_at += left
        right_at += 1 - left
    return n_left


@kernel
def record_split(
    chosen: int, new: int, n_left: int, n_all_left: int, smaller: int, larger: int, work: Workspace, tree: Tree
) -> None:
    """Replace the leaf by a node: the left child keeps the leaf's number, the right child gets the new number."""
    node = new - 1
    parent, split = work.leaves[chosen], work.splits[chosen]
    for other in range(node):
        if tree.left[other] == ~chosen:
            tree.left[other] = node
        elif tree.right[other] == ~chosen:
            tree.right[other] = node
    tree.feature[node] = int(split[FEATURE])
    tree.bin[node] = int(split[BIN])
    tree.missing_left[node] = split[MISSING_LEFT] == 1.0
    tree.left[node], tree.right[node] = ~chosen, ~new
    tree.gain[node] = split[GAIN]
    for b in range(tree.sets.shape[1]):
        tree.sets[node, b] = work.sets[chosen, b]
    right = work.leaves[new]
    right[START], right[COUNT] = parent[START] + n_left, parent[COUNT] - n_left
    parent[COUNT] = n_left
    right[TOTAL], parent[TOTAL] = parent[TOTAL] - n_all_left, n_all_left
    right[LIST] = parent[LIST] = 1 - parent[LIST]
    right[DEPTH] = parent[DEPTH] = parent[DEPTH] + 1
    # The larger child reuses its parent's histogram: the smaller child's histogram is subtracted from it.
    slot = parent[SLOT]
    work.leaves[larger, SLOT], work.leaves[smaller, SLOT] = slot, new


@kernel
def constrain_children(columns: Columns, left: int, right: int, work: Workspace) -> None:
    """Pass the bounds and the groups of a leaf on to its children, the left of which has its number."""
    split, groups, monotone = work.splits[left], columns.constraints.groups, columns.constraints.monotone
    feature = int(split[FEATURE])
    work.bounds[right, 0], work.bounds[right, 1] = work.bounds[left, 0], work.bounds[left, 1]
    direction = monotone[feature] if len(monotone) > 0 else 0
    if direction != 0:
        below, above = (left, right) if direction > 0 else (right, left)
        work.bounds[below, 1] = work.bounds[above, 0] = split[MIDDLE]
    for g in range(len(groups)):
        work.open_groups[left, g] &= groups[g, feature]
        work.open_groups[right, g] = work.open_groups[left, g]
    allow_open_groups(columns, left, work)
    allow_open_groups(columns, right, work)


@kernel
def allow_open_groups(columns: Columns, number: int, work: Workspace) -> None:
    """Allow a leaf the features of its open groups."""
    groups, allowed = columns.constraints.groups, work.allowed[number]
    for c in range(groups.shape[1]):
        allowed[c] = 0
        for g in range(len(groups)):
            if work.open_groups[number, g] == 1 and groups[g, c] == 1:
                allowed[c] = columns.allowed[c]


@kernel
def child_histograms(
    blocks: Bytes, columns: Columns, packed: Ints, smaller: int, larger: int, work: Workspace, thread: int,
    n_threads: int,
) -> None:  # fmt: skip
    """Sum the smaller child's histogram and subtract it from the parent's to get the larger child's."""
    leaf = work.leaves[smaller]
    rows, start, count, slot = work.rows[leaf[LIST]], leaf[START], leaf[COUNT], leaf[SLOT]
    small, large = work.histograms[slot], work.histograms[work.leaves[larger, SLOT]]
    n_features = len(columns.n_bins)
    if count >= _MIN_ROWS_TO_SHARE and n_threads > 1:
        histogram_by_rows(blocks, columns, packed, rows, start, count, slot, work, thread, n_threads)
    else:
        first_block, last_block = thread_range(len(blocks), thread, n_threads)
        clear_bins(small, columns.n_bins, first_block * BLOCK, min(last_block * BLOCK, n_features))
        for b in range(first_block, last_block):
            add_rows(blocks[b], rows, start, start + count, packed, block_bins(small, b, n_features))
        barrier(work.barrier_state, n_threads)
        sum_over_workers(HISTOGRAM, slot, work, thread, n_threads)
    first, last = thread_range(n_features, thread, n_threads)
    subtract_bins(large, small, columns.n_bins, first, last)
