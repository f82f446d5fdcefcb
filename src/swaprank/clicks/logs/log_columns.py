"""The columns of a click log, and features joined to it: ids become numbers, and contradictions are errors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Features, Floats, Ints, row_blocks
from swaprank.clicks.logs.table_files import TableRoles
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import first_appearance_codes, query_of_row
from swaprank.data.id_numbers import Numbered, numbered_ids, numbered_keys, row_count
from swaprank.data.row_values import number_column
from swaprank.errors import DataError, Hint, Part, Row, Wording
from swaprank.kernels import kernel

_ANY_CLICK = Hint("binary", True, "--binary")
IDS = ("session", "qid", "docid")
LAST_POSITION = 10_000
"""No page of results has more places; a larger number is most likely another column."""


def shown_documents(session: Any, qid: Any, docid: Any, position: Any) -> tuple[Ints | None, dict[str, AnyArray]]:
    """Number sessions, queries and (query, document) pairs, sort the rows, and check that they are consistent.

    Returns:
        The input row of each row, sorted by session, then by position, None if they are in this order; and the fields
        of `ClickLog` by name.
    """
    n_rows = row_count(session)
    if n_rows == 0:
        raise DataError("a click log needs at least one row, found none.")
    sessions = _numbered("session", session, n_rows)
    queries = sessions if qid is session else _numbered("qid", qid, n_rows)
    documents = _numbered("docid", docid, n_rows)
    places = checked_positions(position, n_rows)
    order, of_session, places = _sorted_rows(sessions.number, places)
    _check_one_row_a_place(of_session, places, sessions.ids)
    pair, keys = _numbered_pairs(queries, documents)
    of_query, pair = in_order(queries.number, order), in_order(pair, order)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(of_session)))).astype(np.int64)
    query = of_query[indptr[:-1]].astype(np.int64)
    _check_one_query(of_session, query, of_query, sessions.ids, queries.ids)
    pair_query, pair_document = np.divmod(keys, len(documents.ids))
    _check_shown_once(indptr, pair, sessions.ids, documents.ids[pair_document])
    counts = np.bincount(pair_query, minlength=len(queries.ids))
    return order, {
        "session_ids": sessions.ids,
        "indptr": indptr,
        "query": query,
        "qids": queries.ids,
        "document": pair.astype(np.int64),
        "pair_query": pair_query,
        "pair_docid": documents.ids[pair_document],
        "pair_indptr": np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        "position": places,
    }


def in_order(values: AnyArray, order: Ints | None) -> AnyArray:
    """Values of the input rows in the order of the log's rows."""
    return values if order is None else values[order]


def _numbered_pairs(queries: Numbered, documents: Numbered) -> tuple[NDArray[np.int32], Ints]:
    """The number of each row's (query, document) pair, and the keys of the pairs, by which they are sorted."""
    n_documents = len(documents.ids)
    found = numbered_keys(
        lambda rows: queries.number[rows].astype(np.int64) * n_documents + documents.number[rows], len(queries.number)
    )
    by_key = np.argsort(found.ids)
    rank = np.empty(len(by_key), np.int32)
    rank[by_key] = np.arange(len(by_key))
    return rank[found.number], found.ids[by_key]


def table_roles(
    names: Mapping[str, str], propensity: str | None, features: Sequence[str] | None, context: Sequence[str]
) -> TableRoles:
    """The roles of the columns of a log in a table, given their names by role."""
    if isinstance(context, str):
        raise DataError(f"context must be a list of column names, found '{context}'.")
    ids = {role: str(names[role]) for role in IDS if role != "qid" or names["qid"] != names["session"]}
    numbers = {"propensity": propensity} if propensity is not None else {}
    numbers |= {role: str(names[role]) for role in ("position", "click")}
    return TableRoles(ids, numbers, features, context)


