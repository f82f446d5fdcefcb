"""Features as bytes: the bin of every value, 1 to 255, or 0 if the value is missing; see cuts.py.

    values        0.1   0.4   NaN   2.5   0.3           cuts 0.2, 1.0
    bins           1     2     0     3     2
    decoded       0.2   1.0   NaN   1.0+  1.0           1.0+ is the next number after 1.0

A bin stands for its upper cut. A tree whose thresholds are cuts sends this number where it sends all values of the bin,
so that scores of decoded rows are exact. Categories have no order and no cuts: their codes are stored apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Bytes, Features, Ints
from swaprank.data.cuts import LARGEST_BIN, Cuts
from swaprank.kernels import kernel
from swaprank.threads import row_chunks, run_in_threads, thread_count

BLOCK = 16
"""Features of a block: a cache line has four of its rows."""


class BinnedFeatures(NamedTuple):
    """A feature matrix as bytes, in blocks of 16 features; its rows are in the order of the input rows."""

    blocks: Bytes
    """(n_blocks, n_rows, 16); of a categorical feature, whether the value is known."""
    cuts: Cuts
    has_missing: Ints
    """1 for features with missing values."""
    categorical: Ints
    """The positions of the categorical features, ascending."""
    codes: Features
    """(n_categorical, n_rows): the codes of categories, NaN if the value is missing."""

    def of_rows(self, rows: Any) -> BinnedFeatures:
        """The bins of some rows, given by a slice or by numbers; copied, because kernels want adjacent rows."""
        blocks, codes = np.ascontiguousarray(self.blocks[:, rows]), np.ascontiguousarray(self.codes[:, rows])
        return self._replace(blocks=blocks, has_missing=missing_of(blocks, len(self.has_missing)), codes=codes)

    def decoded(self, rows: slice, features: Ints, n_threads: int = 1) -> Features:
        """The chosen features of consecutive rows as numbers: the codes of categories, or the upper cuts of bins."""
        start, stop, _ = rows.indices(self.blocks.shape[1])
        values = np.empty((stop - start, len(features)), np.float32)
        table = bin_values(self.cuts, features)
        jobs = [(self.blocks, features, table, start, *chunk, values) for chunk in row_chunks(len(values), n_threads)]
        run_in_threads(decode_rows, jobs)
        for row, feature in enumerate(self.categorical):
            values[:, features == feature] = self.codes[row, start:stop, None]
        return values


def n_blocks(n_features: int) -> int:
    """The number of blocks of so many features."""
    return -(-n_features // BLOCK)


def bin_rows(X: Features, order: Ints, cuts: Cuts, first: int, blocks: Bytes, n_threads: int | None) -> Ints:
    """Write the bins of the rows of X, taken in an order if there is one, to the rows from `first` on.

    Returns 1 for features with missing values.
    """
    chunks = row_chunks(len(X), thread_count(n_threads))
    missing = np.zeros((len(chunks), X.shape[1]), np.int64)
    jobs = [(X, order, cuts.values, *chunk, first, blocks, missing[c]) for c, chunk in enumerate(chunks)]
    run_in_threads(fill_bins, jobs)
    found: Ints = missing.max(axis=0)
    return found


def missing_of(blocks: Bytes, n_features: int) -> Ints:
    """1 for features with missing values."""
    found: Ints = (_extreme_bins(blocks, n_features, lowest=True) == 0).astype(np.int64)
    return found


def highest_bins(blocks: Bytes, n_features: int) -> Ints:
    """The highest bin of each feature."""
    return _extreme_bins(blocks, n_features, lowest=False)


def _extreme_bins(blocks: Bytes, n_features: int, *, lowest: bool) -> Ints:
    chunks = row_chunks(blocks.shape[1], thread_count(None), least_rows=10_000)
    found = np.full((len(chunks), *blocks.shape[::2]), LARGEST_BIN if lowest else 0, np.uint8)
    run_in_threads(extreme_bins, [(blocks, *chunk, lowest, found[c]) for c, chunk in enumerate(chunks)])
    extreme: Ints = (found.min(axis=0) if lowest else found.max(axis=0)).astype(np.int64)
    return extreme.reshape(-1)[:n_features]


def bin_values(cuts: Cuts, features: Ints) -> Features:
    """(n_features, 256): the number that each bin stands for; bins beyond the last are like the last."""
    table = np.full((len(features), LARGEST_BIN + 1), np.nan, np.float32)
    table[:, 1:] = cuts.values[features]
    for row, last in enumerate(cuts.n_bins[features].tolist()):
        above = np.nextafter(table[row, last - 1], np.float32(np.inf)) if last > 1 else np.float32(0)
        table[row, last:] = above
    return table


@kernel
def fill_bins(
    X: Features, order: Ints, cuts: Features, start: int, stop: int, first: int, blocks: Bytes, missing: Ints
) -> None:
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
                    blocks[b, first + k, f - b * BLOCK] = below + 1
                else:
                    missing[f] = 1


@kernel
def decode_rows(
    blocks: Bytes, features: Ints, table: Features, first: int, start: int, stop: int, values: Features
) -> None:
    """Write the values of the chosen features of the rows from first + start to first + stop."""
    for k in range(start, stop):
        for c in range(len(features)):
            f = features[c]
            values[k, c] = table[c, blocks[f // BLOCK, first + k, f % BLOCK]]


@kernel
def extreme_bins(blocks: Bytes, start: int, stop: int, lowest: bool, found: Bytes) -> None:
    """Write the lowest or the highest bin of each column over the rows from start to stop."""
    for b in range(blocks.shape[0]):
        for row in range(start, stop):
            for c in range(BLOCK):
                bin_of_row = blocks[b, row, c]
                found[b, c] = min(found[b, c], bin_of_row) if lowest else max(found[b, c], bin_of_row)
