"""The arrays that threads share while a tree grows, and the limits on splits."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.kernels import kernel
from swaprank.trees.constraints import Constraints
from swaprank.trees.histogram import BINS
from swaprank.trees.splitting import CUTS_AT_ONCE, SPLIT_COLUMNS

START, COUNT, LIST, DEPTH, SLOT, TOTAL, CHILD, STATE, PATH = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Columns of a leaf: COUNT is the number of this worker's rows in it, TOTAL that of all workers'. CHILD is its left
child, before the right one; 0 if it never had children. PATH says how it is reached from the root."""
LEAF_COLUMNS = 9

OPEN, DOUBTED, REFUTED, DIVIDED = 0, 1, 2, 3
"""States of a leaf: its best split is certain, may have too few documents on a side, or has; or it has children."""

N_LEAVES, N_USED, N_CHOSEN, N_CHECKED, N_RECOUNTED, N_FOUND, N_COUNTS = 0, 1, 2, 3, 4, 5, 6
"""Sizes: of the tree; of pairs of children, taken into the tree or not; of the lists in the workspace."""
N_SIZES = 7

SMOOTHING, VARIANCE, SPLIT_NOISE = 0, 1, 2
"""The smoothing of `best_set_split`, the variance of gradients per hessian, and the standard deviation of the noise of
splits, see `noisy_gain`."""


class Workspace(NamedTuple):
    """Work arrays, allocated once for all trees.

    Leaves are those of the tree, those that it had before they were split, and those that were split ahead.
    """

    rows: AnyArray
    """(2, n_rows) int32: the two row lists."""
    goes_left: Bytes
    histograms: Ints
    """(n_pairs + 1, columns * 256)"""
    thread_histograms: Ints
    """(n_threads, columns * 256): each thread's histogram when threads divide the rows."""
    documents: Ints
    """(most at once, columns * 256): documents per bin of the leaves that are recounted, if there are workers."""
    leaves: Ints
    """(n_leaves, LEAF_COLUMNS)"""
    tree_leaves: Ints
    """The leaf that each leaf of the tree is here."""
    sizes: Ints
    chosen: Ints
    """The leaves that are split next."""
    checked: Ints
    """The leaves of which the documents on both sides of the best split are counted next."""
    recounted: Ints
    """The leaves of which the documents in every bin are counted next."""
    found: Ints
    """The leaves whose best splits were searched."""
    queue: Ints
    counts: Ints
    """The documents that go left in the chosen leaves, then in the checked ones; of the root, squares of gradients."""
    message: Ints
    """What is added up over workers next."""
    owners: Ints
    """The columns that each worker searches: from owners[rank] to owners[rank + 1]."""
    bins_before: Ints
    """(columns + 1,): the bins of the columns before each."""
    rank: int
    splits: Floats
    """(n_leaves, 8): the best split of each leaf."""
    candidates: Floats
    """(n_threads, 2, 8): each thread's best splits of the two new leaves."""
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
    noise: Floats
    """SMOOTHING, VARIANCE and SPLIT_NOISE of this tree."""
    split_noise: Floats
    """(n_leaves, n_columns): noise of the gains, see `noisy_gain`; symmetric trees have a row per level."""
    sums: Ints
    cuts: Ints
    gains: Floats
    """sums, cuts and gains (n_threads, CUTS_AT_ONCE): of the cuts whose gains are computed together."""
    feature_gains: Floats
    """(2, columns): the largest gain of each feature in the two new leaves, however few documents are on a side."""
    ends: Ints
    """(columns,): the number of cuts up to each feature."""
    barrier_state: Ints
    failed: Ints
    """(1,): 1 after a message has failed."""
    send_message: int
    """The address of the function that sends messages; 0 if there is one worker only."""


class Columns(NamedTuple):
    """Properties of each column of bins."""

    n_bins: Ints
    n_columns: Ints
    """The number of columns that belong together, from this one on, if they are split into sets of bins."""
    allowed: Ints
    """The use that this tree may make of it: NOT_ALLOWED, NUMBER or SET."""
    constraints: Constraints
    """By column."""
    keys: AnyArray
    """A hash of the feature's number."""


class Limits(NamedTuple):
    """Limits on splits; min_gain, l2 and the largest hessian of a row are in units of the rounded gradients."""

    max_leaves: int
    min_docs: int
    max_depth: int
    min_gain: float
    l2: float
    largest_hessian: int
    split_noise: float
    """In units of what gradients without any signal would have."""
    noise_seed: int
    squares: int
    """The sum of the squares of this worker's gradients, if there is noise or a set of bins."""


class Messages(NamedTuple):
    """What the workspace has for messages between workers; alone: nothing."""

    owners: Ints
    rank: int
    send: int
    """The address of the function that sends them; 0: there are none."""


