"""Grow one tree, leaf by leaf: always split the leaf with the largest gain, until there are enough leaves.

Every thread runs `grow` from start to end. The threads share all arrays, do their part of each step and wait for each
other at barriers; every thread makes the same decisions. The rows of a leaf are a segment of one of two row lists, in
ascending order. Splitting a leaf writes its segment, partitioned, to the other list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.kernels import kernel
from swaprank.trees.bounded_splitting import best_bounded_split
from swaprank.trees.constraints import Constraints
from swaprank.trees.histogram import (
    BINS,
    BLOCK,
    PREFETCH_DISTANCE,
    add_rows,
    clear_bins,
    count_rows,
    subtract_bins,
    sum_bins,
)
from swaprank.trees.intrinsics import barrier, prefetch
from swaprank.trees.set_splitting import best_set_split, number_in_set
from swaprank.trees.splitting import (
    BIN,
    CUTS_AT_ONCE,
    FEATURE,
    GAIN,
    HESS,
    LEFT_HESS,
    MIDDLE,
    MISSING_LEFT,
    SET,
    SPLIT_COLUMNS,
    best_split,
)
from swaprank.trees.tree import Tree

_MIN_ROWS_TO_SHARE = 30_000
"""Threads divide the rows of a leaf of at least this size and sum their histograms; in smaller leaves they divide the
blocks of features."""

START, COUNT, LIST, DEPTH, SLOT = 0, 1, 2, 3, 4
"""Columns of a leaf."""


class Workspace(NamedTuple):
    """Work arrays, allocated once for all trees."""

    rows: AnyArray
    """(2, n_rows) int32: the two row lists."""
    goes_left: Bytes
    histograms: Ints
    """(n_leaves, columns * 256)"""
    thread_histograms: Ints
    """(n_threads, columns * 256): each thread's histogram when threads divide the rows."""
    leaves: Ints
    """(n_leaves, 5)"""
    splits: Floats
    """(n_leaves, 7): the best split of each leaf."""
    candidates: Floats
    """(n_threads, 2, 7): each thread's best splits of the two new leaves."""
    sets: Bytes
    """(n_leaves, set_size), 1 for what the best split of each leaf sends left if it is a split into sets of bins."""
    candidate_sets: Bytes
    """(n_threads, 2, set_size)"""
    set_numbers: Ints
    """(n_threads, 3, set_size): work arrays of `best_set_split`."""
    set_keys: Floats
    """(n_threads, set_size)"""
    bounds: Floats
    """(n_leaves, 2): the lowest and the highest value of each leaf; for monotone features and sets of bins only."""
    open_groups: Bytes
    """(n_leaves, n_groups): 1 for the groups with all features on the way to the leaf."""
    allowed: Ints
    """(n_leaves, n_columns): `Columns.allowed` in each leaf, if there are groups."""
    left_counts: Ints
    """(n_threads * 8,): rows that go left, per thread, one cache line apart."""
    sums: Ints
    cuts: Ints
    gains: Floats
    """sums, cuts and gains (n_threads, CUTS_AT_ONCE): of the cuts whose gains are computed together."""
    feature_gains: Floats
    """(2, columns): the largest gain of each feature in the two new leaves, however few documents are on a side."""
    ends: Ints
    """(columns,): the number of cuts up to each feature."""
    barrier_state: Ints


class Columns(NamedTuple):
    """Properties of each column of bins."""

    n_bins: Ints
    n_columns: Ints
    """Of columns that are split into sets of bins: how many belong together, from this one on."""
    allowed: Ints
    """How this tree may use it: NOT_ALLOWED, NUMBER or SET."""
    constraints: Constraints
    """By column."""


class Limits(NamedTuple):
    """Limits on splits; min_gain, l2 and the largest hessian of a row are in units of the rounded gradients."""

    min_docs: int
    max_depth: int
    min_gain: float
    l2: float
    largest_hessian: int
    smoothing: float
    """See `best_set_split`."""
    noise: float


