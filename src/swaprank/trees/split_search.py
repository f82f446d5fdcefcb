"""The best splits of new leaves: each thread searches its features, and the documents on each side are enough."""

import numpy as np

from swaprank.arrays import Bytes, Floats, Ints
from swaprank.data.document_places import random_bits
from swaprank.kernels import kernel
from swaprank.trees.histogram import BINS, BLOCK, count_rows
from swaprank.trees.intrinsics import barrier, prefetch
from swaprank.trees.set_splitting import best_set_split, number_in_set
from swaprank.trees.splitting import (
    BIN,
    FEATURE,
    GAIN,
    HESS,
    LEAST,
    LEFT_HESS,
    MISSING_LEFT,
    NOISY_GAIN,
    SET,
    SPLIT_COLUMNS,
    best_bounded_split,
    best_split,
    clear_split,
    is_better,
    least_documents,
)
from swaprank.trees.worker_sums import exchange_splits
from swaprank.trees.workspace import (
    COUNT,
    DEPTH,
    DOUBTED,
    LIST,
    N_FOUND,
    N_RECOUNTED,
    OPEN,
    PATH,
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
    thread_range,
)

_PREFETCH_DISTANCE = 64
"""Marking a row is faster than adding it to a histogram, so that more rows are passed while one is loaded."""


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
            prefetch(block, np.int64(mine[min(k + _PREFETCH_DISTANCE, len(mine) - 1)]) * BLOCK)
            bin_number = np.int64(block[np.uint64(mine[k]), column])
            left = np.uint8((bin_number <= cut) & (bin_number >= lowest))
            goes_left[k] = left
            n_mine += left
    else:
        left_set = work.sets[number]
        for k in range(len(mine)):
            prefetch(block, np.int64(mine[min(k + _PREFETCH_DISTANCE, len(mine) - 1)]) * BLOCK)
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
def find_splits(blocks: Bytes, columns: Columns, limits: Limits, work: Workspace, thread: int, n_threads: int) -> None:
    """Find the best splits of the leaves in `found`; all but the first one come in pairs, before recounted leaves.

    Histograms do not count documents, but their sums tell how many there are at least. If these are too few, the
    documents of the two sides are counted. Only if a side has too few is the search repeated, with the documents
    counted in every bin of the features that may have a better split. Workers count together with the next histograms:
    until then the split is in doubt.
    """
    none, documents = int(np.int64(-1)), work.thread_histograms[thread]
    n_recounted = work.sizes[N_RECOUNTED]
    n_new = work.sizes[N_FOUND] - n_recounted
    if work.sizes[N_FOUND] == 0:
        # Without a search, no thread would wait for those that have not yet read these sizes, which change next.
        barrier(work.barrier_state, n_threads)
    for k in range(0, n_new, 2):
        one, two = work.found[k], work.found[k + 1] if k + 1 < n_new else none
        search_splits(blocks, columns, limits, one, two, False, documents, work, thread, n_threads)
        if limits.min_docs > 1 and work.send_message == 0:
            again_one = has_small_side(blocks, columns, limits, one, work, thread, n_threads)
            again_two = two >= 0 and has_small_side(blocks, columns, limits, two, work, thread, n_threads)
            if again_one or again_two:
                one, two = one if again_one else none, two if again_two else none
                search_splits(blocks, columns, limits, one, two, True, documents, work, thread, n_threads)
    for k in range(n_recounted):
        search_splits(
            blocks, columns, limits, work.recounted[k], none, True, work.documents[k], work, thread, n_threads
        )
    exchange_splits(work, thread, n_threads)
    if thread == 0 and work.send_message != 0:
        for k in range(n_new + n_recounted):
            leaf = work.found[k]
            in_doubt = k < n_new and limits.min_docs > 1 and not surely_enough_documents(work.splits[leaf], limits)
            work.leaves[leaf, STATE] = DOUBTED if in_doubt else OPEN


@kernel
def has_small_side(
    blocks: Bytes, columns: Columns, limits: Limits, number: int, work: Workspace, thread: int, n_threads: int
) -> bool:
    """True if a side of a leaf's best split has too few documents; all threads get the same answer."""
    if surely_enough_documents(work.splits[number], limits):
        return False
    n_left = mark_left(blocks, columns, number, work, thread, n_threads)
    # All threads must read left_counts before any thread writes them again.
    barrier(work.barrier_state, n_threads)
    return bool(min(n_left, work.leaves[number, TOTAL] - n_left) < limits.min_docs)


