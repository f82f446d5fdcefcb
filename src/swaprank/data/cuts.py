"""Cuts between the bins of a feature.

cuts of a feature    c_1 < c_2 < … < c_m        value <= c_1: bin 1, …, value > c_m: bin m + 1, NaN: bin 0

Cuts come from a sample of the rows: those whose places have the smallest hashes. So they depend neither on the order of
the rows nor on how they are divided into files, blocks and workers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Features, Ints, read_only
from swaprank.collective import Collective, allgather, total
from swaprank.data.document_places import Places, hash_places
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.threads import row_chunks, run_in_threads, run_strided

LARGEST_BIN = 255

CUT_SAMPLE = 200_000
"""Cuts are computed from a random sample of this many rows, or from all rows if there are fewer."""
SAMPLE_SEED = 0
"""The sample depends on the data alone, so that bins can be made before a ranker has its random_state."""


class Cuts(NamedTuple):
    """The bounds of bins."""

    values: Features
    """(n_features, 255), padded with infinity; categorical features have none."""
    n_bins: Ints
    """Bins per feature, without the bin of missing values."""
    max_bins: int
    """The largest number of bins that was asked for."""


def cuts_of(like: Any) -> Cuts:
    """The cuts of a binned data set."""
    if not getattr(like, "is_binned", False):
        raise DataError(f"cuts are taken from a binned data set, such as train.binned(); found {like!r:.80}.")
    return cuts_of_bins(like.stored)


def cuts_of_bins(stored: Any) -> Cuts:
    """The cuts of binned features."""
    cuts: Cuts = stored.cuts
    return cuts


def checked_bins(max_bins: Any) -> int:
    """A number of bins; DataError if it is none."""
    if isinstance(max_bins, bool) or not isinstance(max_bins, int | np.integer) or not 2 <= max_bins <= LARGEST_BIN:
        raise DataError(f"max_bins must be a whole number from 2 to {LARGEST_BIN}; found {max_bins!r}.")
    return int(max_bins)


def sample_of_rows(places: Places, n_threads: int, collective: Collective, size: int | None = None) -> Any:
    """A sample of all workers' rows: those whose places have the smallest hashes. Cuts are computed from CUT_SAMPLE."""
    size = CUT_SAMPLE if size is None else size
    n_rows = int(places.indptr[-1])
    if total(collective, n_rows) <= size:
        return slice(None)
    hashes = sample_hashes(places, n_threads)
    smallest = np.partition(hashes, size - 1)[:size] if n_rows > size else hashes
    last = np.partition(allgather(collective, smallest), size - 1)[size - 1]
    return np.flatnonzero(hashes <= last)


def sample_hashes(places: Places, n_threads: int) -> AnyArray:
    """One hash per row, grouped by query: the rows with the smallest are the sample."""
    n_rows = int(places.indptr[-1])
    hashes = np.empty(n_rows, np.uint64)
    run_in_threads(
        lambda start, stop: hash_places(places, SAMPLE_SEED, start, stop, hashes), row_chunks(n_rows, n_threads)
    )
    return hashes


def cuts_of_sample(sample: Features, categorical: Sequence[int] | Ints, max_bins: int, n_threads: int) -> Cuts:
    """Compute the cuts of every feature from a sample of its values, in any order."""
    columns = np.asfortranarray(sample)
    cuts = np.full((sample.shape[1], LARGEST_BIN), np.inf, np.float32)
    n_bins = np.ones(sample.shape[1], np.int64)
    quantities = np.setdiff1d(np.arange(sample.shape[1]), categorical)

    def cut_feature(k: int) -> None:
        f = quantities[k]
        found = cut_points(columns[:, f], max_bins)
        cuts[f, : len(found)] = found
        n_bins[f] = len(found) + 1

    run_strided(cut_feature, len(quantities), n_threads)
    return Cuts(read_only(cuts), read_only(n_bins), max_bins)


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