def make_workspace(
    n_rows: int, n_columns: int, n_leaves: int, n_threads: int, set_size: int, n_groups: int
) -> Workspace:
    """Allocate the work arrays for trees of at most `n_leaves` leaves; set_size is 0 if there are no sets of bins."""
    return Workspace(
        rows=np.empty((2, n_rows), np.int32),
        goes_left=np.empty(n_rows, np.uint8),
        histograms=np.empty((n_leaves, n_columns * BINS), np.int64),
        thread_histograms=np.empty((n_threads, n_columns * BINS), np.int64),
        leaves=np.zeros((n_leaves, 5), np.int64),
        splits=np.zeros((n_leaves, SPLIT_COLUMNS)),
        candidates=np.zeros((n_threads, 2, SPLIT_COLUMNS)),
        sets=np.zeros((n_leaves, set_size), np.uint8),
        candidate_sets=np.zeros((n_threads, 2, set_size), np.uint8),
        set_numbers=np.zeros((n_threads, 3, set_size), np.int64),
        set_keys=np.zeros((n_threads, set_size)),
        bounds=np.zeros((n_leaves, 2)),
        open_groups=np.zeros((n_leaves, n_groups), np.uint8),
        allowed=np.zeros((n_leaves, n_columns if n_groups else 0), np.int64),
        left_counts=np.zeros(n_threads * 8, np.int64),
        sums=np.empty((n_threads, CUTS_AT_ONCE), np.int64),
        cuts=np.empty((n_threads, CUTS_AT_ONCE), np.int64),
        gains=np.empty((n_threads, CUTS_AT_ONCE)),
        feature_gains=np.zeros((2, n_columns)),
        ends=np.empty(n_columns, np.int64),
        barrier_state=np.zeros(2, np.int64),
    )


@kernel
def thread_range(n: int, thread: int, n_threads: int) -> tuple[int, int]:
    """This thread's part of range(n)."""
    return n * thread // n_threads, n * (thread + 1) // n_threads


@kernel
def grow(
    blocks: Bytes,
    columns: Columns,
    packed: Ints,
    n_rows: int,
    limits: Limits,
    work: Workspace,
    tree: Tree,
    thread: int,
    n_threads: int,
) -> int:
    """Grow a tree on the rows work.rows[0, :n_rows] and return its number of leaves."""
    # Numba gives the literals 0, -1 and 1 types of their own and would compile the functions called with them twice.
    root, none, n_leaves = int(np.int64(0)), int(np.int64(-1)), int(np.int64(1))
    if thread == 0:
        leaf = work.leaves[0]
        leaf[START], leaf[COUNT], leaf[LIST], leaf[DEPTH], leaf[SLOT] = 0, n_rows, 0, 0, 0
        work.bounds[0, 0], work.bounds[0, 1] = -np.inf, np.inf
        for g in range(work.open_groups.shape[1]):
            work.open_groups[0, g] = 1
        allow_open_groups(columns, root, work)
    histogram_by_rows(blocks, columns, packed, work.rows[root], root, n_rows, root, work, thread, n_threads)
    find_splits(blocks, columns, limits, root, none, work, thread, n_threads)
    while n_leaves < len(work.leaves):
        chosen = root
        for number in range(1, n_leaves):
            if work.splits[number, GAIN] > work.splits[chosen, GAIN]:
                chosen = number
        if not work.splits[chosen, GAIN] > limits.min_gain:
            break
        n_left = partition_rows(blocks, columns, chosen, work, thread, n_threads)
        smaller = n_leaves if 2 * n_left >= work.leaves[chosen, COUNT] else chosen
        larger = chosen + n_leaves - smaller
        # All threads have read the leaf and its split, so that one thread may overwrite them now.
        barrier(work.barrier_state, n_threads)
        if thread == 0:
            record_split(chosen, n_leaves, n_left, smaller, larger, work, tree)
            constrain_children(columns, chosen, n_leaves, work)
        barrier(work.barrier_state, n_threads)
        n_leaves += 1
        if n_leaves < len(work.leaves):  # The last two leaves are not split.
            child_histograms(blocks, columns, packed, smaller, larger, work, thread, n_threads)
            find_splits(blocks, columns, limits, smaller, larger, work, thread, n_threads)
    return n_leaves


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
    mine, width = work.thread_histograms[thread] if n_threads > 1 else work.histograms[slot], BLOCK * BINS
    clear_bins(mine, columns.n_bins, 0, len(columns.n_bins))
    for b in range(len(blocks)):
        add_rows(blocks[b], rows, start + first, start + last, packed, mine[b * width : (b + 1) * width])
    if n_threads > 1:
        barrier(work.barrier_state, n_threads)
        first, last = thread_range(len(columns.n_bins), thread, n_threads)
        sum_bins(work.thread_histograms, columns.n_bins, first, last, work.histograms[slot])
        barrier(work.barrier_state, n_threads)


