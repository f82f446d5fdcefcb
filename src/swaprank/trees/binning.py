"""The bins that trees are grown on: those of a binned data set, or made of values; see data/binned_features.py."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bytes, Features, Ints
from swaprank.collective import ALONE, Collective
from swaprank.data.dataset import Dataset


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
    cuts = data.stored.find_cuts(data.places, data.order, max_bins, n_threads, collective)
    bins = data.stored.binned(cuts, n_threads, data.order)
    missing = np.array(bins.has_missing)
    collective.add(missing)
    return Bins(bins.blocks, cuts.values, np.array(cuts.n_bins), np.minimum(missing, 1))
