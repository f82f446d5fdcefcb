"""Divide leaves: the rows of their children, the histograms of these, and who may have which features and values.

The rows of a leaf are a segment of one of two row lists, in ascending order. Its children have the same segment of the
other list. Of two children the smaller one's histogram is summed and subtracted from that of their parent, which then
is the larger one's.

Workers of a cluster each have their own rows of a leaf. They know which child is smaller by the sums of hessians, and
learn how many documents the children have together with the histograms: if too few, the leaf stays as it is.
"""

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Ints
from swaprank.kernels import kernel
from swaprank.trees.histogram import BINS, BLOCK, HALF, add_rows, clear_bins, count_rows, subtract_bins, sum_bins
from swaprank.trees.intrinsics import barrier
from swaprank.trees.split_search import mark_left
from swaprank.trees.splitting import FEATURE, HESS, LEFT_HESS, MIDDLE, leaf_sums
from swaprank.trees.worker_sums import sum_over_workers
from swaprank.trees.workspace import (
    CHILD,
    COUNT,
    DEPTH,
    DIVIDED,
    LIST,
    N_CHECKED,
    N_CHOSEN,
    N_COUNTS,
    N_FOUND,
    N_LEAVES,
    N_RECOUNTED,
    N_USED,
    OPEN,
    PATH,
    REFUTED,
    SLOT,
    SMOOTHING,
    SPLIT_NOISE,
    START,
    STATE,
    TOTAL,
    VARIANCE,
    Columns,
    Limits,
    Workspace,
    searched_columns,
    smaller_slot,
    thread_range,
)

_MIN_ROWS_TO_SHARE = 30_000
"""Threads divide the rows of a leaf of at least this size and sum their histograms; in smaller leaves they divide the
blocks of features."""
_SMOOTHING_DOCUMENTS = 10.0
"""The smoothing of `best_set_split` in documents of mean hessian."""


@kernel
def start_root(
    blocks: Bytes, columns: Columns, packed: Ints, n_rows: int, n_total: int, limits: Limits, work: Workspace,
    thread: int, n_threads: int,
) -> None:  # fmt: skip
    """Make all rows one leaf, sum its histogram, and find how large the noise of the gradients is."""
    root = int(np.int64(0))
    if thread == 0:
        leaf = work.leaves[0]
        leaf[:] = 0
        leaf[COUNT], leaf[TOTAL] = n_rows, n_total
        work.bounds[0, 0], work.bounds[0, 1] = -np.inf, np.inf
        for g in range(work.open_groups.shape[1]):
            work.open_groups[0, g] = 1
        allow_open_groups(columns, root, work)
        work.sizes[:] = 0
        work.sizes[N_LEAVES], work.tree_leaves[0] = 1, 0
        work.sizes[N_COUNTS], work.counts[0] = 1, limits.squares
    barrier(work.barrier_state, n_threads)
    histogram_by_rows(blocks, columns, packed, work.rows[root], root, n_rows, root, work, thread, n_threads)
    sum_over_workers(columns, int(np.int64(1)), work, thread, n_threads)
    if thread == 0:
        _, hessian = leaf_sums(work.histograms[0], columns.n_bins, root)
        work.noise[SMOOTHING] = _SMOOTHING_DOCUMENTS * hessian / float(n_total)
        work.noise[VARIANCE] = float(work.counts[0]) / max(1.0, hessian)
        work.noise[SPLIT_NOISE] = limits.split_noise * np.sqrt(work.noise[VARIANCE])


@kernel
def divide_leaves(
    blocks: Bytes, columns: Columns, packed: Ints, limits: Limits, work: Workspace, thread: int, n_threads: int
) -> None:
    """Give the chosen leaves two children each, unless a side has too few documents; count those of other leaves.

    The documents of both sides are counted in the checked leaves, and those in every bin in the recounted ones.
    """
    n_chosen = work.sizes[N_CHOSEN]
    for k in range(n_chosen):
        n_left = partition_rows(blocks, columns, work.chosen[k], work, thread, n_threads)
        barrier(work.barrier_state, n_threads)
        if thread == 0:
            work.counts[k] = n_left
            make_children(columns, work.chosen[k], n_left, work)
    for k in range(work.sizes[N_CHECKED]):
        n_left = mark_left(blocks, columns, work.checked[k], work, thread, n_threads)
        barrier(work.barrier_state, n_threads)
        if thread == 0:
            work.counts[n_chosen + k] = n_left
    if thread == 0:
        work.sizes[N_COUNTS] = n_chosen + work.sizes[N_CHECKED]
    barrier(work.barrier_state, n_threads)
    for k in range(work.sizes[N_RECOUNTED]):
        count_columns(blocks, columns, work.recounted[k], work.documents[k], work, thread, n_threads)
    for k in range(n_chosen):
        smaller_histogram(blocks, columns, packed, work.leaves[work.chosen[k], CHILD], work, thread, n_threads)
    barrier(work.barrier_state, n_threads)
    sum_over_workers(columns, n_chosen, work, thread, n_threads)
    if thread == 0:
        settle(limits, work)
    barrier(work.barrier_state, n_threads)
    first, last = searched_columns(columns, work, thread, n_threads)
    for k in range(n_chosen):
        leaf = work.leaves[work.chosen[k]]
        if leaf[STATE] == DIVIDED:
            slots = work.histograms[leaf[SLOT]], work.histograms[smaller_slot(leaf[CHILD])]
            subtract_bins(slots[0], slots[1], columns.n_bins, first, last)


