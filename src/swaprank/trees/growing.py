"""One tree, leaf by leaf: always the leaf whose split gains most, until there are enough leaves.

Every thread runs `grow` from beginning to end. They share all arrays, do their part of each step and meet at barriers;
whatever must be decided is decided by each alike. Rows of a leaf are a segment of one of two row lists, in ascending
order; splitting a leaf writes its segment, parted, into the other list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.kernels import kernel
from swaprank.trees.histogram import AHEAD, BINS, BLOCK, add_rows, count_rows
from swaprank.trees.intrinsics import barrier, prefetch
from swaprank.trees.splitting import (
    BIN,
    FEATURE,
    GAIN,
    HESS,
    LEFT_HESS,
    MISSING_LEFT,
    SPLIT_COLUMNS,
    best_split,
)
from swaprank.trees.tree import Tree

_BY_ROWS = 30_000
"""From this many rows on, threads share a leaf's rows and add up their histograms; below, they share the blocks."""

START, COUNT, LIST, DEPTH, SLOT = 0, 1, 2, 3, 4
"""Columns of a leaf."""


class Workspace(NamedTuple):
    """All that growing needs, allocated once for all trees."""

    rows: AnyArray
    """(2, n_rows) int32: the two row lists."""
    goes_left: Bytes
    histograms: Ints
    """(n_leaves, columns * 256)"""
    private: Ints
    """(n_threads, columns * 256): each thread's part of a histogram shared by rows."""
    leaves: Ints
    """(n_leaves, 5)"""
    splits: Floats
    """(n_leaves, 6): the best split of each leaf."""
    candidates: Floats
    """(n_threads, 2, 6): each thread's best for the two leaves at hand."""
    tallies: Ints
    """(n_threads,): rows that go left, by thread."""
    prefix: Ints
    gains: Floats
    """(n_threads, 256): sums and gains of one feature's cuts."""
    meeting: Ints


class Columns(NamedTuple):
    """What is known of each feature."""

    n_bins: Ints
    allowed: Ints
    """1 for the features that this tree may use."""


class Rules(NamedTuple):
    """When to split; gains, l2 and the largest hessian of a row in the steps that gradients were rounded to."""

    min_docs: int
    max_depth: int
    min_gain: float
    l2: float
    largest_hessian: int


def make_workspace(n_rows: int, n_columns: int, n_leaves: int, n_threads: int) -> Workspace:
    """Arrays for trees of so many leaves on so many rows."""
    return Workspace(
        rows=np.empty((2, n_rows), np.int32),
        goes_left=np.empty(n_rows, np.uint8),
        histograms=np.empty((n_leaves, n_columns * BINS), np.int64),
        private=np.empty((n_threads, n_columns * BINS), np.int64),
        leaves=np.zeros((n_leaves, 5), np.int64),
        splits=np.zeros((n_leaves, SPLIT_COLUMNS)),
        candidates=np.zeros((n_threads, 2, SPLIT_COLUMNS)),
        tallies=np.zeros(n_threads * 8, np.int64),
        prefix=np.empty((n_threads, BINS), np.int64),
        gains=np.empty((n_threads, BINS)),
        meeting=np.zeros(2, np.int64),
    )


@kernel
def share(n: int, thread: int, n_threads: int) -> tuple[int, int]:
    """This thread's part of n things."""
    return n * thread // n_threads, n * (thread + 1) // n_threads


@kernel
def grow(
    blocks: Bytes,
    bins: Columns,
    packed: Ints,
    n_rows: int,
    rules: Rules,
    work: Workspace,
    tree: Tree,
    thread: int,
    n_threads: int,
) -> int:
    """Grow a tree on the rows work.rows[0, :n_rows]; gives its number of leaves."""
    if thread == 0:
        leaf = work.leaves[0]
        leaf[START], leaf[COUNT], leaf[LIST], leaf[DEPTH], leaf[SLOT] = 0, n_rows, 0, 0, 0
    root_histogram(blocks, packed, n_rows, work, thread, n_threads)
    # Plain 0, -1 and 1 would be types of their own to Numba, and what they are handed to would be compiled twice.
    root, none, n_leaves = int(np.int64(0)), int(np.int64(-1)), int(np.int64(1))
    find_splits(blocks, bins, rules, root, none, work, thread, n_threads)
    while n_leaves < len(work.leaves):
        chosen = root
        for number in range(1, n_leaves):
            if work.splits[number, GAIN] > work.splits[chosen, GAIN]:
                chosen = number
        if not work.splits[chosen, GAIN] > rules.min_gain:
            break
        n_left = part_rows(blocks, chosen, work, thread, n_threads)
        smaller = n_leaves if 2 * n_left >= work.leaves[chosen, COUNT] else chosen
        larger = chosen + n_leaves - smaller
        # All have read the leaf and its split by now, and one may write what becomes of it.
        barrier(work.meeting, n_threads)
        if thread == 0:
            record_split(chosen, n_leaves, n_left, smaller, larger, work, tree)
        barrier(work.meeting, n_threads)
        child_histograms(blocks, packed, smaller, larger, work, thread, n_threads)
        find_splits(blocks, bins, rules, smaller, larger, work, thread, n_threads)
        n_leaves += 1
    if thread == 0:
        for number in range(n_leaves):
            tree.leaf_count[number] = work.leaves[number, COUNT]
    return n_leaves


