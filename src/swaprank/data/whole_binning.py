"""Bin a data set that is in memory."""

from typing import Any

import numpy as np

from swaprank.arrays import Features
from swaprank.collective import ALONE
from swaprank.data.binned_features import BLOCK, BinnedFeatures, bin_rows, n_blocks
from swaprank.data.cuts import LARGEST_BIN, Cuts, data_cuts
from swaprank.data.dataset import Dataset, restored
from swaprank.errors import DataError
from swaprank.threads import thread_count


def binned_whole(data: Dataset, like: Dataset | None, max_bins: int, n_threads: int | None) -> Dataset:
    """The data set with bins instead of values: with cuts of its own, or those of another one."""
    if like is not None:
        cuts = cuts_of(like)
        data = data.with_features(like.feature_names, categories=like.categories, whose="the data it is binned like")
        if data.bins is not None:
            check_same_cuts(data, like, "the data")
            return data
    else:
        cuts = data_cuts(data, checked_bins(max_bins), thread_count(n_threads), ALONE)
    blocks = np.zeros((n_blocks(data.n_features), len(data), BLOCK), np.uint8)
    missing = bin_rows(data.features, np.empty(0, np.int64), cuts, 0, blocks, n_threads)
    bins = BinnedFeatures(blocks, cuts, missing, data.categorical, codes_of_rows(data))
    return restored({**data._state(), "_features": None, "bins": bins})


def codes_of_rows(data: Dataset) -> Features:
    """The codes of the categorical features, one row each."""
    return np.ascontiguousarray(data.features[:, data.categorical].T)


def cuts_of(like: Any) -> Cuts:
    """The cuts of a binned data set."""
    if not isinstance(like, Dataset) or like.bins is None:
        raise DataError(f"cuts are taken from a binned data set, such as train.binned(); found {like!r:.80}.")
    return like.bins.cuts


def checked_bins(max_bins: Any) -> int:
    """A number of bins; DataError if it is none."""
    if isinstance(max_bins, bool) or not isinstance(max_bins, int | np.integer) or not 2 <= max_bins <= LARGEST_BIN:
        raise DataError(f"max_bins must be a whole number from 2 to {LARGEST_BIN}; found {max_bins!r}.")
    return int(max_bins)


def check_same_cuts(data: Dataset, train: Dataset, what: str) -> None:
    """Raise DataError if two binned data sets have different cuts."""
    if data.bins is None or train.bins is None:
        return
    if not np.array_equal(data.bins.cuts.values, train.bins.cuts.values):
        raise DataError(
            f"{what} was binned with other cuts than the training data: bin it like the training data, "
            "sr.read(…, binned=train) or swaprank bin --like train.bins."
        )
