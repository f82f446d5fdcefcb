"""Which queries and rows a part of a data set has."""

from typing import Any

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.errors import DataError


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
