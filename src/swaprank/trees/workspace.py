"""The arrays that threads share while a tree grows, the limits on splits, and the sums over workers.

For the sums, the kernel calls back to Python, where the collective is. While one thread of the kernel is there, the
others wait for it. A ctypes function takes the GIL by itself. It cannot raise: an error is kept, the kernel leaves, and
`WorkerSums.check` raises it.
"""

from ctypes import CFUNCTYPE, c_int64, c_void_p, cast
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.collective import Collective
from swaprank.kernels import kernel
from swaprank.trees.constraints import Constraints
from swaprank.trees.histogram import BINS
from swaprank.trees.intrinsics import barrier, call_back
from swaprank.trees.splitting import CUTS_AT_ONCE, SPLIT_COLUMNS

START, COUNT, LIST, DEPTH, SLOT, TOTAL = 0, 1, 2, 3, 4, 5
"""Columns of a leaf: COUNT is the number of this worker's rows in it, TOTAL that of all workers'."""
LEAF_COLUMNS = 6

HISTOGRAM, LEFT_ROWS, DOCUMENTS = 0, 1, 2
"""Sums over workers while a tree grows: of a histogram, of the rows that go left, of documents per bin."""


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
    """(n_leaves, 6)"""
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
    split_noise: Floats
    """(n_leaves, n_columns): noise of a tree's gains, see `noisy_gain`; symmetric trees have a row per level."""
    sums: Ints
    cuts: Ints
    gains: Floats
    """sums, cuts and gains (n_threads, CUTS_AT_ONCE): of the cuts whose gains are computed together."""
    feature_gains: Floats
    """(2, columns): the largest gain of each feature in the two new leaves, however few documents are on a side."""
    ends: Ints
    """(columns,): the number of cuts up to each feature."""
    barrier_state: Ints
    left_rows: Ints
    """(1,): rows that go left, of all workers."""
    failed: Ints
    """(1,): 1 after the sum over workers has failed."""
    add_over_workers: int
    """The address of the function that adds up over workers; 0 if there is one worker only."""


class Columns(NamedTuple):
    """Properties of each column of bins."""

    n_bins: Ints
    n_columns: Ints
    """The number of columns that belong together, from this one on, if they are split into sets of bins."""
    allowed: Ints
    """The use that this tree may make of it: NOT_ALLOWED, NUMBER or SET."""
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
    n_rows: int, n_columns: int, n_leaves: int, n_threads: int, set_size: int, n_groups: int, add_over_workers: int
) -> Workspace:
    """Allocate the work arrays for trees of at most `n_leaves` leaves; set_size is 0 if there are no sets of bins."""
    return Workspace(
        rows=np.empty((2, n_rows), np.int32),
        goes_left=np.empty(n_rows, np.uint8),
        histograms=np.empty((n_leaves, n_columns * BINS), np.int64),
        thread_histograms=np.empty((n_threads, n_columns * BINS), np.int64),
        leaves=np.zeros((n_leaves, LEAF_COLUMNS), np.int64),
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
        split_noise=np.zeros((n_leaves, n_columns)),
        sums=np.empty((n_threads, CUTS_AT_ONCE), np.int64),
        cuts=np.empty((n_threads, CUTS_AT_ONCE), np.int64),
        gains=np.empty((n_threads, CUTS_AT_ONCE)),
        feature_gains=np.zeros((2, n_columns)),
        ends=np.empty(n_columns, np.int64),
        barrier_state=np.zeros(2, np.int64),
        left_rows=np.zeros(1, np.int64),
        failed=np.zeros(1, np.int64),
        add_over_workers=add_over_workers,
    )


@kernel
def thread_range(n: int, thread: int, n_threads: int) -> tuple[int, int]:
    """This thread's part of range(n)."""
    return n * thread // n_threads, n * (thread + 1) // n_threads


@kernel
def sum_over_workers(what: int, where: int, work: Workspace, thread: int, n_threads: int) -> None:
    """Replace what the threads of this worker have summed by the sums of all workers; all threads wait for it."""
    if work.add_over_workers != 0:
        barrier(work.barrier_state, n_threads)
        if thread == 0:
            call_back(work.add_over_workers, what, where)
        barrier(work.barrier_state, n_threads)


@kernel
def total_left(n_left: int, work: Workspace, thread: int, n_threads: int) -> int:
    """The number of rows that go left, of all workers, given that of this worker."""
    if work.add_over_workers == 0:
        return n_left
    if thread == 0:
        work.left_rows[0] = n_left
    sum_over_workers(LEFT_ROWS, 0, work, thread, n_threads)
    return int(work.left_rows[0])


@final
class WorkerSums:
    """The function that `sum_over_workers` calls, and the arrays that it adds up."""

    work: Workspace

    def __init__(self, collective: Collective, n_bins: Ints) -> None:
        self.collective = collective
        self.error: BaseException | None = None
        self.used = np.concatenate([f * BINS + np.arange(n + 1) for f, n in enumerate(n_bins.tolist())])
        """The bins that features have: others are never read, and not sent."""
        self._function = CFUNCTYPE(None, c_int64, c_int64)(self._call)
        self.address = int(cast(self._function, c_void_p).value or 0) if collective.size > 1 else 0

    def check(self) -> None:
        """Raise the error of a sum that failed."""
        if self.error is not None:
            raise self.error

    def _call(self, what: int, where: int) -> None:
        if self.error is not None:
            return
        try:
            self._add(what, where)
        except BaseException as error:
            self.error = error
            self.work.failed[0] = 1

    def _add(self, what: int, where: int) -> None:
        if what in (HISTOGRAM, DOCUMENTS):
            sums = self.work.histograms[where] if what == HISTOGRAM else self.work.thread_histograms[0]
            sent = sums[self.used]
            self.collective.add(sent)
            sums[self.used] = sent
        else:
            self.collective.add(self.work.left_rows)
