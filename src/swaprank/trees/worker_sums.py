"""Messages between the workers that grow a tree together: sums of histograms, and the best splits of all.

Each worker owns a range of columns. Histograms are added up there only, their owner searches them, and all workers
learn of the best split of each owner. For messages, the kernel calls back to Python, where the collective is. While
one thread of the kernel is there, the others wait for it. A ctypes function takes the GIL by itself. It cannot raise:
an error is kept, the kernel leaves, and `WorkerSums.check` raises it.

A message of sums has a part for each owner: the counts that everyone needs, then the owner's bins of each histogram.
"""

from ctypes import CFUNCTYPE, c_int64, c_void_p, cast
from typing import final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.collective import Collective
from swaprank.kernels import kernel
from swaprank.trees.histogram import BINS
from swaprank.trees.intrinsics import barrier, call_back
from swaprank.trees.splitting import NOISY_GAIN
from swaprank.trees.workspace import (
    CHILD,
    N_CHOSEN,
    N_COUNTS,
    N_FOUND,
    N_RECOUNTED,
    N_USED,
    Columns,
    Messages,
    Workspace,
    searched_columns,
    smaller_slot,
    thread_range,
)

_SUMS_OF_ALL, _SUMS, _SPLITS = 0, 1, 2
"""Messages: sums of all columns, or of those that each worker owns, and the best splits."""


@kernel
def sum_over_workers(columns: Columns, n_histograms: int, work: Workspace, thread: int, n_threads: int) -> None:
    """Add up the counts, the smaller children's or the root's histograms, and the recounted leaves' documents.

    All threads of this worker wait for it. n_histograms: How many there are beside the documents.
    """
    n_counts = work.sizes[N_COUNTS]
    n_sums = n_histograms + work.sizes[N_RECOUNTED]
    if work.send_message == 0 or n_counts + n_sums == 0:
        return
    barrier(work.barrier_state, n_threads)
    write_message(columns, n_histograms, n_sums, n_counts, work, thread, n_threads)
    barrier(work.barrier_state, n_threads)
    if thread == 0:
        call_back(work.send_message, _SUMS if work.sizes[N_USED] > 1 else _SUMS_OF_ALL, n_sums)
        mine = message_start(work.rank, n_sums, n_counts, work)
        for k in range(n_counts):
            work.counts[k] = work.message[mine + k]
    barrier(work.barrier_state, n_threads)
    first, last = searched_columns(columns, work, thread, n_threads)
    owner = owner_of(first, work)
    for c in range(first, last):
        while c >= work.owners[owner + 1]:
            owner += 1
        for k in range(n_sums):
            at, target = bins_start(owner, k, c, n_sums, n_counts, work), summed(k, n_histograms, work)
            for b in range(columns.n_bins[c] + 1):
                target[c * BINS + b] = work.message[at + b]
    barrier(work.barrier_state, n_threads)


@kernel
def write_message(
    columns: Columns, n_histograms: int, n_sums: int, n_counts: int, work: Workspace, thread: int, n_threads: int
) -> None:
    """Write this worker's sums; each thread writes those of its columns."""
    first, last = thread_range(len(columns.n_bins), thread, n_threads)
    owner = owner_of(first, work)
    for c in range(first, last):
        while c >= work.owners[owner + 1]:
            owner += 1
        for k in range(n_sums):
            at, source = bins_start(owner, k, c, n_sums, n_counts, work), summed(k, n_histograms, work)
            for b in range(columns.n_bins[c] + 1):
                work.message[at + b] = source[c * BINS + b]
    if thread == 0:
        for owner in range(len(work.owners) - 1):
            at = message_start(owner, n_sums, n_counts, work)
            for k in range(n_counts):
                work.message[at + k] = work.counts[k]


@kernel
def summed(k: int, n_histograms: int, work: Workspace) -> Ints:
    """The k-th histogram of a message: of a chosen leaf's smaller child, of the root, or documents per bin."""
    slot = smaller_slot(work.leaves[work.chosen[k], CHILD]) if k < work.sizes[N_CHOSEN] else 0
    sums: Ints = work.histograms[slot] if k < n_histograms else work.documents[k - n_histograms]
    return sums


@kernel
def owner_of(column: int, work: Workspace) -> int:
    """The worker that owns a column, or the last one."""
    owner = np.int64(0)
    while owner < len(work.owners) - 2 and column >= work.owners[owner + 1]:
        owner += 1
    return int(owner)


