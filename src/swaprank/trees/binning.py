"""The bins that trees are grown on: those of a data set, and the columns of its categories.

Numbers are binned by data/binned_features.py. Each category has a bin of its own, and trees split them into sets. Many
categories have few documents each, and nothing is learned from few documents in one leaf. So from 32 categories on
there is a second column: the target statistic of the categories, which is split like a number. A bin of its own, for
categories of at least 10 documents, is still needed: the statistic does not tell how a category interacts with other
features.

    statistic of category c    sum of (label - mean label of the query) / (n_c + a)    over its n_c documents
    of a training document     the same over the documents of earlier queries only

Earlier means: in an earlier one of 64 random blocks of queries, so that the sums of a block can be added up over
workers. Deviations from the mean are rounded to integers, whose sums do not depend on the order of queries.

The statistic of a training document does not know the document's own label, nor those of its query [Prokhorenkova2018]:
otherwise ids that occur once would explain all labels. So a training document can be in another bin than its category,
by which the finished tree goes. Leaf values and the scores during training go by the bins of documents: by those of
categories, trees would be fitted to labels that the statistic has seen, and trust it too much. a, the variance within
categories / between them, makes the statistic the best linear guess for any n_c, so that leaf values that were fitted
with the statistics of fewer documents hold for those of more.

A missing value is one more category, the last one. Categories without documents go where missing values go, and if
there are none of these either, their statistic is 0.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bytes, Features, Floats, Ints, read_only
from swaprank.collective import ALONE, Collective, add_with_largest, allgather
from swaprank.data.cuts import cut_points, sample_of_rows
from swaprank.data.dataset import Dataset
from swaprank.data.document_places import random_fractions, sampled_places
from swaprank.kernels import kernel
from swaprank.trees.histogram import BINS, BLOCK
from swaprank.trees.splitting import NUMBER, SET

MANY_CATEGORIES, LEAST_DOCUMENTS = 32, 10
"""From so many categories on there is a statistic, and each needs so many documents for a bin of its own."""
_LEAST_PRIOR, _LARGEST_PRIOR = 1.0, 100.0
"""Documents that the prior of a statistic counts as."""
QUERY_BLOCKS = 64
"""The number of blocks of queries."""
_LARGEST_SET = BLOCK * (BINS - 1)
"""The columns of a set fill at most one block."""


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
    cuts = data.stored.find_cuts(sampled_places(data), data.order, max_bins, n_threads, collective)
    bins = data.stored.binned(cuts, n_threads, data.order)
    missing = np.array(bins.has_missing)
    collective.add(missing)
    return Bins(bins.blocks, cuts.values, np.array(cuts.n_bins), np.minimum(missing, 1))


class CategoryColumn(NamedTuple):
    """A column of bins that a categorical feature is split on, or several for a set of more than 255."""

    feature: int
    use: int
    """SET or NUMBER."""
    documents: Ints
    """The number of each document, grouped by query, as in `best_set_split`: its bin if there is one column."""
    categories: Ints
    """The number of each category and of missing values; 0 is for those without a bin."""
    largest: int
    """The largest number of a document."""


class Layout(NamedTuple):
    """The feature, the use and the categories of each column of bins."""

    feature: Ints
    use: Ints
    """NUMBER, SET, or NOT_ALLOWED for columns that belong to an earlier one."""
    n_columns: Ints
    set_size: int
    """The size of the largest set; 0 if there are no categories."""
    categories: dict[int, Ints]
    """The number of each category and of missing values, by column."""


def plain_layout(n_features: int) -> Layout:
    """One column for each feature."""
    return Layout(np.arange(n_features), np.full(n_features, NUMBER), np.ones(n_features, np.int64), 0, {})


def category_columns(
    data: Dataset, max_bins: int, random_state: int, n_threads: int, collective: Collective
) -> list[CategoryColumn]:
    """The columns of all categorical features; the first ones of a feature are those of its statistic."""
    columns, sampled = [], sample_of_rows(data.places, n_threads, collective)
    for name, values in data.categories.items():
        feature = data.feature_names.index(name)
        codes = np.nan_to_num(data.by_query(data.column(feature)), nan=len(values)).astype(np.int64)
        counts = np.bincount(codes, minlength=len(values) + 1)
        collective.add(counts)
        many = np.count_nonzero(counts) >= MANY_CATEGORIES
        if many:
            ordered, of_categories = target_statistics(data, feature, codes, counts, random_state, collective)
            cuts = cut_points(allgather(collective, ordered[sampled]), max_bins)
            documents, categories = (np.searchsorted(cuts, each) + 1 for each in (ordered, of_categories))
            columns.append(CategoryColumn(feature, NUMBER, documents, _like_missing(categories, counts), len(cuts) + 1))
        frequent = np.argsort(-counts, kind="stable")[:_LARGEST_SET]
        frequent = np.sort(frequent[counts[frequent] >= (LEAST_DOCUMENTS if many else 1)])
        numbers = np.zeros(len(counts), np.int64)
        numbers[frequent] = np.arange(1, len(frequent) + 1)
        if len(frequent):
            columns.append(CategoryColumn(feature, SET, numbers[codes], _like_missing(numbers, counts), len(frequent)))
    return columns


def _like_missing(numbers: Ints, counts: Ints) -> Ints:
    return np.where(counts > 0, numbers, numbers[-1])


def target_statistics(
    data: Dataset, feature: int, codes: Ints, counts: Ints, random_state: int, collective: Collective
) -> tuple[Features, Features]:
    """The statistic of each training document, grouped by query, and that of each category."""
    labels, lengths = data.by_query(data.labels), np.diff(data.indptr)
    deviation = labels - np.repeat(np.add.reduceat(labels, data.indptr[:-1]) / lengths, lengths)
    squares = deviation * deviation
    _, largest = add_with_largest(collective, np.empty(0, np.int64), np.array([np.abs(deviation).max(), squares.max()]))
    units = [integer_unit(each, int(counts.sum())) for each in largest.tolist()]
    sums = np.zeros((2, len(counts)), np.int64)
    for values, unit, of_category in zip((deviation, squares), units, sums, strict=True):
        np.add.at(of_category, codes, np.rint(values / unit).astype(np.int64))
    collective.add(sums.reshape(-1))
    prior = prior_documents(sums[0] * units[0], counts, sums[1] * units[1])
    seed = int(np.random.default_rng((random_state, feature)).integers(2**62))
    blocks = (random_fractions(data.places.keys, seed) * QUERY_BLOCKS).astype(np.int64)
    ordered = np.empty(len(codes), np.float32)
    whole, before = np.rint(deviation / units[0]).astype(np.int64), np.zeros((len(counts), 2), np.int64)
    for block in range(QUERY_BLOCKS):
        added = np.zeros_like(before)
        ordered_statistics(codes, whole, data.indptr, blocks, block, prior, units[0], before, added, ordered)
        collective.add(added.reshape(-1))
        before += added
    return ordered, (sums[0] * units[0] / (counts + prior)).astype(np.float32)


def integer_unit(largest: float, count: int) -> float:
    """A power of two, in units of which the sum of so many numbers of at most this size fits into an integer."""
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) + int(count).bit_length() - 62))


def prior_documents(sums: Floats, counts: Ints, squares: Floats) -> float:
    """The variance within categories / the variance of their means, from sums of deviations and of their squares.

    The mean product of two different documents of a category estimates the variance of the means without bias. Weights
    by the root of the number of documents: large categories are known better, but they are few.
    """
    several = counts > 1
    n, weights = counts[several].astype(np.float64), np.sqrt(counts[several])
    products = (sums[several] * sums[several] - squares[several]) / (n * (n - 1.0))
    between = float(np.sum(weights * products)) / max(1.0, float(np.sum(weights)))
    within = float(np.sum(squares)) / float(np.sum(counts)) - between
    if between * _LARGEST_PRIOR <= within:
        return _LARGEST_PRIOR
    return max(_LEAST_PRIOR, within / between)


@kernel
def ordered_statistics(
    codes: Ints,
    deviation: Ints,
    indptr: Ints,
    blocks: Ints,
    block: int,
    prior: float,
    unit: float,
    before: Ints,
    added: Ints,
    ordered: Features,
) -> None:
    """Write the statistics of the documents in one block of queries, and add their deviations and numbers to `added`.

    before: The sum and the number of deviations of each category in earlier blocks.
    """
    for q in range(len(blocks)):
        if blocks[q] == block:
            for row in range(indptr[q], indptr[q + 1]):
                code = codes[row]
                ordered[row] = before[code, 0] * unit / (before[code, 1] + prior)
                added[code, 0] += deviation[row]
                added[code, 1] += 1


def with_categories(bins: Bins, columns: list[CategoryColumn], collective: Collective) -> tuple[Bins, Layout]:
    """Bins in which each categorical feature has its columns: the first in its own place, others after all features."""
    n_features, n_rows = len(bins.n_bins), bins.blocks.shape[1]
    places, end = [], n_features
    for k, column in enumerate(columns):
        width = _n_columns(column)
        if width == 1 and all(earlier.feature != column.feature for earlier in columns[:k]):
            places.append(column.feature)
            continue
        # The columns of a set are in one block, which one thread searches.
        if end % BLOCK + width > BLOCK:
            end += BLOCK - end % BLOCK
        places.append(end)
        end += width
    zeros = np.zeros(end, np.int64)
    layout = Layout(zeros, zeros.copy(), zeros + 1, max(map(_set_size, columns)), {})
    layout.feature[:n_features], layout.use[:n_features] = np.arange(n_features), NUMBER
    n_bins, has_missing = (np.concatenate((a, np.zeros(end - n_features, a.dtype))) for a in bins[2:])
    blocks = np.zeros((-(-end // BLOCK), n_rows, BLOCK), np.uint8)
    blocks[: len(bins.blocks)] = bins.blocks
    for column, at in zip(columns, places, strict=True):
        layout.categories[at] = column.categories
        layout.use[at], layout.n_columns[at] = column.use, _n_columns(column)
        for c in range(_n_columns(column)):
            within = column.documents - c * (BINS - 1)
            found = np.where((within > 0) & (within < BINS), within, 0)
            blocks[(at + c) // BLOCK, :, (at + c) % BLOCK] = found
            layout.feature[at + c] = column.feature
            n_bins[at + c] = min(column.largest - c * (BINS - 1), BINS - 1)
            has_missing[at + c] = (found == 0).any()
    collective.add(has_missing)
    return Bins(read_only(blocks), bins.cuts, n_bins, np.minimum(has_missing, 1)), layout


def _n_columns(column: CategoryColumn) -> int:
    return max(1, -(-column.largest // (BINS - 1)))


def _set_size(column: CategoryColumn) -> int:
    return 1 + (BINS - 1) * _n_columns(column)