@kernel
def settle(limits: Limits, work: Workspace) -> None:
    """Note the documents of all workers, and which leaves have too few on a side; list the new leaves to search."""
    n_chosen, n_found = work.sizes[N_CHOSEN], np.int64(0)
    for k in range(n_chosen + work.sizes[N_CHECKED]):
        number = work.chosen[k] if k < n_chosen else work.checked[k - n_chosen]
        leaf, n_left = work.leaves[number], work.counts[k]
        if min(n_left, leaf[TOTAL] - n_left) < limits.min_docs:
            leaf[STATE] = REFUTED
        elif k < n_chosen:
            leaf[STATE], child = DIVIDED, leaf[CHILD]
            work.leaves[child, TOTAL], work.leaves[child + 1, TOTAL] = n_left, leaf[TOTAL] - n_left
            work.found[n_found], work.found[n_found + 1] = child, child + 1
            n_found += 2
        else:
            leaf[STATE] = OPEN
    for k in range(work.sizes[N_RECOUNTED]):
        work.found[n_found + k] = work.recounted[k]
    work.sizes[N_FOUND] = n_found + work.sizes[N_RECOUNTED]


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


@kernel
def block_bins(histogram: Ints, block: int, n_features: int) -> Ints:
    """The bins of a block's features; of half of the block if it has no more."""
    first = block * BLOCK
    bins: Ints = histogram[first * BINS : (first + (HALF if n_features - first <= HALF else BLOCK)) * BINS]
    return bins


@kernel
def smaller_histogram(
    blocks: Bytes, columns: Columns, packed: Ints, child: int, work: Workspace, thread: int, n_threads: int
) -> None:
    """Sum the histogram of the smaller one of two children, of which the left one is given."""
    slot, n_features = smaller_slot(child), len(columns.n_bins)
    leaf = work.leaves[child if work.leaves[child, SLOT] == slot else child + 1]
    rows, start, count = work.rows[leaf[LIST]], leaf[START], leaf[COUNT]
    if count >= _MIN_ROWS_TO_SHARE and n_threads > 1:
        histogram_by_rows(blocks, columns, packed, rows, start, count, slot, work, thread, n_threads)
        return
    small = work.histograms[slot]
    first, last = thread_range(len(blocks), thread, n_threads)
    clear_bins(small, columns.n_bins, first * BLOCK, min(last * BLOCK, n_features))
    for b in range(first, last):
        add_rows(blocks[b], rows, start, start + count, packed, block_bins(small, b, n_features))


@kernel
def count_columns(
    blocks: Bytes, columns: Columns, number: int, counts: Ints, work: Workspace, thread: int, n_threads: int
) -> None:
    """Count a leaf's documents in every bin."""
    leaf = work.leaves[number]
    rows, begin = work.rows[leaf[LIST]], leaf[START]
    first, last = thread_range(len(columns.n_bins), thread, n_threads)
    for c in range(first, last):
        part = counts[c * BINS : (c + 1) * BINS]
        count_rows(blocks[c // BLOCK], c % BLOCK, rows, begin, begin + leaf[COUNT], part)


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
def make_children(columns: Columns, number: int, n_left: int, work: Workspace) -> None:
    """Make the two children of a leaf, whose rows are those of this worker."""
    parent, split = work.leaves[number], work.splits[number]
    if parent[CHILD] == 0:  # Otherwise it had children before, which had too few documents.
        parent[CHILD] = 2 * work.sizes[N_USED] + 1
        work.sizes[N_USED] += 1
    left = parent[CHILD]
    for child in range(left, left + 2):
        leaf = work.leaves[child]
        leaf[LIST], leaf[DEPTH], leaf[CHILD], leaf[STATE] = 1 - parent[LIST], parent[DEPTH] + 1, 0, OPEN
        leaf[PATH], leaf[SLOT] = 2 * parent[PATH] + 1 + child - left, parent[SLOT]
    work.leaves[left, START], work.leaves[left, COUNT] = parent[START], n_left
    work.leaves[left + 1, START], work.leaves[left + 1, COUNT] = parent[START] + n_left, parent[COUNT] - n_left
    alone, by_hessian = work.send_message == 0, 2.0 * split[LEFT_HESS] >= split[HESS]
    smaller = left + np.int64(2 * n_left >= parent[COUNT] if alone else by_hessian)
    work.leaves[smaller, SLOT] = smaller_slot(left)
    constrain_children(columns, number, work)


@kernel
def constrain_children(columns: Columns, number: int, work: Workspace) -> None:
    """Pass the bounds and the groups of a leaf on to its children."""
    split, groups, monotone = work.splits[number], columns.constraints.groups, columns.constraints.monotone
    left = work.leaves[number, CHILD]
    feature, right = int(split[FEATURE]), left + 1
    for child in range(left, left + 2):
        work.bounds[child, 0], work.bounds[child, 1] = work.bounds[number, 0], work.bounds[number, 1]
        for g in range(len(groups)):
            work.open_groups[child, g] = work.open_groups[number, g] & groups[g, feature]
        allow_open_groups(columns, child, work)
    direction = monotone[feature] if len(monotone) > 0 else 0
    if direction != 0:
        below, above = (left, right) if direction > 0 else (right, left)
        work.bounds[below, 1] = work.bounds[above, 0] = split[MIDDLE]


@kernel
def allow_open_groups(columns: Columns, number: int, work: Workspace) -> None:
    """Allow a leaf the features of its open groups."""
    groups, allowed = columns.constraints.groups, work.allowed[number]
    for c in range(groups.shape[1]):
        allowed[c] = 0
        for g in range(len(groups)):
            if work.open_groups[number, g] == 1 and groups[g, c] == 1:
                allowed[c] = columns.allowed[c]
