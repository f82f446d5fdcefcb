"""Group rows by query without moving the features, and choose queries.

input rows        0  1  2  3  4  5
qid               b  a  b  b  c  a
order             0  2  3 | 1  5 | 4        rows of b, then a, then c: in order of first appearance
indptr            0         3      5   6    query q has the rows order[indptr[q] : indptr[q + 1]]
"""

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bools, Floats, Ints
from swaprank.data.ids import query_ids
from swaprank.errors import THE_DATA, DataError
from swaprank.seeds import random_generator


class Grouping(NamedTuple):
    """The queries of a data set: their ids, bounds and rows."""

    qids: AnyArray
    indptr: Ints
    order: Ints | None
    """None if the input rows are grouped already."""


class IdRuns(NamedTuple):
    """Query ids, one for each run of adjacent rows of the same query."""

    ids: AnyArray
    starts: Ints
    """The first row of each run."""


def id_runs(ids: AnyArray, starts: Ints | None = None) -> IdRuns:
    """The runs of equal ids, given one id per row; or per run, with the first row of each, if some runs are divided.

    >>> import numpy as np
    >>> from swaprank.data.grouping import id_runs
    >>> id_runs(np.array([7, 7, 12, 7]))
    IdRuns(ids=array([ 7, 12,  7]), starts=array([0, 2, 3]))
    """
    first = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
    return IdRuns(ids[first], first if starts is None else starts[first])


def runs_of_sizes(sizes: Ints) -> IdRuns:
    """Queries that are numbered from 1, given the number of rows of each; empty ones have a number, but no rows.

    >>> import numpy as np
    >>> from swaprank.data.grouping import runs_of_sizes
    >>> runs_of_sizes(np.array([2, 0, 1]))
    IdRuns(ids=array([1, 3]), starts=array([0, 2]))
    """
    filled = np.flatnonzero(sizes)
    return IdRuns(filled + 1, (np.cumsum(sizes) - sizes)[filled])


def runs_of_groups(group: Any, n_rows: int) -> IdRuns:
    """The queries that are given by the number of rows of each, as LightGBM and XGBoost want it.

    >>> from swaprank.data.grouping import runs_of_groups
    >>> runs_of_groups([2, 1], 3)
    IdRuns(ids=array([1, 2]), starts=array([0, 2]))
    """
    sizes = np.asarray(group)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise DataError(f"group must hold the number of rows of each query, whole numbers; found {group!r:.60}.")
    total = int(sizes.sum())
    if total != n_rows:
        raise DataError(
            f"the sizes in group sum to {total:,}, but ",
            THE_DATA,
            f" has {n_rows:,} rows. For one query id per row, give qid.",
        )
    # Empty groups have no number: they must not change the ids of other queries.
    return runs_of_sizes(sizes[sizes > 0].astype(np.int64))


def group_rows(qid: Any, n_rows: int) -> Grouping:
    """Group rows by query id: queries in order of first appearance, rows within a query in input order.

    `qid` is one id per row; or runs of ids, or a grouping, which are not checked.
    """
    if isinstance(qid, Grouping):
        return qid
    ids = qid if isinstance(qid, IdRuns) else query_ids(qid, n_rows)
    if n_rows == 0:
        raise DataError("a data set needs at least one document, found none.")
    runs = ids if isinstance(ids, IdRuns) else id_runs(ids)
    bounds = np.append(runs.starts, n_rows).astype(np.int64)
    codes = first_appearance_codes(runs.ids)
    if len(codes) == int(codes.max()) + 1:
        return Grouping(runs.ids, bounds, None)
    row_codes = np.repeat(codes, np.diff(bounds))
    order = np.argsort(row_codes, kind="stable").astype(np.int64)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row_codes)))).astype(np.int64)
    return Grouping(runs.ids[np.unique(codes, return_index=True)[1]], indptr, order)


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


def order_within(order: Ints, rows: Ints) -> Ints | None:
    """The order of the chosen rows, renumbered; None if they are now grouped by query."""
    new_row = np.full(len(order), -1, np.int64)
    new_row[rows] = np.arange(len(rows))
    renumbered = new_row[order]
    kept: Ints = renumbered[renumbered >= 0]
    return None if (kept[1:] > kept[:-1]).all() else kept


def checked_fractions(fractions: Any) -> Floats:
    """Shares of the queries as an array; DataError unless they are positive and sum to 1."""
    try:
        shares = np.asarray(fractions, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.empty(0)
    if shares.ndim != 1 or len(shares) == 0 or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-9:
        raise DataError(f"fractions must be positive and sum to 1, such as (0.8, 0.2); found {fractions!r}.")
    return shares


def split_queries(n_queries: int, fractions: Any, random_state: int | None) -> list[Ints]:
    """The queries in random parts of about the given fractions, each in ascending order."""
    shares = checked_fractions(fractions)
    cuts = np.rint(np.cumsum(shares) * n_queries).astype(int)
    if (np.diff(cuts, prepend=0) == 0).any():
        raise DataError(f"{n_queries} queries are too few to split into {tuple(fractions)}.")
    shuffled = random_generator(random_state).permutation(n_queries)
    return [np.sort(part) for part in np.split(shuffled, cuts[:-1])]


def chosen_queries(queries: Any, n_queries: int) -> Bools:
    """A mask over queries, from positions, a slice or a mask."""
    if not isinstance(queries, slice):
        queries = np.atleast_1d(queries)
        if len(queries) == 0:
            queries = slice(0)
    try:
        picked: Ints = np.arange(n_queries)[queries]
    except IndexError as error:
        raise DataError(f"there are {n_queries} queries, numbered from 0: {error}.") from None
    if len(picked) == 0:
        raise DataError("a subset needs at least one query, found none.")
    is_chosen = np.zeros(n_queries, np.bool_)
    is_chosen[picked] = True
    if np.count_nonzero(is_chosen) < len(picked):
        raise DataError("a subset may contain each query only once.")
    return is_chosen