@kernel
def surely_enough_documents(split: Floats, limits: Limits) -> bool:
    """True if the sums prove that both sides have enough documents, or if there is no split."""
    return bool(split[GAIN] == 0.0 or split[LEAST] >= limits.min_docs)


@kernel
def search_splits(
    blocks: Bytes,
    columns: Columns,
    limits: Limits,
    one: int,
    two: int,
    check_counts: bool,
    documents: Ints,
    work: Workspace,
    thread: int,
    n_threads: int,
) -> None:
    """Each thread searches its features; then the first thread keeps the best split of all.

    documents: Per bin; alone, a work array of each thread.
    """
    first, last = searched_columns(columns, work, thread, n_threads)
    if work.sets.shape[1] > 0:  # A feature with many categories may have columns whose sums another thread computes.
        barrier(work.barrier_state, n_threads)
    for which in range(2):
        number = one if which == 0 else two
        mine = work.candidates[thread, which]
        clear_split(mine)
        if number < 0:
            continue
        leaf = work.leaves[number]
        if leaf[TOTAL] < 2 * limits.min_docs or leaf[DEPTH] >= limits.max_depth:
            continue
        if first < last:
            if limits.split_noise > 0.0:
                write_noise(columns, limits, leaf[PATH], first, last, work.noise[SPLIT_NOISE], work.split_noise[number])
            search_leaf(blocks, columns, limits, number, which, check_counts, documents, first, last, work, thread)
    barrier(work.barrier_state, n_threads)
    if thread == 0:
        for which in range(2):
            number = one if which == 0 else two
            if number >= 0:
                keep_best(columns, limits, number, which, work, n_threads)
    barrier(work.barrier_state, n_threads)


@kernel
def search_leaf(
    blocks: Bytes, columns: Columns, limits: Limits, number: int, which: int, check_counts: bool, documents: Ints,
    first: int, last: int, work: Workspace, thread: int,
) -> None:  # fmt: skip
    """Write this thread's best split of a leaf, the `which`-th of two, among the features from first to last."""
    leaf, mine = work.leaves[number], work.candidates[thread, which]
    sets, monotone = work.sets.shape[1] > 0, columns.constraints.monotone
    alone = work.send_message == 0
    if check_counts and alone and (sets or len(monotone) > 0):
        count_features(blocks, columns, number, first, last, documents, work)
    if len(monotone) > 0:
        best_bounded_split(
            work.histograms[leaf[SLOT]],
            documents,
            check_counts,
            limits.min_docs,
            columns.n_bins,
            monotone,
            allowed_columns(columns, number, work),
            first,
            last,
            limits.l2,
            work.bounds[number],
            work.split_noise[number],
            mine,
        )
    elif check_counts and alone:
        best_counted_split(
            blocks, columns, limits, number, documents, first, last, work.feature_gains[which], work, thread, mine
        )
    else:
        search_features(
            columns, limits, number, check_counts, documents, first, last, work.feature_gains[which], work, thread, mine
        )
    if sets:
        best_set_split(
            work.histograms[leaf[SLOT]],
            documents,
            check_counts,
            limits.min_docs,
            columns.n_bins,
            columns.n_columns,
            allowed_columns(columns, number, work),
            first,
            last,
            limits.l2,
            work.noise[SMOOTHING],
            work.noise[VARIANCE],
            work.bounds[number],
            work.split_noise[number],
            work.set_numbers[thread, 0],
            work.set_keys[thread],
            work.set_numbers[thread, 1],
            work.set_numbers[thread, 2],
            mine,
            work.candidate_sets[thread, which],
        )


@kernel
def keep_best(columns: Columns, limits: Limits, number: int, which: int, work: Workspace, n_threads: int) -> None:
    """Keep the best of the threads' splits of a leaf; of equal ones that of the first features."""
    best = 0
    for other in range(1, n_threads):
        if work.candidates[other, which, NOISY_GAIN] > work.candidates[best, which, NOISY_GAIN]:
            best = other
    for field in range(work.splits.shape[1]):  # a row assignment takes Numba a second to compile
        work.splits[number, field] = work.candidates[best, which, field]
    for b in range(work.sets.shape[1]):
        work.sets[number, b] = work.candidate_sets[best, which, b]
    note_least_documents(columns, limits, number, work)


