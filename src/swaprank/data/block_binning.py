"""Bin data that is larger than memory: in two passes over its blocks, of which one is in memory at a time.

first pass     labels, query ids, categories, and a sample of the rows     ─► cuts
second pass    features ─► bins, one byte a value
"""

import os
from collections.abc import Callable, Iterable

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.data.binned_features import BLOCK, BinnedFeatures, bin_rows, n_blocks
from swaprank.data.bins_file import read_bins
from swaprank.data.bins_writing import bins_writer, finish_bins
from swaprank.data.blocks import BlockSource, GivenBlocks, Scanned, scan
from swaprank.data.cuts import Cuts, checked_bins, cuts_of, cuts_of_sample
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.threads import thread_count

Allocate = Callable[[str, tuple[int, ...], type], AnyArray]
"""Makes the array of a name, a shape and a dtype, filled with zeros: in memory or in a file."""


def bin_blocks(
    blocks: Iterable[Dataset],
    *,
    like: Dataset | None = None,
    max_bins: int = 255,
    n_threads: int | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Bin data that comes in blocks, without ever having all its values in memory.

    The bins are those of the same data in one piece, `Dataset(…).binned()`. All rows of a query must be adjacent; a
    query may continue in the next block.

    Args:
        blocks: Data sets: a list, or an object whose `__iter__` makes them one after the other, anew each time it is
            called, because blocks are gone through twice.
        like: A binned data set whose cuts are taken, for validation data: that of training.
        max_bins: How many bins a feature has at most.
        n_threads: The number of threads. The default is all cores.
        path: A file of bins to write, so that the bins do not have to fit into memory either.

    >>> import swaprank as sr
    >>> class Days:
    ...     def __iter__(self):
    ...         for day in range(7):
    ...             data = sr.datasets.random_net((10,), n_features=5, random_state=day)[0]
    ...             yield sr.Dataset(data.features, data.labels, qid=[f"{day}-{i // 50}" for i in range(500)])
    >>> sr.data.bin_blocks(Days())
    Dataset(3,500 documents, 70 queries, 5 features, labels 0 to 5, binned)
    """
    return bin_source(GivenBlocks(blocks), like, max_bins, n_threads, path)


def bin_source(
    source: BlockSource,
    like: Dataset | None,
    max_bins: int,
    n_threads: int | None,
    path: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Bin blocks, with cuts of their own or those of another data set: in memory, or in a file that is then opened."""
    if path is None:
        return _dataset(source, like, max_bins, n_threads, lambda name, shape, dtype: np.zeros(shape, dtype))
    with bins_writer(path) as writer:
        binned = _dataset(source, like, max_bins, n_threads, writer.allocate)
        finish_bins(writer, binned)
    # Otherwise the file would be mapped twice.
    del writer, binned
    return read_bins(path)


def _dataset(
    source: BlockSource, like: Dataset | None, max_bins: int, n_threads: int | None, allocate: Allocate
) -> Dataset:
    checked_bins(max_bins)
    given = None if like is None else cuts_of(like)
    found = scan(source, with_sample=like is None, n_threads=n_threads)
    if like is not None:
        found = found._replace(feature_names=like.feature_names, categories=dict(like.categories))
    categorical = np.flatnonzero([name in found.categories for name in found.feature_names])
    cuts = cuts_of_sample(found.sample, categorical, max_bins, thread_count(n_threads)) if given is None else given
    found = found._replace(sample=np.empty((0, 0), np.float32))
    bins = _binned(source, found, cuts, len(categorical), n_threads, allocate)
    data = Dataset(bins, found.labels, qid=found.grouping, base_score=found.base_score, columns=found.columns)
    return data.replace(sample_weight=found.sample_weight)


def _binned(
    source: BlockSource, found: Scanned, cuts: Cuts, n_categorical: int, n_threads: int | None, allocate: Allocate
) -> BinnedFeatures:
    n_rows, n_features = len(found.labels), len(found.feature_names)
    blocks = allocate("blocks", (n_blocks(n_features), n_rows, BLOCK), np.uint8)
    codes = allocate("codes", (n_categorical, n_rows), np.float32)
    missing, start = np.zeros(n_features, np.int64), 0
    for block in source.blocks(is_first_pass=False):
        data = block.data.with_features(
            found.feature_names, categories=found.categories, whose="the binned data", where=block.source
        )
        stop = start + len(data)
        if stop > n_rows or not np.array_equal(data.labels, found.labels[start:stop]):
            raise _changed(block.source)
        missing |= bin_rows(data.features, cuts, blocks, n_threads, first=start)
        codes[:, start:stop] = data.features[:, data.categorical].T
        start = stop
    if start < n_rows:
        raise _changed("the data")
    return BinnedFeatures(found.feature_names, found.categories, blocks, cuts, missing, codes)


def _changed(source: str) -> DataError:
    return DataError(f"{source} has changed between two readings of it: read it again when it is complete.")
