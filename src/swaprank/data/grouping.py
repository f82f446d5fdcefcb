"""Group rows by query without moving the features.

input rows        0  1  2  3  4  5
qid               b  a  b  b  c  a
order             0  2  3 | 1  5 | 4        rows of b, then a, then c: in order of first appearance
indptr            0         3      5   6    query q has the rows order[indptr[q] : indptr[q + 1]]
"""

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bools, Floats, Ints
from swaprank.data.ids import query_ids
from swaprank.errors import DataError


class Grouping(NamedTuple):
    """The queries of a data set: their ids, bounds and rows."""

    qids: AnyArray
    indptr: Ints
    order: Ints | None
    """None if the input rows are grouped already."""


def ids_of_groups(group: Any, n_rows: int) -> Ints:
    """The query number of every row, from 1, given the number of rows of each query, as LightGBM and XGBoost want it.

    >>> from swaprank.data.grouping import ids_of_groups
    >>> ids_of_groups([2, 1], 3).tolist()
    [1, 1, 2]
    """
    sizes = np.asarray(group)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise DataError(f"group must hold the number of rows of each query, whole numbers; found {group!r:.60}.")
    total = int(sizes.sum())
    if total != n_rows:
        raise DataError(
            f"the sizes in group sum to {total:,}, but X has {n_rows:,} rows. For one query id per row, give qid."
        )
    # Empty groups have no number: they must not change the ids of other queries.
    sizes = sizes[sizes > 0]
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)


def group_rows(qid: Any, n_rows: int) -> Grouping:
    """Group rows by query id: queries in order of first appearance, rows within a query in input order."""
    ids = query_ids(qid, n_rows)
    if n_rows == 0:
        raise DataError("a data set needs at least one document, found none.")
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
    run_ids = ids[starts]
    codes = first_appearance_codes(run_ids)
    if len(codes) == int(codes.max()) + 1:
        return Grouping(run_ids, np.append(starts, n_rows).astype(np.int64), None)
    row_codes = np.repeat(codes, np.diff(np.append(starts, n_rows)))
    order = np.argsort(row_codes, kind="stable").astype(np.int64)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row_codes)))).astype(np.int64)
    return Grouping(ids[order[indptr[:-1]]], indptr, order)


def query_of_row(indptr: Ints, order: Ints | None = None) -> Ints:
    """The query of every row, as a position: for rows grouped by query, or, given an order, for the input rows.

    >>> import numpy as np
    >>> from swaprank.data.grouping import query_of_row
    >>> query_of_row(np.array([0, 2, 3])).tolist(), query_of_row(np.array([0, 2, 3]), np.array([0, 2, 1])).tolist()
    ([0, 0, 1], [0, 1, 0])
    """
    grouped = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if order is None:
        return grouped
    given = np.empty_like(grouped)
    given[order] = grouped
    return given


def first_appearance_codes(ids: AnyArray) -> Ints:
    """Number the distinct ids 0, 1, … in order of first appearance."""
    if ids.dtype.kind not in "iub":
        # Hashing text is several times faster than sorting it.
        keys = ids.tolist()
        if len(set(keys)) == len(keys):
            return np.arange(len(keys))
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return np.fromiter(map(numbers.__getitem__, keys), np.int64, len(keys))
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def longest_list(indptr: Ints) -> int:
    """The number of documents in the longest list."""
    return int(np.diff(indptr).max(initial=0))


def sum_by_query(values: Floats | Bools, indptr: Ints) -> Floats:
    """The sum of each query's values; 0 for a query without documents.

    >>> import numpy as np
    >>> from swaprank.data.grouping import sum_by_query
    >>> sum_by_query(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 2, 3])).tolist()
    [3.0, 0.0, 4.0]
    """
    sums = np.zeros(len(indptr) - 1)
    filled = indptr[:-1] < indptr[1:]
    if filled.any():
        # Empty lists have no rows, so each sum ends where the next list with documents starts.
        sums[filled] = np.add.reduceat(values.astype(np.float64, copy=False), indptr[:-1][filled])
    return sums


def deviation_within_lists(scores: Floats, indptr: Ints) -> float:
    """The root mean square deviation of scores from the mean of their list.

    >>> import numpy as np
    >>> from swaprank.data.grouping import deviation_within_lists
    >>> deviation_within_lists(np.array([1.0, 3.0, 11.0, 13.0]), np.array([0, 2, 4]))
    1.0
    """
    if len(scores) == 0:
        return 0.0
    lengths = np.diff(indptr)
    # Relative to the first score, so that equal scores have a deviation of exactly 0, without rounding.
    difference = scores - scores[np.minimum(indptr[:-1], len(scores) - 1)].repeat(lengths)
    means = sum_by_query(difference, indptr) / np.maximum(lengths, 1)
    return float(np.sqrt(np.mean((difference - means.repeat(lengths)) ** 2)))
