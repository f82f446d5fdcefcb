"""Measure ranked lists: check the arrays, rank the documents in threads, evaluate a metric's terms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import AnyArray, Floats, Ints, contiguous_floats, contiguous_ints
from swaprank.data.grouping import longest_list, query_of_row
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.metrics.families import (
    WORK_ROWS,
    list_value,
    prepare_swaps,
    rows_that_count,
    swap_gain_rows,
)
from swaprank.metrics.ordering import keep_top, rank_documents, tie_groups
from swaprank.metrics.terms import Lists, MetricTerms
from swaprank.threads import query_chunks, run_in_threads, thread_count


@kernel
def measure_queries(
    terms: MetricTerms,
    indptr: Ints,
    tie_order: Ints,
    scores: Floats,
    break_ties: bool,
    longest: int,
    first: int,
    last: int,
    values: Floats,
) -> int:
    """Fill values[q] for the queries from first to last: rank the documents by score, then evaluate the list.

    Returns a document whose score is tied with another one's, or -1.
    """
    order, scratch, ends = (
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
    )
    ranked, work = np.empty(longest), np.empty((WORK_ROWS, longest + 1))
    tied = -1
    for query in range(first, last):
        start = indptr[query]
        n = indptr[query + 1] - start
        for r in range(n):
            order[r] = tie_order[start + r]
        n = keep_top(scores, order[:n], terms.depth, ranked, work[0])
        rank_documents(scores, order[:n], scratch, ranked)
        for r in range(n):
            ranked[r] = terms.gains[order[r]]
        tied = max(tied, tie_groups(scores, order[:n], break_ties, ends))
        values[query] = list_value(terms, query, ranked[:n], ends, work, order, scratch)
    return tied


@kernel
def swap_gain_matrix(terms: MetricTerms, gains: Floats) -> None:
    """gains[i, j] = gains[j, i]: the change of one list's metric if the documents at ranks i and j are swapped."""
    n = len(gains)
    work = np.empty((WORK_ROWS, n + 1))
    prepare_swaps(terms, 0, terms.gains, work)
    rows = rows_that_count(terms, 0, n)
    swap_gain_rows(terms, 0, terms.gains, 0, rows, work, gains)
    for i in range(rows):
        for j in range(i + 1, n):
            gains[j, i] = gains[i, j]


def measure(
    terms: MetricTerms, indptr: Ints, tie_order: Ints, scores: Floats, break_ties: bool, n_threads: int | None
) -> tuple[Floats, int]:
    """The metric of every query, and a document whose score is tied with another one's (-1 if there is none)."""
    values, longest = np.empty(len(indptr) - 1), longest_list(indptr)

    def work(first: int, last: int) -> int:
        return measure_queries(terms, indptr, tie_order, scores, break_ties, longest, first, last, values)

    return values, max(run_in_threads(work, query_chunks(indptr, thread_count(n_threads))))


def check_lists(labels: ArrayLike, indptr: ArrayLike) -> Lists:
    """Labels and query bounds as contiguous arrays; raises DataError if they do not fit together."""
    values = contiguous_floats(np.asarray(labels, dtype=np.float64))
    bounds = np.asarray(indptr)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise DataError("labels must be finite numbers, one per document.")
    if bounds.ndim != 1 or len(bounds) < 2 or bounds.dtype.kind not in "iu":
        raise DataError("indptr must be integers: the start of each query, then the number of documents.")
    bounds = contiguous_ints(bounds)
    if bounds[0] != 0 or bounds[-1] != len(values) or (np.diff(bounds) < 0).any():
        found = ", ".join(map(str, bounds)) if len(bounds) < 8 else f"{bounds[0]}, {bounds[1]}, …, {bounds[-1]}"
        raise DataError(f"indptr must rise from 0 to the number of documents, {len(values):,}; found {found}.")
    return Lists(values, bounds)


def by_descending_id(docid: AnyArray, indptr: Ints) -> Ints:
    """Each query's documents by descending id, as trec_eval orders ties (code points sort as UTF-8 bytes do)."""
    if docid.shape != (int(indptr[-1]),):
        raise DataError(f"docid must be one id per document, {indptr[-1]:,} in all; found shape {docid.shape}.")
    ids = docid.astype(str)
    rank = np.empty(len(ids), np.int64)
    rank[np.argsort(ids, kind="stable")[::-1]] = np.arange(len(ids))
    return np.lexsort((rank, query_of_row(indptr))).astype(np.int64)
