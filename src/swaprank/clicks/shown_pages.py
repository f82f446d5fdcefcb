"""The pages that simulated rankers show: the best documents of a query, with noise, so that documents change places."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import deviation_within_lists

_BLOCK = 2_000_000
"""Scores that are drawn at a time."""


class Pages(NamedTuple):
    """What was shown: a matrix of sessions x places, with -1 where a query has fewer documents than places."""

    query: Ints
    """The query of each session, sorted."""
    row: Ints
    """The row of the data set at each place."""


def shown_pages(
    data: Dataset,
    scores: Sequence[Floats],
    n_sessions: int,
    n_shown: int,
    moves: float,
    swaps: float,
    rng: np.random.Generator,
) -> Pages:
    """Sessions of random queries, each ranked by one of the scores with normal noise, maybe with swapped neighbours."""
    query = np.sort(rng.integers(data.n_queries, size=n_sessions))
    sessions = np.searchsorted(query, np.arange(data.n_queries + 1))
    # Noise is relative to how much scores differ within queries, so that `moves` means the same for all rankers.
    noise = [moves * deviation_within_lists(data.by_query(each), data.indptr) for each in scores]
    row = np.full((n_sessions, n_shown), -1, np.int64)
    for number, (first, last) in enumerate(zip(sessions[:-1], sessions[1:], strict=True)):
        rows = data.rows(number)
        size = max(1, _BLOCK // len(rows))
        for start in range(int(first), int(last), size):
            stop = min(int(last), start + size)
            ranker = rng.integers(len(scores), size=stop - start)
            given = np.stack([each[rows] for each in scores])[ranker]
            if moves > 0:
                given = given + np.array(noise)[ranker, None] * rng.standard_normal(given.shape, dtype=np.float32)
            row[start:stop, : len(rows)] = rows[_best(given, n_shown)]
    if swaps > 0:
        _swap_neighbours(row, swaps, rng)
    return Pages(query, row)


def _best(scores: Floats, n: int) -> Ints:
    """The columns of the n largest scores of each row, largest first; equal scores keep their order."""
    if scores.shape[1] > 4 * n:
        # Sorted by column, so that the stable sort below keeps the order of equal scores.
        kept = np.sort(np.argpartition(-scores, n, axis=1)[:, :n], axis=1)
        order = np.argsort(-np.take_along_axis(scores, kept, axis=1), axis=1, kind="stable")
        return np.take_along_axis(kept, order, axis=1)
    return np.argsort(-scores, axis=1, kind="stable")[:, :n]


def _swap_neighbours(row: Ints, swaps: float, rng: np.random.Generator) -> None:
    """In a share of the sessions, show one random pair of neighbours in a random order [Radlinski2006]."""
    lengths = (row >= 0).sum(axis=1)
    chosen = np.flatnonzero((rng.random(len(row)) < swaps) & (lengths > 1))
    upper = rng.integers(lengths[chosen] - 1)
    swapped = rng.random(len(chosen)) < 0.5
    at, k = chosen[swapped], upper[swapped]
    row[at, k], row[at, k + 1] = row[at, k + 1], row[at, k]
