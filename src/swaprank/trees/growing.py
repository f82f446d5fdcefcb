"""Grow one tree, leaf by leaf: always split the leaf with the largest gain, until there are enough leaves.

Every thread runs `grow` from start to end. The threads share all arrays, do their part of each step and wait for each
other at barriers; every thread makes the same decisions.

Workers of a cluster each have their own rows, and add up histograms and counts. A message takes them longer than the
work for a leaf, so they split several leaves at once: those that come next if their children have no larger gains.
Then the tree takes the splits in the order of their gains, and stops where a leaf has to be split first. Splits that
are never taken are dropped: the tree is the one that grows leaf by leaf.
"""

import numpy as np

from swaprank.arrays import Bytes, Ints
from swaprank.kernels import kernel
from swaprank.trees.intrinsics import barrier
from swaprank.trees.leaf_division import divide_leaves, start_root
from swaprank.trees.split_search import find_splits
from swaprank.trees.splitting import BIN, FEATURE, GAIN, MISSING_LEFT
from swaprank.trees.tree import Tree
from swaprank.trees.workspace import (
    CHILD,
    DEPTH,
    DIVIDED,
    DOUBTED,
    N_CHECKED,
    N_CHOSEN,
    N_FOUND,
    N_LEAVES,
    N_RECOUNTED,
    N_USED,
    OPEN,
    REFUTED,
    STATE,
    Columns,
    Limits,
    Workspace,
    most_at_once,
)


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
    start_root(blocks, columns, packed, n_rows, n_total, limits, work, thread, n_threads)
    if thread == 0:
        work.sizes[N_FOUND], work.found[0] = 1, 0
    while True:
        barrier(work.barrier_state, n_threads)
        find_splits(blocks, columns, limits, work, thread, n_threads)
        if thread == 0:
            choose_leaves(take_splits(limits, work, tree), limits, work)
        barrier(work.barrier_state, n_threads)
        if work.failed[0] or work.sizes[N_CHOSEN] + work.sizes[N_CHECKED] + work.sizes[N_RECOUNTED] == 0:
            return int(work.sizes[N_LEAVES])
        divide_leaves(blocks, columns, packed, limits, work, thread, n_threads)


@kernel
def take_splits(limits: Limits, work: Workspace, tree: Tree) -> int:
    """Split leaves of the tree until one is not divided yet, and return this one; -1 if the tree is finished.

    Workers who do not know yet whether both sides have enough documents know an upper bound of the gain, unless it is
    compared with noise.
    """
    while work.sizes[N_LEAVES] < limits.max_leaves:
        chosen, largest = np.int64(-1), limits.min_gain
        for number in range(work.sizes[N_LEAVES]):
            leaf = work.tree_leaves[number]
            gain = work.splits[leaf, GAIN]
            if gain > 0.0 and limits.split_noise > 0.0 and is_uncertain(leaf, work):
                gain = np.inf
            if gain > largest:
                chosen, largest = np.int64(number), gain
        if chosen < 0:
            return -1
        leaf = work.tree_leaves[chosen]
        # The children of the last split, and those at the largest depth, are not split: nothing about them is needed.
        needs_children = work.sizes[N_LEAVES] + 1 < limits.max_leaves and may_have_grandchildren(leaf, limits, work)
        if is_uncertain(leaf, work) or (needs_children and work.leaves[leaf, STATE] != DIVIDED):
            return int(leaf)
        record_split(int(chosen), work, tree)
    return -1


@kernel
def may_have_grandchildren(leaf: int, limits: Limits, work: Workspace) -> bool:
    """True if the children of a leaf may be split, too."""
    return bool(work.leaves[leaf, DEPTH] + 1 < limits.max_depth)


@kernel
def is_uncertain(leaf: int, work: Workspace) -> bool:
    """True if it is not known yet that both sides of the leaf's split have enough documents."""
    return bool(work.leaves[leaf, STATE] == DOUBTED or work.leaves[leaf, STATE] == REFUTED)


