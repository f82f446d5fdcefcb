"""The bins that trees are grown on: those of a binned data set, or made of values; see data/binned_features.py."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bytes, Features, Ints, read_only
from swaprank.collective import ALONE, Collective, gathered
from swaprank.data.binned_features import BLOCK, BinnedFeatures, bin_rows, n_blocks
from swaprank.data.cuts import data_cuts
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.threads import thread_count


class Bins(NamedTuple):
    """A feature matrix as bytes, in blocks of 16 features, and its cuts; the documents are grouped by query."""

    blocks: Bytes
    """(n_blocks, n_rows, 16), read-only: those of a file cannot be written, and kernels are compiled for one kind."""
    cuts: Features
    """(n_features, 255), padded with infinity"""
    n_bins: Ints
    """Bins per feature, without the bin of missing values."""
    has_missing: Ints
    """1 for features with missing values."""


def make_bins(data: Dataset, max_bins: int, n_threads: int | None, collective: Collective = ALONE) -> Bins:
    """Cut every feature into at most `max_bins` bins, and bin the documents, grouped by query."""
    if data.bins is not None:
        return _existing_bins(data, data.bins, max_bins, collective)
    cuts = data_cuts(data, max_bins, thread_count(n_threads), collective)
    order = np.empty(0, np.int64) if data.order is None else np.array(data.order)
    blocks = np.zeros((n_blocks(data.n_features), len(data), BLOCK), np.uint8)
    missing = bin_rows(data.features, order, cuts, 0, blocks, n_threads)
    collective.add(missing)
    return Bins(read_only(blocks), cuts.values, np.array(cuts.n_bins), np.minimum(missing, 1))


def _existing_bins(data: Dataset, bins: BinnedFeatures, max_bins: int, collective: Collective) -> Bins:
    if bins.cuts.max_bins != max_bins:
        raise DataError(
            f"the data was binned with max_bins={bins.cuts.max_bins}, but the ranker has max_bins={max_bins}: set "
            f"max_bins={bins.cuts.max_bins}, or bin the data again."
        )
    everyones = gathered(collective, bins.cuts.values[None])
    if not (everyones == bins.cuts.values).all():
        raise DataError("the workers have bins of different cuts: bin all parts like one of them.")
    missing = np.array(bins.has_missing)
    collective.add(missing)
    blocks = bins.blocks if data.order is None else read_only(bins.blocks[:, data.order])
    return Bins(blocks, bins.cuts.values, np.array(bins.cuts.n_bins), np.minimum(missing, 1))