@kernel
def mark_left(blocks: Bytes, columns: Columns, number: int, work: Workspace, thread: int, n_threads: int) -> int:
    """Mark the rows of a leaf that its split sends left and return their number; each thread marks its part."""
    leaf, split = work.leaves[number], work.splits[number]
    feature, cut, missing_left = int(split[FEATURE]), int(split[BIN]), split[MISSING_LEFT] == 1.0
    first, last = thread_range(leaf[COUNT], thread, n_threads)
    block, column = blocks[feature // BLOCK], np.uint64(feature % BLOCK)
    # Missing values have bin 0, which is below every cut; a lower bound of 1 sends them right.
    lowest = 0 if missing_left else 1
    mine = work.rows[leaf[LIST], leaf[START] + first : leaf[START] + last]
    goes_left = work.goes_left[leaf[START] + first : leaf[START] + last]
    n_mine = np.int64(0)
    if cut > 0:
        for k in range(len(mine)):
            prefetch(block, np.int64(mine[min(k + PREFETCH_DISTANCE, len(mine) - 1)]) * BLOCK)
            bin_number = np.int64(block[np.uint64(mine[k]), column])
            left = np.uint8((bin_number <= cut) & (bin_number >= lowest))
            goes_left[k] = left
            n_mine += left
    else:
        left_set = work.sets[number]
        for k in range(len(mine)):
            prefetch(block, np.int64(mine[min(k + PREFETCH_DISTANCE, len(mine) - 1)]) * BLOCK)
            left = left_set[number_in_set(block[np.uint64(mine[k])], int(column), columns.n_columns[feature])]
            goes_left[k] = left
            n_mine += left
    work.left_counts[8 * thread] = n_mine
    barrier(work.barrier_state, n_threads)
    n_left = np.int64(0)
    for other in range(n_threads):
        n_left += work.left_counts[8 * other]
    return int(n_left)


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
def record_split(chosen: int, new: int, n_left: int, smaller: int, larger: int, work: Workspace, tree: Tree) -> None:
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
    n_features, width = len(columns.n_bins), BLOCK * BINS
    if count >= _MIN_ROWS_TO_SHARE and n_threads > 1:
        histogram_by_rows(blocks, columns, packed, rows, start, count, slot, work, thread, n_threads)
    else:
        first_block, last_block = thread_range(len(blocks), thread, n_threads)
        clear_bins(small, columns.n_bins, first_block * BLOCK, min(last_block * BLOCK, n_features))
        for b in range(first_block, last_block):
            add_rows(blocks[b], rows, start, start + count, packed, small[b * width : (b + 1) * width])
        barrier(work.barrier_state, n_threads)
    first, last = thread_range(n_features, thread, n_threads)
    subtract_bins(large, small, columns.n_bins, first, last)


@kernel
def find_splits(
    blocks: Bytes, columns: Columns, limits: Limits, one: int, two: int, work: Workspace, thread: int, n_threads: int
) -> None:
    """Find the best splits of two leaves (or of one, if `two` is -1).

    Histograms do not count documents. A side whose hessian is at least `min_docs` times the largest hessian of any row
    has enough documents. Otherwise the documents of the two sides are counted. Only if a side has too few is the
    search repeated, with the documents counted in every bin of the features that may have a better split.
    """
    search_splits(blocks, columns, limits, one, two, False, work, thread, n_threads)
    if limits.min_docs > 1:
        again_one = has_small_side(blocks, columns, limits, one, work, thread, n_threads)
        again_two = two >= 0 and has_small_side(blocks, columns, limits, two, work, thread, n_threads)
        if again_one or again_two:
            none = int(np.int64(-1))
            one, two = one if again_one else none, two if again_two else none
            search_splits(blocks, columns, limits, one, two, True, work, thread, n_threads)


@kernel
def has_small_side(
    blocks: Bytes, columns: Columns, limits: Limits, number: int, work: Workspace, thread: int, n_threads: int
) -> bool:
    """Whether a side of a leaf's best split has too few documents; all threads get the same answer."""
    if surely_enough_documents(work.splits[number], limits):
        return False
    n_left = mark_left(blocks, columns, number, work, thread, n_threads)
    # All threads must read left_counts before any thread writes them again.
    barrier(work.barrier_state, n_threads)
    return bool(min(n_left, work.leaves[number, COUNT] - n_left) < limits.min_docs)


@kernel
def surely_enough_documents(split: Floats, limits: Limits) -> bool:
    """Whether the hessians prove that both sides have enough documents; also true if there is no split."""
    least = float(limits.min_docs) * limits.largest_hessian
    return bool(split[GAIN] == 0.0 or min(split[LEFT_HESS], split[HESS] - split[LEFT_HESS]) >= least)


@kernel
def search_splits(
    blocks: Bytes,
    columns: Columns,
    limits: Limits,
    one: int,
    two: int,
    check_counts: bool,
    work: Workspace,
    thread: int,
    n_threads: int,
) -> None:
    """Each thread searches its features; then the first thread keeps the best split of all."""
    first, last = thread_range(len(columns.n_bins), thread, n_threads)
    if work.sets.shape[1] > 0:  # A feature with many categories may have columns whose sums another thread computes.
        barrier(work.barrier_state, n_threads)
    for which in range(2):
        number = one if which == 0 else two
        mine = work.candidates[thread, which]
        mine[GAIN] = 0.0
        if number < 0 or first >= last:
            continue
        leaf = work.leaves[number]
        if leaf[COUNT] < 2 * limits.min_docs or leaf[DEPTH] >= limits.max_depth:
            continue
        sets, monotone = work.sets.shape[1] > 0, columns.constraints.monotone
        if check_counts and (sets or len(monotone) > 0):
            count_features(blocks, columns, number, first, last, work, thread)
        if len(monotone) > 0:
            best_bounded_split(
                work.histograms[leaf[SLOT]],
                work.thread_histograms[thread],
                check_counts,
                limits.min_docs,
                columns.n_bins,
                monotone,
                allowed_columns(columns, number, work),
                first,
                last,
                limits.l2,
                work.bounds[number],
                mine,
            )
        elif check_counts:
            best_counted_split(
                blocks, columns, limits, number, first, last, work.feature_gains[which], work, thread, mine
            )
        else:
            search_features(columns, limits, number, False, first, last, work.feature_gains[which], work, thread, mine)
        if sets:
            best_set_split(
                work.histograms[leaf[SLOT]],
                work.thread_histograms[thread],
                check_counts,
                limits.min_docs,
                columns.n_bins,
                columns.n_columns,
                allowed_columns(columns, number, work),
                first,
                last,
                limits.l2,
                limits.smoothing,
                limits.noise,
                work.bounds[number],
                work.set_numbers[thread, 0],
                work.set_keys[thread],
                work.set_numbers[thread, 1],
                work.set_numbers[thread, 2],
                mine,
                work.candidate_sets[thread, which],
            )
    barrier(work.barrier_state, n_threads)
    if thread == 0:
        for which in range(2):
            number = one if which == 0 else two
            if number >= 0:
                best = 0
                for other in range(1, n_threads):
                    if work.candidates[other, which, GAIN] > work.candidates[best, which, GAIN]:
                        best = other
                for field in range(work.splits.shape[1]):  # a row assignment takes Numba a second to compile
                    work.splits[number, field] = work.candidates[best, which, field]
                for b in range(work.sets.shape[1]):
                    work.sets[number, b] = work.candidate_sets[best, which, b]
    barrier(work.barrier_state, n_threads)


@kernel
def allowed_columns(columns: Columns, number: int, work: Workspace) -> Ints:
    """How a leaf may use each column."""
    return work.allowed[number] if len(columns.constraints.groups) > 0 else columns.allowed


@kernel
def count_features(
    blocks: Bytes, columns: Columns, number: int, first: int, last: int, work: Workspace, thread: int
) -> None:
    """Count a leaf's documents in every bin of the features from first to last: of all, or of those with sets only."""
    leaf, counts, every = work.leaves[number], work.thread_histograms[thread], len(columns.constraints.monotone) > 0
    rows, begin = work.rows[leaf[LIST]], leaf[START]
    for f in range(first, last):
        n_columns = columns.n_columns[f] if columns.allowed[f] == SET else int(every)
        for c in range(f, f + n_columns):
            part = counts[c * BINS : (c + 1) * BINS]
            count_rows(blocks[c // BLOCK], c % BLOCK, rows, begin, begin + leaf[COUNT], part)


@kernel
def search_features(
    columns: Columns, limits: Limits, number: int, check_counts: bool, first: int, last: int,
    feature_gains: Floats, work: Workspace, thread: int, split: Floats,
) -> None:  # fmt: skip
    """Write a leaf's best split among the features from first to last."""
    best_split(
        work.histograms[work.leaves[number, SLOT]],
        work.thread_histograms[thread],
        check_counts,
        limits.min_docs,
        columns.n_bins,
        allowed_columns(columns, number, work),
        first,
        last,
        limits.l2,
        work.sums[thread],
        work.cuts[thread],
        work.ends,
        work.gains[thread],
        feature_gains,
        split,
    )


@kernel
def best_counted_split(
    blocks: Bytes, columns: Columns, limits: Limits, number: int, first: int, last: int,
    feature_gains: Floats, work: Workspace, thread: int, split: Floats,
) -> None:  # fmt: skip
    """Write a leaf's best split with enough documents on each side, among the features from first to last.

    The features are visited from the largest gain down, and their documents are counted, until no other feature can
    have a better split.
    """
    leaf, counts, found = work.leaves[number], work.thread_histograms[thread], np.zeros(SPLIT_COLUMNS)
    rows, begin = work.rows[leaf[LIST]], leaf[START]
    while True:
        f = first
        for other in range(first + 1, last):
            if feature_gains[other] > feature_gains[f]:
                f = other
        if feature_gains[f] == 0.0 or feature_gains[f] < split[GAIN]:
            return
        count_rows(blocks[f // BLOCK], f % BLOCK, rows, begin, begin + leaf[COUNT], counts[f * BINS : (f + 1) * BINS])
        search_features(columns, limits, number, True, f, f + 1, feature_gains, work, thread, found)
        feature_gains[f] = 0.0
        if found[GAIN] > split[GAIN] or (found[GAIN] == split[GAIN] and found[FEATURE] < split[FEATURE]):
            for field in range(SPLIT_COLUMNS):
                split[field] = found[field]