@kernel
def note_least_documents(columns: Columns, limits: Limits, number: int, work: Workspace) -> None:
    """Note how many documents are surely on both sides of a leaf's best split, if it matters."""
    split = work.splits[number]
    split[LEAST] = 0.0
    if limits.min_docs > 1 and split[GAIN] > 0.0:
        split[LEAST] = min(split[LEFT_HESS], split[HESS] - split[LEFT_HESS]) // limits.largest_hessian
        if split[LEAST] < limits.min_docs:
            histogram = work.histograms[work.leaves[number, SLOT]]
            split[LEAST] = max(split[LEAST], least_documents(histogram, columns.n_bins, split, limits.largest_hessian))


@kernel
def allowed_columns(columns: Columns, number: int, work: Workspace) -> Ints:
    """The use that a leaf may make of each column."""
    return work.allowed[number] if len(columns.constraints.groups) > 0 else columns.allowed


@kernel
def write_noise(
    columns: Columns, limits: Limits, place: int, first: int, last: int, scale: float, noise: Floats
) -> None:
    """Write the noise of the features from first to last at a place, which is a leaf's path or a level.

    Its mean is 0. The sum of four uniform numbers is nearly normal, and needs no function that differs between
    machines.
    """
    for column in range(first, last):
        bits = random_bits(columns.keys[column] + np.uint64(place), limits.noise_seed)
        total = np.uint64(0)
        for shift in (0, 16, 32, 48):
            total += (bits >> np.uint64(shift)) & np.uint64(0xFFFF)
        # Four numbers from 0 to 2^16 - 1 have the variance 4/12 2^32.
        noise[column] = scale * np.sqrt(3.0) * ((np.float64(total) + 2.0) / 2.0**16 - 2.0)


@kernel
def count_features(
    blocks: Bytes, columns: Columns, number: int, first: int, last: int, counts: Ints, work: Workspace
) -> None:
    """Count a leaf's documents in every bin of the features from first to last: of all, or of those with sets only."""
    leaf, every = work.leaves[number], len(columns.constraints.monotone) > 0
    rows, begin = work.rows[leaf[LIST]], leaf[START]
    for f in range(first, last):
        n_columns = columns.n_columns[f] if columns.allowed[f] == SET else int(every)
        for c in range(f, f + n_columns):
            part = counts[c * BINS : (c + 1) * BINS]
            count_rows(blocks[c // BLOCK], c % BLOCK, rows, begin, begin + leaf[COUNT], part)


@kernel
def search_features(
    columns: Columns, limits: Limits, number: int, check_counts: bool, documents: Ints, first: int, last: int,
    feature_gains: Floats, work: Workspace, thread: int, split: Floats,
) -> None:  # fmt: skip
    """Write a leaf's best split among the features from first to last."""
    best_split(
        work.histograms[work.leaves[number, SLOT]],
        documents,
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
        work.split_noise[number],
        split,
    )


@kernel
def best_counted_split(
    blocks: Bytes, columns: Columns, limits: Limits, number: int, counts: Ints, first: int, last: int,
    feature_gains: Floats, work: Workspace, thread: int, split: Floats,
) -> None:  # fmt: skip
    """Write a leaf's best split with enough documents on each side, among the features from first to last.

    The features are visited from the largest gain down, and their documents are counted, until no other feature can
    have a better split. `feature_gains` has their largest gains, however few documents are on a side.
    """
    leaf, found = work.leaves[number], np.zeros(SPLIT_COLUMNS)
    rows, begin, noise = work.rows[leaf[LIST]], leaf[START], work.split_noise[number]
    while True:
        clear_split(found)
        for other in range(first, last):
            is_better(feature_gains[other], noise[other], other, found)
        f = int(found[FEATURE])
        if found[GAIN] == 0.0 or found[NOISY_GAIN] < split[NOISY_GAIN]:
            return
        count_rows(blocks[f // BLOCK], f % BLOCK, rows, begin, begin + leaf[COUNT], counts[f * BINS : (f + 1) * BINS])
        search_features(columns, limits, number, True, counts, f, f + 1, feature_gains, work, thread, found)
        feature_gains[f] = 0.0
        if is_better(found[GAIN], noise[f], f, split):
            for field in range(SPLIT_COLUMNS):
                split[field] = found[field]
