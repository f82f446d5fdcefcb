"""Features as bytes: each value's bin among at most 255, 0 for missing.

cuts of a feature    c_1 < c_2 < … < c_m        value <= c_1: bin 1, …, value > c_m: bin m + 1, NaN: bin 0
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Features, Ints
from swaprank.kernels import kernel
from swaprank.threads import run_in_threads, thread_count
from swaprank.trees.histogram import BLOCK

_SAMPLE = 200_000
"""Rows from which cuts are taken; all of them where there are no more."""


class Bins(NamedTuple):
    """A feature matrix as bytes, in blocks of 16 features, and the cuts that made them."""

    blocks: Bytes
    """(n_blocks, n_rows, 16)"""
    cuts: Features
    """(n_features, 255), filled up with infinity"""
    n_bins: Ints
    """Bins of each feature beside the missing one."""
    has_missing: Ints
    """1 for features with missing values."""


def make_bins(X: Features, order: Ints | None, max_bins: int, random_state: int, n_threads: int | None) -> Bins:
    """Cut every feature into at most `max_bins` bins and put the rows, in the given order, into them."""
    threads = thread_count(n_threads)
    n_rows, n_features = X.shape
    cuts, n_bins = find_cuts(X, max_bins, random_state, threads)
    blocks = np.zeros(((n_features + BLOCK - 1) // BLOCK, n_rows, BLOCK), np.uint8)
    rows = np.empty(0, np.int64) if order is None else np.array(order)
    missing = np.zeros((threads, n_features), np.int64)
    bounds = np.linspace(0, n_rows, threads + 1).astype(np.int64).tolist()
    run_in_threads(
        lambda thread: fill_bins(X, rows, cuts, bounds[thread], bounds[thread + 1], blocks, missing[thread]),
        [(thread,) for thread in range(threads)],
    )
    return Bins(blocks, cuts, n_bins, missing.max(axis=0))


def find_cuts(X: Features, max_bins: int, random_state: int, threads: int) -> tuple[Features, Ints]:
    """Cuts of every feature, and how many bins they make."""
    sample = _sampled_rows(X, random_state)
    cuts = np.full((X.shape[1], 255), np.inf, np.float32)
    n_bins = np.empty(X.shape[1], np.int64)

    def work(thread: int) -> None:
        for f in range(thread, X.shape[1], threads):
            found = cut_points(sample[:, f], max_bins)
            cuts[f, : len(found)] = found
            n_bins[f] = len(found) + 1

    run_in_threads(work, [(thread,) for thread in range(threads)])
    return cuts, n_bins


def _sampled_rows(X: Features, random_state: int) -> Features:
    if len(X) <= _SAMPLE:
        return X
    rows = np.sort(np.random.default_rng(random_state).choice(len(X), _SAMPLE, replace=False))
    return np.asfortranarray(X[rows])


def cut_points(values: Features, max_bins: int) -> Features:
    """Where to cut: between any two distinct values if they are few, else so that bins hold about equally many.

    A value more frequent than a bin's share gets a bin of its own, and the others share the rest.
    """
    known = np.sort(values[~np.isnan(values)])
    if len(known) == 0:
        return np.empty(0, np.float32)
    first = np.flatnonzero(np.concatenate(([True], known[1:] != known[:-1])))
    distinct, counts = known[first], np.diff(np.append(first, len(known)))
    if len(distinct) <= max_bins:
        return between(distinct[:-1], distinct[1:])
    last = _greedy_ends(counts, max_bins)
    return between(distinct[last[:-1]], distinct[last[:-1] + 1])


def between(low: Features, high: Features) -> Features:
    """A cut c with low <= c < high, in the middle where single precision has one."""
    middle = (low.astype(np.float64) + high) / 2
    cut = middle.astype(np.float32)
    return np.where(cut >= high, low, cut).astype(np.float32)


def _greedy_ends(counts: AnyArray, max_bins: int) -> Ints:
    """The last distinct value of each bin, filling bins to their share of what is left."""
    ends = np.empty(max_bins, np.int64)
    n = fill_ends(counts.astype(np.int64), max_bins, ends)
    return ends[:n]


@kernel
def fill_ends(counts: Ints, max_bins: int, ends: Ints) -> int:
    """Write the last distinct value of each bin; gives their number."""
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
    """The bins of the rows from start to stop, and which features have missing values among them."""
    n_features = X.shape[1]
    for b in range(blocks.shape[0]):
        for k in range(start, stop):
            row = order[k] if len(order) > 0 else k
            for f in range(b * BLOCK, min((b + 1) * BLOCK, n_features)):
                x = X[row, f]
                # Eight halvings, none of them a branch: the cuts are filled up to 255 with infinity.
                below = np.int64(0)
                for step in (128, 64, 32, 16, 8, 4, 2, 1):
                    below += step * np.int64(x > cuts[f, below + step - 1])
                if x == x:
                    blocks[b, k, f - b * BLOCK] = below + 1
                else:
                    missing[f] = 1