@kernel
def root_histogram(blocks: Bytes, packed: Ints, n_rows: int, work: Workspace, thread: int, n_threads: int) -> None:
    """All threads share the rows."""
    start, stop = share(n_rows, thread, n_threads)
    mine = work.private[thread]
    mine[:] = 0
    for b in range(len(blocks)):
        add_rows(blocks[b], work.rows[0], start, stop, packed, mine[b * BLOCK * BINS : (b + 1) * BLOCK * BINS])
    barrier(work.meeting, n_threads)
    add_up_private(work, 0, thread, n_threads)
    barrier(work.meeting, n_threads)


@kernel
def add_up_private(work: Workspace, slot: int, thread: int, n_threads: int) -> None:
    """Every thread adds up its share of the bins over all threads' histograms."""
    first, last = share(work.private.shape[1], thread, n_threads)
    for c in range(first, last):
        total = work.private[0, c]
        for other in range(1, n_threads):
            total += work.private[other, c]
        work.histograms[slot, c] = total


@kernel
def mark_left(blocks: Bytes, number: int, work: Workspace, thread: int, n_threads: int) -> int:
    """Which rows of a leaf its split would send left, and how many; each thread marks its share of them."""
    leaf, split = work.leaves[number], work.splits[number]
    feature, cut, missing_left = int(split[FEATURE]), int(split[BIN]), split[MISSING_LEFT] == 1.0
    first, last = share(leaf[COUNT], thread, n_threads)
    block, column = blocks[feature // BLOCK], np.uint64(feature % BLOCK)
    # Missing is bin 0: below every cut as it stands, and left out by a lower bound of 1.
    lowest = 0 if missing_left else 1
    mine = work.rows[leaf[LIST], leaf[START] + first : leaf[START] + last]
    goes_left = work.goes_left[leaf[START] + first : leaf[START] + last]
    tally = np.int64(0)
    for k in range(len(mine)):
        prefetch(block, np.int64(mine[min(k + AHEAD, len(mine) - 1)]) * BLOCK)
        bin_number = np.int64(block[np.uint64(mine[k]), column])
        left = np.uint8((bin_number <= cut) & (bin_number >= lowest))
        goes_left[k] = left
        tally += left
    work.tallies[8 * thread] = tally
    barrier(work.meeting, n_threads)
    n_left = np.int64(0)
    for other in range(n_threads):
        n_left += work.tallies[8 * other]
    return int(n_left)


@kernel
def part_rows(blocks: Bytes, chosen: int, work: Workspace, thread: int, n_threads: int) -> int:
    """Write the leaf's rows into the other list, those that go left before those that go right, each in order."""
    n_left = mark_left(blocks, chosen, work, thread, n_threads)
    leaf = work.leaves[chosen]
    first, last = share(leaf[COUNT], thread, n_threads)
    begin = leaf[START]
    before = np.int64(0)
    for other in range(thread):
        before += work.tallies[8 * other]
    left_at, right_at = begin + before, begin + n_left + first - before
    mine, goes_left = work.rows[leaf[LIST], begin + first : begin + last], work.goes_left[begin + first : begin + last]
    target = work.rows[1 - leaf[LIST]]
    for k in range(len(mine)):
        goes = np.int64(goes_left[k])
        target[left_at if goes else right_at] = mine[k]
        left_at += goes
        right_at += 1 - goes
    return n_left


@kernel
def record_split(chosen: int, new: int, n_left: int, smaller: int, larger: int, work: Workspace, tree: Tree) -> None:
    """Turn the leaf into a node: its left child keeps the leaf's number, its right child gets the new one."""
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
    tree.node_count[node] = parent[COUNT]
    right = work.leaves[new]
    right[START], right[COUNT] = parent[START] + n_left, parent[COUNT] - n_left
    parent[COUNT] = n_left
    right[LIST] = parent[LIST] = 1 - parent[LIST]
    right[DEPTH] = parent[DEPTH] = parent[DEPTH] + 1
    # The larger child takes over the histogram of its parent, from which the smaller one's will be taken away.
    slot = parent[SLOT]
    work.leaves[larger, SLOT], work.leaves[smaller, SLOT] = slot, new


@kernel
def child_histograms(
    blocks: Bytes, packed: Ints, smaller: int, larger: int, work: Workspace, thread: int, n_threads: int
) -> None:
    """Count the smaller child, and subtract it from the parent to get the larger one."""
    leaf = work.leaves[smaller]
    rows, begin, count = work.rows[leaf[LIST]], leaf[START], leaf[COUNT]
    slot = leaf[SLOT]
    small, large = work.histograms[slot], work.histograms[work.leaves[larger, SLOT]]
    width = BLOCK * BINS
    if count >= _BY_ROWS and n_threads > 1:
        mine = work.private[thread]
        mine[:] = 0
        first, last = share(count, thread, n_threads)
        for b in range(len(blocks)):
            add_rows(blocks[b], rows, begin + first, begin + last, packed, mine[b * width : (b + 1) * width])
        barrier(work.meeting, n_threads)
        add_up_private(work, slot, thread, n_threads)
        barrier(work.meeting, n_threads)
        first_block, last_block = share(len(blocks), thread, n_threads)
    else:
        first_block, last_block = share(len(blocks), thread, n_threads)
        small[first_block * width : last_block * width] = 0
        for b in range(first_block, last_block):
            add_rows(blocks[b], rows, begin, begin + count, packed, small[b * width : (b + 1) * width])
    for c in range(first_block * width, last_block * width):
        large[c] -= small[c]


@kernel
def find_splits(
    blocks: Bytes, bins: Columns, rules: Rules, one: int, two: int, work: Workspace, thread: int, n_threads: int
) -> None:
    """The best splits of two leaves (or of one, if `two` is -1).

    Histograms hold no number of documents. A side whose hessian is `min_docs` times the largest of any row must have
    enough of them; where that says nothing, the documents of the two sides are counted. Only if they are too few are
    the leaf's documents counted for all features, and its splits sought once more.
    """
    search(blocks, bins, rules, one, two, False, work, thread, n_threads)
    if rules.min_docs > 1:
        again_one = too_few(blocks, rules, one, work, thread, n_threads)
        again_two = two >= 0 and too_few(blocks, rules, two, work, thread, n_threads)
        if again_one or again_two:
            none = int(np.int64(-1))
            one, two = one if again_one else none, two if again_two else none
            search(blocks, bins, rules, one, two, True, work, thread, n_threads)


@kernel
def too_few(blocks: Bytes, rules: Rules, number: int, work: Workspace, thread: int, n_threads: int) -> bool:
    """Whether a side of a leaf's best split has too few documents; all threads find the same."""
    if surely_enough(work.splits[number], rules):
        return False
    n_left = mark_left(blocks, number, work, thread, n_threads)
    # The tallies must be read by all before they are written again.
    barrier(work.meeting, n_threads)
    return bool(min(n_left, work.leaves[number, COUNT] - n_left) < rules.min_docs)


@kernel
def surely_enough(split: Floats, rules: Rules) -> bool:
    """Whether both sides of a split must have enough documents, whatever their rows; or there is no split."""
    least = float(rules.min_docs) * rules.largest_hessian
    return bool(split[GAIN] == 0.0 or min(split[LEFT_HESS], split[HESS] - split[LEFT_HESS]) >= least)


@kernel
def search(
    blocks: Bytes,
    bins: Columns,
    rules: Rules,
    one: int,
    two: int,
    counted: bool,
    work: Workspace,
    thread: int,
    n_threads: int,
) -> None:
    """Each thread looks through its blocks of features; then the best of all is written."""
    first_block, last_block = share(len(blocks), thread, n_threads)
    first, last = first_block * BLOCK, min(last_block * BLOCK, len(bins.n_bins))
    for which in range(2):
        number = one if which == 0 else two
        mine = work.candidates[thread, which]
        mine[GAIN] = 0.0
        if number < 0 or first >= last:
            continue
        leaf, documents = work.leaves[number], work.private[thread]
        if leaf[COUNT] < 2 * rules.min_docs or leaf[DEPTH] >= rules.max_depth:
            continue
        if counted:
            rows, begin = work.rows[leaf[LIST]], leaf[START]
            for b in range(first_block, last_block):
                part = documents[b * BLOCK * BINS : (b + 1) * BLOCK * BINS]
                part[:] = 0
                count_rows(blocks[b], rows, begin, begin + leaf[COUNT], part)
        best_split(
            work.histograms[leaf[SLOT]],
            documents,
            counted,
            rules.min_docs,
            bins.n_bins,
            bins.allowed,
            first,
            last,
            rules.l2,
            work.prefix[thread],
            work.gains[thread],
            mine,
        )
    barrier(work.meeting, n_threads)
    if thread == 0:
        for which in range(2):
            number = one if which == 0 else two
            if number >= 0:
                best = 0
                for other in range(1, n_threads):
                    if work.candidates[other, which, GAIN] > work.candidates[best, which, GAIN]:
                        best = other
                work.splits[number] = work.candidates[best, which]
    barrier(work.meeting, n_threads)
