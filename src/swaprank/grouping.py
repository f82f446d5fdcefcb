"""Rows in any order, grouped by query: which rows belong to which query, without moving a feature.

rows as given     0  1  2  3  4  5
qid               b  a  b  b  c  a
order             0  2  3 | 1  5 | 4        rows of b, then of a, then of c: queries as they first appear
indptr            0         3      5   6    query q owns order[indptr[q] : indptr[q + 1]]
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Ints
from swaprank.errors import DataError


class Grouping(NamedTuple):
    """The queries of a data set: their ids, their bounds, and the rows in each."""

    qids: AnyArray
    indptr: Ints
    order: Ints | None
    """None where the rows came grouped, so that nothing need be permuted."""


def group_rows(qid: Any, n_rows: int) -> Grouping:
    """Group rows by query id, stably: queries as they first appear, rows within one as they were given."""
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


def query_ids(qid: Any, n_rows: int) -> AnyArray:
    """Query ids as an array that can be compared: integers or text as they are, anything larger as objects."""
    if qid is None:
        raise DataError("qid is needed: one query id for every row of X.")
    ids = np.asarray(qid)
    if ids.ndim != 1:
        raise DataError(f"qid must be one id for every row, found an array of shape {ids.shape}.")
    if len(ids) != n_rows:
        raise DataError(f"qid has {len(ids):,} values, but X has {n_rows:,} rows.")
    if ids.dtype.kind == "f":
        return _whole_numbers(ids)
    if ids.dtype.kind == "O":
        return _objects(ids)
    if ids.dtype.kind not in "iubUST":
        raise DataError(f"query ids must be integers or text, found {ids.dtype}.")
    return ids


def first_appearance_codes(ids: AnyArray) -> Ints:
    """Number the distinct ids 0, 1, … in the order in which they first appear."""
    if ids.dtype.kind == "O":
        seen: dict[Any, int] = {}
        return np.fromiter((seen.setdefault(x, len(seen)) for x in ids), np.int64, len(ids))
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _whole_numbers(ids: AnyArray) -> Ints:
    bad = np.flatnonzero(~np.isfinite(ids) | (ids != np.round(ids)) | (np.abs(ids) >= 2.0**63))
    if len(bad):
        raise DataError(f"row {bad[0]}: {ids[bad[0]]} is not a query id: give integers or text.")
    return ids.astype(np.int64)


def _objects(ids: AnyArray) -> AnyArray:
    """Python objects: text stays text, integers beyond 64 bits stay Python integers."""
    kinds = {type(x) for x in ids}
    for row, value in enumerate(ids):
        if not isinstance(value, str | bytes | int | np.integer):
            raise DataError(f"row {row}: {value!r} is not a query id: give integers or text.")
    if kinds <= {str}:
        return ids.astype(str)
    return ids
