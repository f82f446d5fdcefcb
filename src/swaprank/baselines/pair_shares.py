"""The pairs of documents with different labels, and the weight of each."""

from typing import Literal, NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints, contiguous_floats
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import query_of_row, sum_by_query

Average = Literal["queries", "pairs"]
AVERAGES = ("queries", "pairs")


class LabelPairs(NamedTuple):
    """All pairs (better, worse) within queries, as seen from the documents, which are grouped by query."""

    by_label: Ints
    """The documents of each query by ascending label."""
    level: Ints
    """The place of a document's label among the distinct labels of its query, from 0."""
    shares: Floats
    """The weight of each pair of a query; 0 if it has none. The weights of all pairs sum to 1."""


def label_pairs(labels: Floats, indptr: Ints, document_weights: Floats, average: Average) -> LabelPairs:
    """Return the pairs of all queries; the weight of a query is the mean weight of its documents.

    average: "queries": every query has the same total weight, whatever its number of pairs. "pairs": every pair has the
    same weight, so that long lists count more.

    >>> import numpy as np
    >>> from swaprank.baselines.pair_shares import label_pairs
    >>> labels, indptr = np.array([0.0, 2.0, 0.5, 1.0, 0.0]), np.array([0, 3, 5])
    >>> pairs = label_pairs(labels, indptr, np.ones(5), "queries")
    >>> pairs.level.tolist(), pairs.shares.round(4).tolist()
    ([0, 2, 1, 1, 0], [0.1667, 0.5])
    """
    query, first = query_of_row(indptr), np.repeat(indptr[:-1], np.diff(indptr))
    by_label = np.lexsort((labels, query)).astype(np.int64)
    places, ordered = np.arange(len(labels)), labels[by_label]
    rises = np.concatenate(([False], ordered[1:] > ordered[:-1])) & (places > first)
    level = np.empty(len(labels), np.int64)
    steps = np.cumsum(rises)
    level[by_label] = steps - steps[first] if len(labels) else steps
    # Where the run of equal labels begins: all documents of the query before it are worse.
    begins = np.maximum.accumulate(np.where(rises | (places == first), places, 0))
    n_pairs = sum_by_query((begins - first).astype(np.float64), indptr)
    weights = sum_by_query(document_weights, indptr) / np.maximum(np.diff(indptr), 1)
    shares = weights / np.maximum(n_pairs, 1.0) if average == "queries" else weights
    shares = np.where(n_pairs > 0, shares, 0.0)
    return LabelPairs(by_label, level, shares / max(float(np.sum(shares * n_pairs)), np.finfo(float).tiny))


def pairs_of(data: Dataset, average: Average) -> LabelPairs:
    """Return the pairs of a data set."""
    weights = np.ones(len(data)) if data.sample_weight is None else data.by_query(data.sample_weight)
    return label_pairs(contiguous_floats(data.by_query(data.labels)), np.array(data.indptr), weights, average)
