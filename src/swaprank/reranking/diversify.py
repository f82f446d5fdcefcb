"""Re-rank the lists of any ranker so that they repeat less: MMR by similarity, xQuAD by subtopics."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import Floats, Ints, contiguous_floats
from swaprank.data.dataset import Dataset
from swaprank.data.row_values import check_scores
from swaprank.errors import DataError, ParameterError
from swaprank.reranking.greedy_kernels import mmr_order, xquad_order


def mmr(
    data: Dataset,
    scores: ArrayLike,
    vectors: ArrayLike | None = None,
    *,
    similarities: Sequence[ArrayLike] | None = None,
    relevance: float = 0.5,
    k: int | None = None,
) -> Floats:
    """New scores for lists by maximal marginal relevance [Carbonell1998].

    Each rank takes the document with the largest relevance * score - (1 - relevance) * similarity, where the similarity
    is that to the most similar document above. The scores of each query are first scaled to 0 to 1.

    Args:
        data: The documents; only their queries matter.
        scores: One per row: those of any ranker.
        vectors: One per row, such as embeddings; the similarity of two documents is the cosine.
        similarities: Instead of vectors, a square matrix for each query, in the order of `data.qids`, with the
            documents in the order of `data.rows(query)`.
        relevance: What the scores count, from 0 to 1; with 1, the order of the scores stays.
        k: Re-rank the first k ranks; the other documents keep the order of their scores below. If None, all.

    Returns:
        One score per row, whose order is the new ranking: n for the first of n documents, 1 for the last.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2], [3]], [1, 1, 1], qid=[7, 7, 7])
    >>> sr.reranking.mmr(data, [0.9, 0.8, 0.5], [[1, 0], [1, 0.1], [0, 1]])  # the second is like the first
    array([3., 1., 2.])
    """
    given = check_scores(scores, len(data))
    weight, depth = _share("relevance", relevance), _depth(k)
    if (vectors is None) == (similarities is None):
        raise ParameterError("give either vectors, one per row, or similarities, a matrix for each query.")
    unit = np.zeros((len(data), 0)) if vectors is None else _unit_vectors(_table("vectors", vectors, len(data)))
    matrices = None if similarities is None else _matrices(data, similarities)
    none = np.empty((0, 0))

    def order_of(query: int, rows: Ints, relevant: Floats, order: Ints) -> None:
        own = none if matrices is None else matrices[query]
        mmr_order(relevant, contiguous_floats(unit[rows]), own, weight, order)

    return _reranked(data, given, depth, order_of)


def xquad(
    data: Dataset,
    scores: ArrayLike,
    probabilities: ArrayLike,
    *,
    subtopic_weights: ArrayLike | None = None,
    relevance: float = 0.5,
    k: int | None = None,
) -> Floats:
    """New scores for lists that cover the subtopics of a query early: greedy xQuAD [Santos2010].

    Each rank takes the document with the largest relevance * score + (1 - relevance) * what it adds: the sum over
    subtopics of their weight, the probability that the document is about it, and that no document above is. The scores
    of each query are first scaled to 0 to 1.

    Args:
        data: The documents; only their queries matter.
        scores: One per row: those of any ranker.
        probabilities: A row for each row of the data and a column for each subtopic: the probability that the document
            satisfies a user who means the subtopic. Columns that do not belong to a query are 0.
        subtopic_weights: How likely each subtopic is: one number per column; or a row for each query, in the order of
            `data.qids`. If None, all subtopics that a query's documents have are equally likely.
        relevance: What the scores count, from 0 to 1; with 1, the order of the scores stays.
        k: Re-rank the first k ranks; the other documents keep the order of their scores below. If None, all.

    Returns:
        One score per row, whose order is the new ranking: n for the first of n documents, 1 for the last.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2], [3]], [1, 1, 1], qid=[7, 7, 7])
    >>> sr.reranking.xquad(data, [0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], relevance=0.3)
    array([3., 1., 2.])
    """
    given = check_scores(scores, len(data))
    weight, depth = _share("relevance", relevance), _depth(k)
    table = _table("probabilities", probabilities, len(data))
    if ((table < 0) | (table > 1)).any():
        raise DataError("probabilities must be from 0 to 1.")
    weights = _subtopic_weights(data, table, subtopic_weights)

    def order_of(query: int, rows: Ints, relevant: Floats, order: Ints) -> None:
        xquad_order(relevant, contiguous_floats(table[rows]), contiguous_floats(weights[query]), weight, order)

    return _reranked(data, given, depth, order_of)


def _reranked(
    data: Dataset, scores: Floats, depth: int | None, order_of: Callable[[int, Ints, Floats, Ints], None]
) -> Floats:
    """Scores by rank; among equal scores, earlier rows first."""
    found = np.empty(len(data))
    for query in range(data.n_queries):
        rows = np.asarray(data.rows(query))
        n, own = len(rows), scores[rows]
        spread = own.max() - own.min()
        relevant = contiguous_floats((own - own.min()) / spread if spread > 0 else np.ones(n))
        first = np.empty(min(n, depth or n), np.int64)
        order_of(query, rows, relevant, first)
        by_score = np.argsort(-own, kind="stable")
        order = np.concatenate((first, by_score[~np.isin(by_score, first)]))
        found[rows[order]] = np.arange(n, 0, -1)
    return found


def _share(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise ParameterError(f"{name} must be a number from 0 to 1; found {value!r}.")
    return float(value)


def _depth(k: Any) -> int | None:
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise ParameterError(f"k must be a whole number from 1, or None; found {k!r}.")
    return None if k is None else int(k)


def _table(name: str, given: Any, n_rows: int) -> Floats:
    try:
        table = np.asarray(given.toarray() if hasattr(given, "toarray") else given, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be a table of numbers: {error}.") from None
    if table.ndim != 2 or len(table) != n_rows or not np.isfinite(table).all():
        raise DataError(f"{name} must be finite, with one row for each of {n_rows:,} rows; found shape {table.shape}.")
    return table


def _unit_vectors(vectors: Floats) -> Floats:
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def _matrices(data: Dataset, similarities: Sequence[ArrayLike]) -> list[Floats]:
    if len(similarities) != data.n_queries:
        raise DataError(
            f"similarities must be one matrix for each of {data.n_queries:,} queries; found {len(similarities):,}."
        )
    found = []
    for query, given in enumerate(similarities):
        n, matrix = len(data.rows(query)), np.asarray(given, np.float64)
        if matrix.shape != (n, n) or not np.isfinite(matrix).all():
            raise DataError(
                f"similarities, query {query}: expected finite numbers of shape {(n, n)}, found {matrix.shape}."
            )
        found.append(contiguous_floats(matrix))
    return found


def _subtopic_weights(data: Dataset, probabilities: Floats, given: ArrayLike | None) -> Floats:
    """(queries, subtopics): the weights of each query's subtopics, with sum 1."""
    shape = (data.n_queries, probabilities.shape[1])
    if given is None:
        weights = np.array([probabilities[data.rows(query)].any(axis=0) for query in range(shape[0])], np.float64)
    else:
        weights = np.asarray(given, np.float64)
        if weights.shape not in (shape, shape[1:]) or not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise DataError(
                f"subtopic_weights must be {shape[1]} numbers from 0, or so many for each of {shape[0]:,} queries; "
                f"found shape {weights.shape}."
            )
        weights = np.broadcast_to(weights, shape)
    sums = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights / np.where(sums > 0, sums, 1.0))
