"""Preferences between rows: which of two documents of a query should rank above the other, and how sure that is."""

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints, contiguous_floats, contiguous_ints
from swaprank.data.grouping import query_of_row
from swaprank.errors import DataError


class Pairs(NamedTuple):
    """Preferences between rows of one query: `above` ranks over `below` with `probability`, and counts `weight`.

    >>> import swaprank as sr
    >>> sr.Dataset([[1.0], [2.0]], [0, 0], qid=[1, 1], pairs=[(1, 0, 0.9)]).pairs
    Pairs(above=array([1]), below=array([0]), probability=array([0.9]), weight=array([1.]))
    """

    above: Ints
    below: Ints
    probability: Floats
    weight: Floats


class PairLists(NamedTuple):
    """The pairs of a data set grouped by query, between documents that are numbered query after query."""

    indptr: Ints
    """Query q has the pairs from indptr[q] to indptr[q + 1]."""
    above: Ints
    below: Ints
    probability: Floats
    weight: Floats


def check_pairs(pairs: Any, indptr: Ints, order: Ints | None) -> Pairs:
    """Check pairs given as rows of (i, j), (i, j, probability) or (i, j, probability, weight); there may be none."""
    try:
        table = np.array(pairs, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty(1)
    if table.shape == (0,):
        table = table.reshape(0, 4)
    if table.ndim != 2 or table.shape[1] not in (2, 3, 4):
        raise DataError(
            "pairs must be rows of (i, j), (i, j, probability) or (i, j, probability, weight), all of the same length."
        )
    rows, n_rows = table[:, :2], int(indptr[-1])

    def raise_if(bad: Any, why: str) -> None:
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise DataError(f"pairs, entry {at}: {tuple(table[at].tolist())} {why}.")

    raise_if(~(np.isfinite(rows) & (rows == np.round(rows))).all(axis=1), "must give rows as integers")
    raise_if(~((rows >= 0) & (rows < n_rows)).all(axis=1), f"names a row outside 0 to {n_rows - 1}")
    above, below = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
    probability = table[:, 2].copy() if table.shape[1] > 2 else np.ones(len(table))
    weight = table[:, 3].copy() if table.shape[1] > 3 else np.ones(len(table))
    query = query_of_row(indptr, order)
    raise_if(above == below, "pairs a row with itself")
    raise_if(query[above] != query[below], "pairs rows of different queries")
    raise_if(~((probability >= 0) & (probability <= 1)), "has a probability outside 0 to 1")
    raise_if(~((weight >= 0) & (weight < np.inf)), "has a weight that is not a finite number from 0")
    return Pairs(above, below, probability, weight)


def pairs_within(pairs: Pairs, rows: Ints, n_rows: int) -> Pairs:
    """The pairs among the chosen rows, renumbered. The rows are whole queries, so checking `above` is enough."""
    new_row = np.full(n_rows, -1, np.int64)
    new_row[rows] = np.arange(len(rows))
    kept = new_row[pairs.above] >= 0
    return Pairs(new_row[pairs.above[kept]], new_row[pairs.below[kept]], pairs.probability[kept], pairs.weight[kept])


def pairs_in_order(pairs: Pairs, order: Ints) -> Pairs:
    """The same pairs, in an order that depends on the places of their documents only.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.data.pairs import pairs_in_order
    >>> data = sr.Dataset([[1], [2], [3]], [0, 0, 0], qid=[5, 5, 5], pairs=[(2, 1), (0, 1), (0, 2)])
    >>> pairs_in_order(data.pairs, np.array([0, 2, 1])).below.tolist()
    [2, 1, 1]
    """
    place = np.argsort(order)
    chosen = np.lexsort((pairs.weight, pairs.probability, place[pairs.below], place[pairs.above]))
    return Pairs(pairs.above[chosen], pairs.below[chosen], pairs.probability[chosen], pairs.weight[chosen])


def pairs_by_query(pairs: Pairs, indptr: Ints, order: Ints | None) -> PairLists:
    """The pairs of a data set, given how its rows are grouped; the pairs of a document keep their order.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.data.pairs import pairs_by_query
    >>> data = sr.Dataset([[1], [2], [3], [4]], [0, 0, 0, 0], qid=[5, 6, 5, 6], pairs=[(3, 1), (0, 2)])
    >>> lists = pairs_by_query(data.pairs, data.indptr, data.order)
    >>> lists.indptr.tolist(), lists.above.tolist(), lists.below.tolist()
    ([0, 1, 2], [0, 3], [1, 2])
    """
    place = np.arange(int(indptr[-1])) if order is None else np.argsort(order)
    by_query = np.argsort(place[pairs.above], kind="stable")
    above, below = place[pairs.above][by_query], place[pairs.below][by_query]
    return PairLists(
        contiguous_ints(np.searchsorted(above, indptr)),
        contiguous_ints(above),
        contiguous_ints(below),
        contiguous_floats(pairs.probability[by_query]),
        contiguous_floats(pairs.weight[by_query]),
    )


def pairs_of_labels(labels: Floats, indptr: Ints) -> PairLists:
    """All pairs of different labels, the larger one first, from labels grouped by query.

    >>> import numpy as np
    >>> from swaprank.data.pairs import pairs_of_labels
    >>> lists = pairs_of_labels(np.array([0.0, 2.0, 1.0]), np.array([0, 3]))
    >>> lists.above.tolist(), lists.below.tolist()
    ([1, 1, 2], [0, 2, 0])
    """
    bounds = list(zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True))
    below: list[Ints] = []
    for a, b in bounds:
        # Documents of one label share their list of what is below, so that memory grows with the pairs, not with n².
        levels, level_of = np.unique(labels[a:b], return_inverse=True)
        below_level = [a + np.flatnonzero(labels[a:b] < level) for level in levels]
        below.extend(below_level[level] for level in level_of)
    counts = np.array([len(each) for each in below], np.int64)
    ends = np.concatenate(([0], np.cumsum(counts)))[indptr]
    ones = np.ones(int(ends[-1]))
    above = np.repeat(np.arange(len(labels)), counts)
    return PairLists(contiguous_ints(ends), contiguous_ints(above), contiguous_ints(np.concatenate(below)), ones, ones)
