"""Categories as bins.

Each category has a bin of its own, and trees split them into sets. Many categories have few documents each, and nothing
is learned from few documents in one leaf. So from 32 categories on there is a second column: the target statistic of
the categories, which is split like a number. A bin of its own, for categories of at least 10 documents, is still
needed: the statistic does not tell how a category interacts with other features.

    statistic of category c    sum of (label - mean label of the query) / (n_c + a)    over its n_c documents
    of a training document     the same over the documents of earlier queries only, in a random order of the queries

The statistic of a training document does not know the document's own label, nor those of its query [Prokhorenkova2018]:
otherwise ids that occur once would explain all labels. So a training document can be in another bin than its category,
by which the finished tree goes. Leaf values and the scores during training go by the bins of documents: by those of
categories, trees would be fitted to labels that the statistic has seen, and trust it too much. a, the variance within
categories / between them, makes the statistic the best linear guess for any n_c, so that leaf values that were fitted
with the statistics of fewer documents hold for those of more.

A missing value is one more category, the last one. Categories without documents go where missing values go, and if
there are none of these either, their statistic is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats, Ints
from swaprank.data.cuts import cut_points
from swaprank.data.dataset import Dataset
from swaprank.data.features import read_only
from swaprank.kernels import kernel
from swaprank.trees.binning import Bins
from swaprank.trees.histogram import BINS, BLOCK
from swaprank.trees.splitting import NUMBER, SET

MANY_CATEGORIES, LEAST_DOCUMENTS = 32, 10
"""From so many categories on there is a statistic, and each needs so many documents for a bin of its own."""
_LEAST_PRIOR, _LARGEST_PRIOR = 1.0, 100.0
"""Documents that the prior of a statistic counts as."""
_LARGEST_SET = BLOCK * (BINS - 1)
"""The columns of a set fill at most one block."""


class CategoryColumn(NamedTuple):
    """What a categorical feature is split on: a column of bins, or several for a set of more than 255."""

    feature: int
    use: int
    """SET or NUMBER."""
    documents: Ints
    """The number of each document, grouped by query, as in `best_set_split`: its bin if there is one column."""
    categories: Ints
    """The number of each category and of missing values; 0 is for those without a bin."""


class Layout(NamedTuple):
    """What each column of bins is."""

    feature: Ints
    use: Ints
    """NUMBER, SET, or NOT_ALLOWED for columns that belong to an earlier one."""
    n_columns: Ints
    set_size: int
    """How many numbers the largest set has; 0 if there are no categories."""
    categories: dict[int, Ints]
    """The number of each category and of missing values, by column."""


def plain_layout(n_features: int) -> Layout:
    """One column for each feature."""
    return Layout(np.arange(n_features), np.full(n_features, NUMBER), np.ones(n_features, np.int64), 0, {})


def category_columns(data: Dataset, max_bins: int, random_state: int) -> list[CategoryColumn]:
    """The columns of all categorical features; the first ones of a feature are those of its statistic."""
    columns = []
    for name, values in data.categories.items():
        feature = data.feature_names.index(name)
        codes = np.nan_to_num(data.by_query(data.column(feature)), nan=len(values)).astype(np.int64)
        counts = np.bincount(codes, minlength=len(values) + 1)
        many = np.count_nonzero(counts) >= MANY_CATEGORIES
        if many:
            columns.append(_statistic_column(feature, codes, counts, data, max_bins, random_state))
        frequent = np.argsort(-counts, kind="stable")[:_LARGEST_SET]
        frequent = np.sort(frequent[counts[frequent] >= (LEAST_DOCUMENTS if many else 1)])
        numbers = np.zeros(len(counts), np.int64)
        numbers[frequent] = np.arange(1, len(frequent) + 1)
        if len(frequent):
            columns.append(CategoryColumn(feature, SET, numbers[codes], _like_missing(numbers, counts)))
    return columns


def _like_missing(numbers: Ints, counts: Ints) -> Ints:
    return np.where(counts > 0, numbers, numbers[-1])


def _statistic_column(
    feature: int, codes: Ints, counts: Ints, data: Dataset, max_bins: int, random_state: int
) -> CategoryColumn:
    labels, lengths = data.by_query(data.labels), np.diff(data.indptr)
    deviation = labels - np.repeat(np.add.reduceat(labels, data.indptr[:-1]) / lengths, lengths)
    sums, squares = (
        np.bincount(codes, weights=values, minlength=len(counts)).astype(np.float64)
        for values in (deviation, deviation * deviation)
    )
    prior = prior_documents(sums, counts, squares)
    queries = np.random.default_rng((random_state, feature)).permutation(len(lengths))
    ordered = np.empty(len(codes), np.float32)
    ordered_statistics(codes, deviation, data.indptr, queries, prior, np.zeros((len(counts), 2)), ordered)
    cuts = cut_points(ordered, max_bins)
    documents, categories = (
        np.searchsorted(cuts, values) + 1 for values in (ordered, (sums / (counts + prior)).astype(np.float32))
    )
    return CategoryColumn(feature, NUMBER, documents, _like_missing(categories, counts))


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
    codes: Ints, deviation: Floats, indptr: Ints, queries: Ints, prior: float, sums: Floats, ordered: Features
) -> None:
    """Write each document's statistic over the documents of its category in earlier queries.

    sums: Zeros; the sum and the number of deviations of each category so far.
    """
    for q in queries:
        for row in range(indptr[q], indptr[q + 1]):
            ordered[row] = sums[codes[row], 0] / (sums[codes[row], 1] + prior)
        for row in range(indptr[q], indptr[q + 1]):
            sums[codes[row], 0] += deviation[row]
            sums[codes[row], 1] += 1.0


def with_categories(bins: Bins, columns: list[CategoryColumn]) -> tuple[Bins, Layout]:
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
            layout.feature[at + c], n_bins[at + c], has_missing[at + c] = (
                column.feature,
                found.max(),
                (found == 0).any(),
            )
    return Bins(read_only(blocks), bins.cuts, n_bins, has_missing), layout


def _n_columns(column: CategoryColumn) -> int:
    return max(1, -(-int(column.documents.max()) // (BINS - 1)))


def _set_size(column: CategoryColumn) -> int:
    return 1 + (BINS - 1) * _n_columns(column)
