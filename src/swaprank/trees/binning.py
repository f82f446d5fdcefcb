"""Features as bytes: the bin of every value, 1 to 255, or 0 if the value is missing.

cuts of a feature    c_1 < c_2 < … < c_m        value <= c_1: bin 1, …, value > c_m: bin m + 1, NaN: bin 0
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Bytes, Features, Ints
from swaprank.collective import ALONE, Collective, gathered, total
from swaprank.data.dataset import Dataset
from swaprank.data.places import Places, hash_places
from swaprank.kernels import kernel
from swaprank.threads import row_chunks, run_in_threads, run_strided, thread_count
from swaprank.trees.histogram import BLOCK

CUT_SAMPLE = 200_000
"""Cuts are computed from a random sample of this many rows, or from all rows if there are fewer."""
SAMPLE_SEED = 0
"""The sample depends on the data alone, so that bins can be made before a ranker has its random_state."""


class Bins(NamedTuple):
    """A feature matrix as bytes, in blocks of 16 features, and its cuts."""

    blocks: Bytes
    """(n_blocks, n_rows, 16)"""
    cuts: Features
    """(n_features, 255), padded with infinity"""
    n_bins: Ints
    """Bins per feature, without the bin of missing values."""
    has_missing: Ints
    """1 for features with missing values."""


def make_bins(data: Dataset, max_bins: int, n_threads: int | None, collective: Collective = ALONE) -> Bins:
    """Cut every feature into at most `max_bins` bins, and bin the documents, grouped by query."""
    threads, X = thread_count(n_threads), data.features
    n_rows, n_features = X.shape
    rows = np.empty(0, np.int64) if data.order is None else np.array(data.order)
    sampled = sample_of_rows(data.places, threads, collective)
    sample = gathered(collective, X[sampled if data.order is None else rows[sampled]])
    cuts, n_bins = find_cuts(np.asfortranarray(sample), max_bins, threads)
    blocks = np.zeros(((n_features + BLOCK - 1) // BLOCK, n_rows, BLOCK), np.uint8)
    chunks = row_chunks(n_rows, threads)
    missing = np.zeros((len(chunks), n_features), np.int64)
    jobs = [(X, rows, cuts, *chunk, blocks, missing[c]) for c, chunk in enumerate(chunks)]
    run_in_threads(fill_bins, jobs)
    has_missing = missing.max(axis=0)
    collective.add(has_missing)
    return Bins(blocks, cuts, n_bins, np.minimum(has_missing, 1))


def sample_of_rows(places: Places, n_threads: int, collective: Collective) -> Any:
    """The rows that cuts are computed from: those of all workers' rows whose places have the smallest hashes."""
    n_rows = int(places.indptr[-1])
    if total(collective, n_rows) <= CUT_SAMPLE:
        return slice(None)
    hashes = np.empty(n_rows, np.uint64)
    run_in_threads(
        lambda start, stop: hash_places(places, SAMPLE_SEED, start, stop, hashes), row_chunks(n_rows, n_threads)
    )
    smallest = np.partition(hashes, CUT_SAMPLE - 1)[:CUT_SAMPLE] if n_rows > CUT_SAMPLE else hashes
    last = np.partition(gathered(collective, smallest), CUT_SAMPLE - 1)[CUT_SAMPLE - 1]
    return np.flatnonzero(hashes <= last)


def find_cuts(sample: Features, max_bins: int, threads: int) -> tuple[Features, Ints]:
    """Compute the cuts and the number of bins of every feature from a sample of its values, in any order."""
    cuts = np.full((sample.shape[1], 255), np.inf, np.float32)
    n_bins = np.empty(sample.shape[1], np.int64)

    def cut_feature(f: int) -> None:
        found = cut_points(sample[:, f], max_bins)
        cuts[f, : len(found)] = found
        n_bins[f] = len(found) + 1

    run_strided(cut_feature, sample.shape[1], threads)
    return cuts, n_bins


def cut_points(values: Features, max_bins: int) -> Features:
    """Cuts between all distinct values if there are at most `max_bins`; otherwise cuts into bins of about equal counts.

    A value that fills a bin alone gets its own bin, and the other values share the remaining bins.
    """
    known = np.sort(values[~np.isnan(values)])
    if len(known) == 0:
        return np.empty(0, np.float32)
    first = np.flatnonzero(np.concatenate(([True], known[1:] != known[:-1])))
    distinct, counts = known[first], np.diff(np.append(first, len(known)))
    if len(distinct) <= max_bins:
        return between(distinct[:-1], distinct[1:])
    ends = np.empty(max_bins, np.int64)
    last = ends[: fill_ends(counts, max_bins, ends)]
    return between(distinct[last[:-1]], distinct[last[:-1] + 1])


def between(low: Features, high: Features) -> Features:
    """A cut c with low <= c < high: the midpoint, unless it rounds up to high."""
    middle = (low.astype(np.float64) + high) / 2
    cut = middle.astype(np.float32)
    return np.where(cut >= high, low, cut).astype(np.float32)


@kernel
def fill_ends(counts: Ints, max_bins: int, ends: Ints) -> int:
    """Write the index of each bin's last distinct value and return the number of bins.

    Each bin is filled to an equal share of the remaining values.
    """
    total = counts.sum()
    share = total / max_bins
    heavy = 0
    heavy_total = 0
    for i in range(len(counts)):
        if counts[i] >= share:
            heavy += 1
            heavy_total += counts[i]
    rest_bins = max(1, max_bins - heavy)
    rest = total - heavy_total
    n = 0
    filled = 0
    target = rest / rest_bins
    for i in range(len(counts)):
        is_heavy = counts[i] >= share
        next_heavy = i + 1 < len(counts) and counts[i + 1] >= share
        filled += counts[i]
        if not is_heavy:
            rest -= counts[i]
        if i == len(counts) - 1:
            ends[n] = i
            return n + 1
        if n < max_bins - 1 and (is_heavy or filled >= target or (next_heavy and filled >= 0.5 * target)):
            ends[n] = i
            n += 1
            filled = 0
            if not is_heavy:
                rest_bins -= 1
                target = rest / max(1, rest_bins)
    return n


@kernel
def fill_bins(X: Features, order: Ints, cuts: Features, start: int, stop: int, blocks: Bytes, missing: Ints) -> None:
    """Write the bins of the rows from start to stop, and set `missing` to 1 for features with missing values."""
    n_features = X.shape[1]
    for b in range(blocks.shape[0]):
        for k in range(start, stop):
            row = order[k] if len(order) > 0 else k
            for f in range(b * BLOCK, min((b + 1) * BLOCK, n_features)):
                x = X[row, f]
                # Binary search in eight steps without a branch: every feature has 255 cuts, padded with infinity.
                below = np.int64(0)
                for step in (128, 64, 32, 16, 8, 4, 2, 1):
                    below += step * np.int64(x > cuts[f, below + step - 1])
                if x == x:
                    blocks[b, k, f - b * BLOCK] = below + 1
                else:
                    missing[f] = 1
