"""Metrics at work on arrays: check at the border, compile to terms, rank and add up in threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.data.scores import check_scores
from swaprank.errors import DataError, MetricError
from swaprank.kernels import kernel
from swaprank.metrics.families import (
    WORK_ROWS,
    list_value,
    prepare_swaps,
    rows_that_count,
    swap_gain_rows,
)
from swaprank.metrics.metric import BoundMetric, Metric
from swaprank.metrics.ordering import keep_top, rank_documents, tie_groups
from swaprank.metrics.terms import CUSTOM, Lists, MetricTerms, longest_list, own_floats, own_ints
from swaprank.threads import query_chunks, run_in_threads, thread_count


@kernel
def measure_queries(
    terms: MetricTerms,
    indptr: Ints,
    tie_order: Ints,
    scores: Floats,
    ties_apart: bool,
    longest: int,
    first: int,
    last: int,
    values: Floats,
) -> int:
    """values[q] for the queries from first to last: rank the documents by score, then the family's value.

    Gives a document whose score is tied with another's, or -1.
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
        tied = max(tied, tie_groups(scores, order[:n], ties_apart, ends))
        values[query] = list_value(terms, query, ranked[:n], ends, work, order, scratch)
    return tied


@kernel
def swap_gain_matrix(terms: MetricTerms, gains: Floats) -> None:
    """gains[i, j] = gains[j, i]: the change of the metric if ranks i and j traded places, for one list."""
    n = len(gains)
    work = np.empty((WORK_ROWS, n + 1))
    prepare_swaps(terms, 0, terms.gains, work)
    rows = rows_that_count(terms, 0, n)
    swap_gain_rows(terms, 0, terms.gains, 0, rows, work, gains)
    for i in range(rows):
        for j in range(i + 1, n):
            gains[j, i] = gains[i, j]


def bind(
    metric: Metric, labels: ArrayLike, indptr: ArrayLike, *, docid: ArrayLike | None, pool: Lists | None
) -> BoundMetric:
    """Check the lists, compile the metric for them and fix what decides between tied scores."""
    lists = _check_lists(labels, indptr)
    judged = None if pool is None else _check_lists(pool.labels, pool.indptr)
    if judged is not None and len(judged.indptr) != len(lists.indptr):
        raise DataError(f"the pool has {len(judged.indptr) - 1} queries, but {len(lists.indptr) - 1} were ranked.")
    terms = metric.terms(lists, lists if judged is None else judged)
    ids = None if docid is None else np.asarray(docid)
    tie_order = np.arange(len(lists.labels))
    if metric.ties == "docid" and ids is not None:
        tie_order = _by_descending_id(ids, lists.indptr)
    return BoundMetric(metric, terms, lists.labels, lists.indptr, tie_order, docid=ids, pool=judged)


def measure(bound: BoundMetric, scores: ArrayLike, n_threads: int | None) -> Floats:
    """The metric of every query for these scores."""
    checked = check_scores(scores, len(bound.tie_order))
    if bound.metric.ties == "docid":
        # trec_eval keeps scores in single precision: what is equal there is a tie.
        checked = checked.astype(np.float32).astype(np.float64)
    values = np.empty(len(bound.indptr) - 1)
    ties_apart = bound.metric.ties != "expected"
    longest = longest_list(bound.indptr)

    def work(first: int, last: int) -> int:
        return measure_queries(
            bound.terms, bound.indptr, bound.tie_order, checked, ties_apart, longest, first, last, values
        )

    tied = max(run_in_threads(work, query_chunks(bound.indptr, thread_count(n_threads))))
    if bound.metric.ties == "docid" and bound.docid is None and tied >= 0:
        query = int(np.searchsorted(bound.indptr, tied, side="right")) - 1
        raise DataError(
            f"{bound.metric} breaks ties by document id, but there are none, and in query {query} another document has "
            f"the same score as document {tied - bound.indptr[query]} (both counted from 0), {checked[tied]:g}. "
            f"Give document ids, or choose ties=input or ties=expected."
        )
    if bound.terms.family == CUSTOM:
        _refuse_failures(values, bound)
    return values


def swap_gains(metric: Metric, labels_in_rank_order: ArrayLike) -> Floats:
    """The signed change for every pair of ranks of one list."""
    labels = np.atleast_1d(np.asarray(labels_in_rank_order, dtype=np.float64))
    lists = _check_lists(labels, [0, len(labels)])
    gains = np.zeros((len(labels), len(labels)))
    terms = metric.terms(lists, lists)
    swap_gain_matrix(terms, gains)
    if terms.family == CUSTOM and not np.isfinite(gains).all():
        raise MetricError(
            f"{metric}: evaluate failed or gave no finite number for the list, or with two documents swapped."
        )
    return gains + 0.0  # so that no change reads 0, not -0


def _check_lists(labels: ArrayLike, indptr: ArrayLike) -> Lists:
    values = own_floats(np.asarray(labels, dtype=np.float64))
    bounds = np.asarray(indptr)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise DataError("labels must be finite numbers, one a document.")
    if bounds.ndim != 1 or len(bounds) < 2 or bounds.dtype.kind not in "iu":
        raise DataError("indptr must be whole numbers: where each query begins, and the number of documents last.")
    bounds = own_ints(bounds)
    if bounds[0] != 0 or bounds[-1] != len(values) or (np.diff(bounds) < 0).any():
        raise DataError(f"indptr must rise from 0 to the number of documents, {len(values):,}; found {_ends(bounds)}.")
    return Lists(values, bounds)


def _ends(bounds: Ints) -> str:
    return ", ".join(map(str, bounds)) if len(bounds) < 8 else f"{bounds[0]}, {bounds[1]}, …, {bounds[-1]}"


def _by_descending_id(docid: AnyArray, indptr: Ints) -> Ints:
    """Each query's documents by descending id, as trec_eval orders ties (code points sort as UTF-8 bytes do)."""
    if docid.shape != (int(indptr[-1]),):
        raise DataError(f"docid must be one a document, {indptr[-1]:,}; found shape {docid.shape}.")
    ids = docid.astype(str)
    rank = np.empty(len(ids), np.int64)
    rank[np.argsort(ids, kind="stable")[::-1]] = np.arange(len(ids))
    query = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.lexsort((rank, query)).astype(np.int64)


def _refuse_failures(values: Floats, bound: BoundMetric) -> None:
    bad = np.flatnonzero(~np.isfinite(values) & ~bound.terms.is_empty)
    if len(bad):
        raise MetricError(
            f"{bound.metric}: evaluate failed or gave no finite number for query {bad[0]} "
            f"({bound.indptr[bad[0] + 1] - bound.indptr[bad[0]]} documents)."
        )