@kernel
def record_split(chosen: int, work: Workspace, tree: Tree) -> None:
    """Replace the leaf by a node: the left child keeps the leaf's number, the right child gets the new number."""
    new = work.sizes[N_LEAVES]
    node, leaf = new - 1, work.tree_leaves[chosen]
    split = work.splits[leaf]
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
        tree.sets[node, b] = work.sets[leaf, b]
    if work.leaves[leaf, STATE] == DIVIDED:
        work.tree_leaves[chosen], work.tree_leaves[new] = work.leaves[leaf, CHILD], work.leaves[leaf, CHILD] + 1
    else:
        work.tree_leaves[chosen] = work.tree_leaves[new] = len(work.leaves) - 1
        work.splits[-1, GAIN] = 0.0
    work.sizes[N_LEAVES] = new + 1


@kernel
def choose_leaves(next_leaf: int, limits: Limits, work: Workspace) -> None:
    """List the leaves that are divided at once: one, or with workers those that the tree probably splits next.

    In a leaf that is in doubt or refuted, and not among them, the documents in every bin are counted: then its best
    split is certain. If there is no room for so many leaves, the sides of their best splits are counted.

    next_leaf: The one that has to be; -1 if none has.
    """
    work.sizes[N_CHOSEN] = work.sizes[N_CHECKED] = work.sizes[N_RECOUNTED] = 0
    if next_leaf >= 0 and work.send_message == 0:
        work.sizes[N_CHOSEN], work.chosen[0] = 1, next_leaf
    elif next_leaf >= 0:
        choose_ahead(next_leaf, limits, work)
        for state in (REFUTED, DOUBTED):
            for leaf in range(2 * work.sizes[N_USED] + 1):
                if work.leaves[leaf, STATE] != state or is_chosen(leaf, work):
                    continue
                if work.sizes[N_RECOUNTED] < len(work.documents):
                    work.recounted[work.sizes[N_RECOUNTED]] = leaf
                    work.sizes[N_RECOUNTED] += 1
                elif state == DOUBTED:
                    work.checked[work.sizes[N_CHECKED]] = leaf
                    work.sizes[N_CHECKED] += 1


@kernel
def choose_ahead(next_leaf: int, limits: Limits, work: Workspace) -> None:
    """Split the tree as if undivided leaves had children without gains, and choose the leaves that are split first."""
    n_queued, n_splits = work.sizes[N_LEAVES], limits.max_leaves - work.sizes[N_LEAVES]
    # There is room left for the children of each leaf that the tree will have.
    at_once, spare = most_at_once(n_splits), len(work.histograms) - 1 - work.sizes[N_USED] - n_splits
    for k in range(n_queued):
        work.queue[k] = work.tree_leaves[k]
    for _ in range(n_splits - 1):  # The children of the last split are not needed.
        best, largest = np.int64(-1), limits.min_gain
        for k in range(n_queued):
            if work.splits[work.queue[k], GAIN] > largest:
                best, largest = np.int64(k), work.splits[work.queue[k], GAIN]
        if best < 0 or work.sizes[N_CHOSEN] == at_once:
            return
        leaf = work.queue[best]
        state, child = work.leaves[leaf, STATE], work.leaves[leaf, CHILD]
        n_queued -= 1
        work.queue[best] = work.queue[n_queued]
        if state == DIVIDED:
            work.queue[n_queued], work.queue[n_queued + 1] = child, child + 1
            n_queued += 2
        elif state != REFUTED and may_have_grandchildren(leaf, limits, work):
            is_taken = leaf == next_leaf and state == OPEN
            if is_taken or spare > 0:
                work.chosen[work.sizes[N_CHOSEN]] = leaf
                work.sizes[N_CHOSEN] += 1
                spare -= np.int64(not is_taken)


@kernel
def is_chosen(leaf: int, work: Workspace) -> bool:
    """True if the leaf is divided next."""
    found = False
    for k in range(work.sizes[N_CHOSEN]):
        found |= work.chosen[k] == leaf
    return found