def make_workspace(
    n_rows: int, n_bins: Ints, width: int, n_leaves: int, n_threads: int, set_size: int, n_groups: int,
    messages: Messages,
) -> Workspace:  # fmt: skip
    """Allocate the work arrays for trees of at most `n_leaves` leaves.

    Args:
        n_rows: Of this worker.
        n_bins: Of each column.
        width: Columns with those that fill the last block.
        n_leaves: At most.
        n_threads: That grow a tree together.
        set_size: Of the largest set of bins; 0 if there are none.
        n_groups: Of features that may interact.
        messages: Between workers.
    """
    n_pairs, at_once = most_pairs(n_leaves, messages.send != 0), most_at_once(n_leaves - 1) * (messages.send != 0)
    # The last leaf stands for all that are never split.
    n_all, n_columns = 2 * n_pairs + 2, width
    bins_before = np.concatenate(([0], np.cumsum(n_bins + 1)))
    # A level of a symmetric tree has half of its leaves.
    n_counts, n_sums = n_all * (len(messages.owners) - 1), max(2 * at_once, n_leaves)
    return Workspace(
        rows=np.empty((2, n_rows), np.int32),
        goes_left=np.empty(n_rows, np.uint8),
        histograms=np.empty((n_pairs + 1, n_columns * BINS), np.int64),
        thread_histograms=np.empty((n_threads, n_columns * BINS), np.int64),
        documents=np.empty((at_once, n_columns * BINS), np.int64),
        leaves=np.zeros((n_all, LEAF_COLUMNS), np.int64),
        tree_leaves=np.zeros(n_leaves, np.int64),
        sizes=np.zeros(N_SIZES, np.int64),
        chosen=np.zeros(n_all, np.int64),
        checked=np.zeros(n_all, np.int64),
        recounted=np.zeros(n_all, np.int64),
        found=np.zeros(n_all, np.int64),
        queue=np.zeros(n_all, np.int64),
        counts=np.zeros(n_all, np.int64),
        message=np.empty((n_counts + n_sums * int(bins_before[-1])) * (messages.send != 0), np.int64),
        owners=messages.owners,
        bins_before=bins_before,
        rank=messages.rank,
        splits=np.zeros((n_all, SPLIT_COLUMNS)),
        candidates=np.zeros((n_threads, 2, SPLIT_COLUMNS)),
        sets=np.zeros((n_all, set_size), np.uint8),
        candidate_sets=np.zeros((n_threads, 2, set_size), np.uint8),
        set_numbers=np.zeros((n_threads, 3, set_size), np.int64),
        set_keys=np.zeros((n_threads, set_size)),
        bounds=np.zeros((n_all, 2)),
        open_groups=np.zeros((n_all, n_groups), np.uint8),
        allowed=np.zeros((n_all, n_columns if n_groups else 0), np.int64),
        left_counts=np.zeros(n_threads * 8, np.int64),
        noise=np.zeros(3),
        split_noise=np.zeros((n_all, n_columns)),
        sums=np.empty((n_threads, CUTS_AT_ONCE), np.int64),
        cuts=np.empty((n_threads, CUTS_AT_ONCE), np.int64),
        gains=np.empty((n_threads, CUTS_AT_ONCE)),
        feature_gains=np.zeros((2, n_columns)),
        ends=np.empty(n_columns, np.int64),
        barrier_state=np.zeros(2, np.int64),
        failed=np.zeros(1, np.int64),
        send_message=messages.send,
    )


def most_pairs(n_leaves: int, ahead: bool) -> int:
    """How many pairs of children there may be: those of the tree, and if leaves are split ahead half as many again."""
    return n_leaves - 1 + (n_leaves // 2 + 8 if ahead else 0)


@kernel
def most_at_once(n_splits: int) -> int:
    """How many leaves are split at once at most, of a tree that has so many splits left.

    More of them take fewer messages, and more of them are dropped: about one in twenty.
    """
    return int(max(16, n_splits // 4))


@kernel
def thread_range(n: int, thread: int, n_threads: int) -> tuple[int, int]:
    """This thread's part of range(n)."""
    return n * thread // n_threads, n * (thread + 1) // n_threads


@kernel
def searched_columns(columns: Columns, work: Workspace, thread: int, n_threads: int) -> tuple[int, int]:
    """This thread's part of the columns that this worker searches: of its own, or of all of them.

    The first two histograms go to all workers, and all workers search them: they are small next to another message.
    """
    start, stop = np.int64(0), np.int64(len(columns.n_bins))
    if work.send_message != 0 and work.sizes[N_USED] > 1:
        start, stop = work.owners[work.rank], work.owners[work.rank + 1]
    first, last = thread_range(int(stop - start), thread, n_threads)
    return int(start + first), int(start + last)


@kernel
def smaller_slot(child: int) -> int:
    """The histogram of the smaller one of two children, given the left child; the larger one has that of its parent."""
    return int((child + 1) // 2)
