"""Bin data that is larger than memory: in two passes over its blocks, of which one is in memory at a time.

first pass     labels, query ids, categories, and a sample of the rows     ─► cuts
second pass    features ─► bins, one byte a value
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.collective import ALONE, Collective
from swaprank.data.binned_features import BLOCK, BinnedFeatures, n_blocks
from swaprank.data.bins_file import read_bins
from swaprank.data.bins_writing import bins_writer, finish_bins
from swaprank.data.blocks import BlockSource, GivenBlocks, Scanned, scan
from swaprank.data.categories import Categories
from swaprank.data.cut_sample import CutSample
from swaprank.data.cuts import Cuts, checked_bins, cuts_of
from swaprank.data.dataset import Dataset
from swaprank.data.stored_features import StoredFeatures
from swaprank.errors import DataError
from swaprank.threads import thread_count

Allocate = Callable[[str, tuple[int, ...], type], AnyArray]
"""Makes the array of a name, a shape and a dtype, filled with zeros: in memory or in a file."""


class Binning(NamedTuple):
    """How data is binned that is like other data."""

    feature_names: tuple[str, ...]
    categories: Mapping[str, Categories]
    cuts: Cuts


def binning_of(like: Any) -> Binning:
    """The binning of a binned data set."""
    cuts = cuts_of(like)
    return Binning(like.feature_names, like.categories, cuts)


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
    return bin_source(GivenBlocks(blocks), None if like is None else binning_of(like), max_bins, n_threads, path)


def bin_source(
    source: BlockSource,
    like: Binning | None,
    max_bins: int,
    n_threads: int | None,
    path: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Bin blocks, with cuts of their own or those of other data: in memory, or in a file that is then opened."""
    if path is None:
        return _dataset(source, like, max_bins, n_threads, in_memory)
    with bins_writer(path) as writer:
        binned = _dataset(source, like, max_bins, n_threads, writer.allocate)
        finish_bins(writer, binned)
    # Otherwise the file would be mapped twice.
    del writer, binned
    return read_bins(path)


def _dataset(
    source: BlockSource, like: Binning | None, max_bins: int, n_threads: int | None, allocate: Allocate
) -> Dataset:
    checked_bins(max_bins)
    sample = CutSample(thread_count(n_threads)) if like is None else None
    found = _scanned(source, sample, n_threads)
    if like is not None:
        found = found._replace(feature_names=like.feature_names, categories=dict(like.categories))
    cuts = cuts_of_rows(sample, found, max_bins) if like is None else like.cuts
    return found.data(binned_blocks([source], found, cuts, n_threads, allocate))


def find_binning(source: BlockSource, max_bins: int, n_threads: int | None) -> Binning:
    """The binning of all blocks together."""
    checked_bins(max_bins)
    sample = CutSample(thread_count(n_threads))
    found = _scanned(source, sample, n_threads)
    return Binning(found.feature_names, found.categories, cuts_of_rows(sample, found, max_bins))


def _scanned(source: BlockSource, sample: CutSample | None, n_threads: int | None) -> Scanned:
    found = scan(source, sample, n_threads)
    if found is None:
        raise source.no_documents()
    # A part that is binned like others may have no weights above 0.
    if sample is not None and found.sample_weight is not None and not found.sample_weight.any():
        raise DataError("all weights are zero: there is nothing to learn from.")
    return found


def cuts_of_rows(sample: CutSample | None, found: Scanned, max_bins: int, collective: Collective = ALONE) -> Cuts:
    """The cuts of all features from the sample of all workers."""
    assert sample is not None  # noqa: S101
    return sample.cuts(len(found.feature_names), found.categorical, max_bins, collective)


def in_memory(name: str, shape: tuple[int, ...], dtype: Any) -> AnyArray:
    """An array of zeros."""
    return np.zeros(shape, dtype)


def binned_blocks(
    sources: Iterable[BlockSource],
    found: Scanned,
    cuts: Cuts,
    n_threads: int | None,
    allocate: Allocate = in_memory,
) -> BinnedFeatures:
    """The second pass: the bins of the blocks of all sources, one after the other."""
    n_rows, n_features = len(found.labels), len(found.feature_names)
    blocks = allocate("blocks", (n_blocks(n_features), n_rows, BLOCK), np.uint8)
    codes = allocate("codes", (len(found.categorical), n_rows), np.float32)
    missing = np.zeros(n_features, np.int64)
    for start, stored in second_pass(sources, found):
        missing |= stored.write_bins(cuts, blocks, codes, start, n_threads)
    return BinnedFeatures(found.feature_names, found.categories, blocks, cuts, missing, codes)


def second_pass(sources: Iterable[BlockSource], found: Scanned) -> Iterator[tuple[int, StoredFeatures]]:
    """The features of each block, which are those that the first pass has found, and the number of its first row."""
    start, n_rows = 0, len(found.labels)
    for source in sources:
        for block in source.blocks(is_first_pass=False):
            data = block.data.with_features(
                found.feature_names, categories=found.categories, whose="the binned data", where=block.source
            )
            stop = start + len(data)
            if stop > n_rows or not np.array_equal(data.labels, found.labels[start:stop]):
                raise _changed(block.source)
            yield start, data.stored
            start = stop
    if start < n_rows:
        raise _changed("the data")


def _changed(source: str) -> DataError:
    return DataError(f"{source} has changed between two readings of it: read it again when it is complete.")