def with_qid(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns of a log in which, without a column of its own, every session is a query."""
    return {"qid": columns["session"], **columns}


def checked_clicks(click: Any, n_rows: int, binary: bool) -> Floats:
    """One click per row, from 0 to 1; with `binary`, any number above 0 is 1."""
    column = number_column("click", _with_length("click", click, n_rows), n_rows)
    if column.min() < 0 or (not binary and column.max() > 1):
        row = int(np.argmax((column < 0) | (column > 1)))
        raise DataError(
            "click, ",
            Row(row),
            f": {column[row]:g} was found, but it must be a number from 0 to 1. For numbers of clicks, any of which is "
            "a click, give ",
            _ANY_CLICK,
            "; divide grades such as dwell time by the largest.",
        )
    return (column > 0).astype(np.float64) if binary else column


def numbers_between(name: str, values: Any, n_rows: int, *, above_zero: bool = False) -> Floats:
    """One number from 0 to 1 per row, such as a probability."""
    column = number_column(name, _with_length(name, values, n_rows), n_rows)
    if column.min() < 0 or column.max() > 1 or (above_zero and column.min() == 0):
        row = int(np.argmax((column < 0) | (column > 1) | (above_zero & (column == 0))))
        what = "above 0, up to 1" if above_zero else "from 0 to 1"
        raise DataError(f"{name}, ", Row(row), f": {column[row]:g} was found, but it must be a number {what}.")
    return column


def features_of_pairs(features: Features, pair: Ints, n_pairs: int, pair_name: Any) -> Features:
    """The features of each pair, given those of every row; raises DataError if rows of one pair differ.

    `pair_name` gives the words for a pair in an error.
    """
    first = np.full(n_pairs, -1, np.int64)
    first[pair[::-1]] = np.arange(len(pair))[::-1]
    of_pair = features[first]
    for rows in row_blocks(len(pair), 65_536):
        same = features[rows] == of_pair[pair[rows]]
        same |= np.isnan(features[rows]) & np.isnan(of_pair[pair[rows]])
        bad = np.flatnonzero(~same.all(axis=1))
        if len(bad):
            row = rows.start + int(bad[0])
            raise DataError(
                f"{pair_name(pair[row])} has different features in ",
                Row(int(first[pair[row]])),
                " and ",
                Row(row),
                ". The features of a document must not change within a log: name those that do not with ",
                Hint("features", [...], "--features"),
                Wording(", or give features=[] and join them later", ""),
                ". If they describe the session, such as its time or user, let every page be a query of its own: ",
                Wording("give the session as qid, too, and train with session_data", "--qid with the session's column"),
                ".",
            )
    return of_pair


def rows_of_pairs(
    qids: AnyArray, pair_query: Ints, pair_docid: AnyArray, data: Dataset, *, may_lack: bool = False
) -> Ints:
    """The row of each (query, document) pair in a data set. Ids are matched as text: 7 and "7" are the same.

    If the data set may lack some but not all documents, their row is -1.
    """
    if data.docid is None:
        raise DataError("a click log is joined by document ids, but this data set has none: read it with document ids.")
    query, row_query = _codes_of_both(qids, data.qids)
    document, row_document = _codes_of_both(pair_docid, data.docid)
    n_documents = int(max(document.max(), row_document.max())) + 1
    wanted = query[pair_query] * n_documents + document
    found = row_query[query_of_row(data.indptr, data.order)] * n_documents + row_document
    rows = np.argsort(found, kind="stable")
    keys = found[rows]
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        first, second = rows[twice[0]], rows[twice[0] + 1]
        raise DataError(f"rows {first} and {second} of the data set are the same document of the same query: keep one.")
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    lacks = keys[at] != wanted
    if lacks.all() or (lacks.any() and not may_lack):
        pair = int(np.argmax(lacks))
        advice: tuple[Part, ...] = (": are query ids and document ids of the same kind?",)
        if not lacks.all():
            drop, nan = Hint("missing", "drop"), Hint("missing", "nan")
            advice = (". Leave out such rows with ", drop, ", or let their features be missing with ", nan, ".")
        raise DataError(
            f"the data set lacks {np.count_nonzero(lacks):,} of the {len(wanted):,} documents of the click log; the "
            f"first is document {pair_docid[pair]} of query {qids[pair_query[pair]]}",
            *advice,
        )
    return np.where(lacks, -1, rows[at]).astype(np.int64)


def _numbered(name: str, values: Any, n_rows: int) -> Numbered:
    return numbered_ids(name, _with_length(name, values, n_rows), n_rows)


def _with_length(name: str, values: Any, n_rows: int) -> Any:
    if row_count(values) != n_rows:
        raise DataError(f"{name} has {row_count(values):,} values, but session has {n_rows:,}: one per shown document.")
    return values


def checked_positions(position: Any, n_rows: int) -> NDArray[np.int32]:
    """Whole numbers from 1, one per row."""
    given = _with_length("position", position, n_rows)
    whole = isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind in "iu" and type(given) is np.ndarray
    # Integers need no copy in double precision.
    places: AnyArray = given if whole else number_column("position", given, n_rows)
    if places.min() < 1 or places.max() > LAST_POSITION or not (whole or (places == np.round(places)).all()):
        row = int(np.argmax((places < 1) | (places > LAST_POSITION) | (places != np.round(places))))
        advice = " Add 1 to positions that are counted from 0." if places[row] == 0 else ""
        raise DataError(
            "position, ",
            Row(row),
            f": {places[row]:g} was found, but positions are whole numbers from 1 to {LAST_POSITION:,}.{advice}",
        )
    return places.astype(np.int32)


def _sorted_rows(
    session: NDArray[np.int32], position: NDArray[np.int32]
) -> tuple[Ints | None, NDArray[np.int32], NDArray[np.int32]]:
    """The rows by session and position, with these two columns in this order."""
    same = session[1:] == session[:-1]
    if ((session[1:] > session[:-1]) | (same & (position[1:] > position[:-1]))).all():
        return None, session, position
    order = np.argsort(session.astype(np.int64) * (LAST_POSITION + 1) + position, kind="stable").astype(np.int64)
    return order, session[order], position[order]


def _check_one_row_a_place(session: AnyArray, position: AnyArray, session_ids: AnyArray) -> None:
    twice = (session[1:] == session[:-1]) & (position[1:] == position[:-1])
    if twice.any():
        row = int(np.argmax(twice))
        raise DataError(
            f"session {session_ids[session[row]]} has more than one row at position {position[row]}. A "
            "session is one page of results with one document a place: for two clicks on the same document, keep "
            "one row with their number, and give ",
            _ANY_CLICK,
            "; and give every page an id of its own.",
        )


def _check_one_query(session: AnyArray, query: Ints, of_row: AnyArray, session_ids: AnyArray, qids: AnyArray) -> None:
    bad = of_row != query.astype(np.int32)[session]
    if bad.any():
        row = int(np.argmax(bad))
        at = session[row]
        raise DataError(
            f"session {session_ids[at]} has rows of two queries, {qids[query[at]]} and {qids[of_row[row]]}. A "
            "session is one page of results: give every page an id of its own."
        )


def _check_shown_once(indptr: Ints, pair: NDArray[np.int32], session_ids: AnyArray, pair_docid: AnyArray) -> None:
    session, row = _first_repeated(indptr, pair, np.full(len(pair_docid), -1, np.int32))
    if row >= 0:
        raise DataError(
            f"session {session_ids[session]} shows document {pair_docid[pair[row]]} more than once: keep its first "
            "place."
        )


@kernel
def _first_repeated(indptr: Ints, pair: NDArray[np.int32], last: NDArray[np.int32]) -> tuple[int, int]:
    """The first session and row with a pair that was in the session before; -1 if there is none."""
    for session in range(len(indptr) - 1):
        for row in range(indptr[session], indptr[session + 1]):
            if last[pair[row]] == session:
                return session, row
            last[pair[row]] = session
    return -1, -1


def _codes_of_both(first: AnyArray, second: AnyArray) -> tuple[Ints, Ints]:
    """The numbers of ids such that equal ids of both arrays have the same number."""
    same_kind = first.dtype.kind in "iu" and second.dtype.kind in "iu"
    both = (first, second) if same_kind else (first.astype(str), second.astype(str))
    codes = first_appearance_codes(np.concatenate(both))
    return codes[: len(first)], codes[len(first) :]
