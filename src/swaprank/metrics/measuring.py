"""Measure ranked lists: check the arrays, rank the documents in threads, evaluate a metric's terms."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import AnyArray, Floats, Ints, contiguous_floats, contiguous_ints
from swaprank.data.grouping import longest_list, query_of_row, sum_by_query
from swaprank.data.pairs import PairLists
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.metrics.ordering import keep_top, rank_documents, tie_groups
from swaprank.metrics.terms import (
    WORK_ROWS,
    Lists,
    MetricTerms,
    list_value,
    prepare_swaps,
    rows_that_count,
    swap_gain_rows,
)
from swaprank.threads import query_chunks, run_strided, thread_count

_BLOCK_DOCUMENTS = 32_768
"""Documents that are ranked together, and then measured by each metric while they are in the CPU's cache."""


class Ranking(NamedTuple):
    """The documents of a block of queries in the order of their scores, as deep as a metric looks."""

    order: Ints
    """Positions in the block, grouped by query."""
    ends: Ints
    """At the first rank of each group of tied documents: the rank where the group ends."""
    n_ranked: Ints
    """The number of documents of each query that are ranked; its others are lost."""


def start_ranking(order: Ints, n_queries: int) -> Ranking:
    """Documents to be ranked; among tied scores, the one that comes first in `order` ranks first."""
    return Ranking(order, np.empty_like(order), np.empty(n_queries, np.int64))


@kernel
def rank_queries(
    ranking: Ranking, scores: Floats, depth: int, break_ties: bool, indptr: Ints, longest: int, first: int, last: int
) -> int:
    """Rank a block, the queries from first to last, by its scores.

    Returns a document, as its position in the block, that is tied with one within the depth, or -1.
    """
    scratch, gathered, top = np.empty(longest, np.int64), np.empty(longest), np.empty(longest + 1)
    tied = -1
    for query in range(first, last):
        start, stop = indptr[query] - indptr[first], indptr[query + 1] - indptr[first]
        order = ranking.order[start:stop]
        n = keep_top(scores, order, depth, gathered, top)
        rank_documents(scores, order[:n], scratch, gathered)
        tied = max(tied, tie_groups(scores, order[:n], depth, break_ties, ranking.ends[start:stop]))
        ranking.n_ranked[query - first] = n
    return tied


@kernel
def measure_queries(
    terms: MetricTerms, ranking: Ranking, indptr: Ints, longest: int, first: int, last: int, values: Floats
) -> None:
    """Fill values[q] for the queries of a ranked block, from first to last."""
    ranked, work = np.empty(longest), np.empty((WORK_ROWS, longest + 1))
    places, scratch = np.empty(longest, np.int64), np.empty(longest, np.int64)
    block = indptr[first]
    for query in range(first, last):
        start, n = indptr[query] - block, ranking.n_ranked[query - first]
        for r in range(n):
            ranked[r] = terms.gains[block + ranking.order[start + r]]
        values[query] = list_value(terms, query, ranked[:n], ranking.ends[start : start + n], work, places, scratch)


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
    each: Sequence[MetricTerms], indptr: Ints, tie_order: Ints | None, scores: Floats, ties: str, n_threads: int | None
) -> tuple[list[Floats], int]:
    """The values of several metrics of one ranking, and a document that is tied with one within their depth, or -1.

    The documents are ranked once, as deep as the deepest metric looks. Without a tie order, ties keep the row order.
    """
    values, longest = [np.empty(len(indptr) - 1) for _ in each], longest_list(indptr)
    depth, threads = max(terms.depth for terms in each), thread_count(n_threads)
    blocks = query_chunks(indptr, max(threads, int(indptr[-1]) // _BLOCK_DOCUMENTS))
    tied = [-1]

    def work(number: int) -> None:
        first, last = blocks[number]
        start, stop = int(indptr[first]), int(indptr[last])
        order = np.arange(stop - start) if tie_order is None else tie_order[start:stop] - start
        ranking, own = start_ranking(order, last - first), scores_to_rank(scores[start:stop], ties)
        found = rank_queries(ranking, own, depth, ties != "expected", indptr, longest, first, last)
        if found >= 0:
            tied.append(start + found)
        for terms, of_metric in zip(each, values, strict=True):
            measure_queries(terms, ranking, indptr, longest, first, last, of_metric)

    run_strided(work, len(blocks), threads)
    return values, max(tied)


def shares_in_order(terms: MetricTerms, pairs: PairLists | None, scores: Floats) -> Floats:
    """The share of each query's given pairs that are in the order of their probability; tied scores count half.

    A pair counts as much as it weighs. One of probability 1/2 has no order, and does not count.
    """
    assert pairs is not None  # noqa: S101
    first, second = scores[pairs.above], scores[pairs.below]
    counted = np.where(pairs.probability == 0.5, 0.0, pairs.weight)
    right = np.where(pairs.probability > 0.5, first > second, first < second) + 0.5 * (first == second)
    return terms.base + sum_by_query(counted * right, pairs.indptr) / terms.divisors


def scores_to_rank(scores: Floats, ties: str) -> Floats:
    """The scores by which documents are ranked: trec_eval stores them in single precision, and equal ones are tied."""
    return scores.astype(np.float32).astype(np.float64) if ties == "docid" else scores


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


def check_beside(lists: Lists, subtopics: ArrayLike | None, judged: ArrayLike | None) -> Lists:
    """The lists with subtopics and with what is judged; raises DataError if these are not one per document."""
    n = len(lists.labels)
    if subtopics is not None:
        matrix = np.asarray(subtopics, dtype=np.float64)
        if matrix.ndim != 2 or len(matrix) != n or np.isinf(matrix).any():
            raise DataError(
                f"subtopics must be a table of labels with a row for each of the {n:,} documents and a column for each "
                f"subtopic; found shape {matrix.shape}."
            )
        lists = lists._replace(subtopics=matrix)
    if judged is not None:
        marks = np.asarray(judged, dtype=np.bool_)
        if marks.shape != (n,):
            raise DataError(f"judged must be one value per document, {n:,} in all; found shape {marks.shape}.")
        lists = lists._replace(judged=marks)
    return lists


def by_descending_id(docid: AnyArray, indptr: Ints) -> Ints:
    """Each query's documents by descending id, as trec_eval orders ties (code points sort as UTF-8 bytes do)."""
    ids = docid.astype(str)
    rank = np.empty(len(ids), np.int64)
    rank[np.argsort(ids, kind="stable")[::-1]] = np.arange(len(ids))
    return np.lexsort((rank, query_of_row(indptr))).astype(np.int64)