@kernel
def message_start(owner: int, n_sums: int, n_counts: int, work: Workspace) -> int:
    """Where a worker's part of a message of sums begins."""
    return int(n_counts * owner + n_sums * work.bins_before[work.owners[owner]])


@kernel
def bins_start(owner: int, k: int, column: int, n_sums: int, n_counts: int, work: Workspace) -> int:
    """Where a column of the k-th histogram of a message begins."""
    first, last = work.bins_before[work.owners[owner]], work.bins_before[work.owners[owner + 1]]
    within = n_counts + k * (last - first) + work.bins_before[column] - first
    return int(message_start(owner, n_sums, n_counts, work) + within)


@kernel
def exchange_splits(work: Workspace, thread: int, n_threads: int) -> None:
    """Replace the best splits among this worker's columns by those of all columns, for the leaves in `found`."""
    if work.send_message != 0 and work.sizes[N_USED] > 1 and work.sizes[N_FOUND] > 0:
        barrier(work.barrier_state, n_threads)
        if thread == 0:
            call_back(work.send_message, _SPLITS, 0)
        barrier(work.barrier_state, n_threads)


def column_owners(n_bins: Ints, n_columns: Ints, n_workers: int) -> Ints:
    """Where the columns of each worker begin, and where the last one's end: about as many bins for each of them.

    The columns of a set of bins have one owner.
    """
    starts, at = [0], 0
    while at < len(n_bins):
        at += int(n_columns[at])
        starts.append(at)
    ends = np.concatenate(([0], np.cumsum(n_bins + 1)))[starts]
    wanted = ends[-1] * np.arange(1, n_workers) / n_workers
    nearest = np.searchsorted((ends[1:] + ends[:-1]) / 2, wanted)
    return np.concatenate(([0], np.array(starts)[nearest], [len(n_bins)])).astype(np.int64)


@final
class WorkerSums:
    """The function that kernels call to send messages, and the arrays that these are in."""

    work: Workspace

    def __init__(self, collective: Collective, n_bins: Ints, n_columns: Ints) -> None:
        self.collective = collective
        self.error: BaseException | None = None
        self._function = CFUNCTYPE(None, c_int64, c_int64)(self._call)
        address = int(cast(self._function, c_void_p).value or 0) if collective.size > 1 else 0
        self.messages = Messages(column_owners(n_bins, n_columns, collective.size), collective.rank, address)

    def check(self) -> None:
        """Raise the error of a message that failed."""
        if self.error is not None:
            raise self.error

    def _call(self, what: int, n_sums: int) -> None:
        if self.error is not None:
            return
        try:
            if what == _SPLITS:
                self._exchange_splits()
            else:
                self._add(n_sums, what == _SUMS_OF_ALL)
        except BaseException as error:
            self.error = error
            self.work.failed[0] = 1

    def _add(self, n_sums: int, all_columns: bool) -> None:
        work = self.work
        n_counts = int(work.sizes[N_COUNTS])
        ends = n_counts * np.arange(1, len(work.owners)) + n_sums * work.bins_before[work.owners[1:]]
        message = work.message[: ends[-1]]
        if all_columns:
            self.collective.add(message)
        else:
            self.collective.add_own(message, ends)

    def _exchange_splits(self) -> None:
        work = self.work
        found = work.found[: work.sizes[N_FOUND]]
        splits, sets = work.splits[found].view(np.int64), np.packbits(work.sets[found], axis=1)
        words = np.zeros((len(found), -(-sets.shape[1] // 8) * 8), np.uint8)
        words[:, : sets.shape[1]] = sets
        rows = self.collective.gather(np.concatenate((splits, words.view(np.int64)), axis=1).reshape(-1))
        of_workers = rows.reshape(self.collective.size, len(found), -1)
        n_fields, leaves = splits.shape[1], np.arange(len(found))
        of_each: Floats = np.ascontiguousarray(of_workers[:, :, :n_fields]).view(np.float64)
        # Of equal splits the first owner's wins, as everywhere the first feature does.
        best = of_each[:, :, NOISY_GAIN].argmax(axis=0)
        work.splits[found] = of_each[best, leaves]
        if sets.shape[1]:
            bits = np.ascontiguousarray(of_workers[best, leaves, n_fields:]).view(np.uint8)
            work.sets[found] = np.unpackbits(bits, axis=1)[:, : work.sets.shape[1]]
