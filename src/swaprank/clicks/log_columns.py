"""The columns of a click log, and features joined to it: ids become numbers, and contradictions are errors."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Features, Floats, Ints, row_blocks
from swaprank.data.dataset import Dataset
from swaprank.data.frames import role_columns
from swaprank.data.grouping import first_appearance_codes, query_of_row
from swaprank.data.ids import document_ids
from swaprank.data.row_values import number_column
from swaprank.errors import DataError, Hint, Wording

IDS = ("session", "qid", "docid")
LAST_POSITION = 10_000
"""No page of results has more places; a larger number is most likely another column."""


def shown_documents(session: Any, qid: Any, docid: Any, position: Any) -> tuple[Ints, dict[str, AnyArray]]:
    """Number sessions, queries and (query, document) pairs, sort the rows, and check that they are consistent.

    Returns:
        The input row of each row, sorted by session, then by position; and the fields of `ClickLog` by name.
    """
    n_rows = len(session)
    if n_rows == 0:
        raise DataError("a click log needs at least one row, found none.")
    sessions, session_ids = _numbered(session, n_rows, "session")
    queries, qids = _numbered(qid, n_rows, "qid")
    documents, docids = _numbered(docid, n_rows, "docid")
    places = _positions(position, n_rows)
    order = _sorted_rows(sessions, places)
    sessions, places = sessions[order], places[order]
    _check_one_row_a_place(sessions, places, session_ids)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(sessions)))).astype(np.int64)
    query = queries[order][indptr[:-1]]
    _check_one_query(sessions, query, queries[order], session_ids, qids)
    keys, pair = np.unique(queries * len(docids) + documents, return_inverse=True)
    pair_query, pair_document = np.divmod(keys, len(docids))
    pair = pair[order].astype(np.int64)
    _check_shown_once(sessions, pair, session_ids, docids[pair_document])
    return order, {
        "session": sessions,
        "session_ids": session_ids,
        "indptr": indptr,
        "query": query,
        "qids": qids,
        "document": pair,
        "pair_query": pair_query,
        "pair_docid": docids[pair_document],
        "pair_indptr": np.concatenate(([0], np.cumsum(np.bincount(pair_query, minlength=len(qids))))).astype(np.int64),
        "position": places,
    }


class RoleNames(NamedTuple):
    """The names of the columns of a table by role; None is no column."""

    session: str
    qid: str
    docid: str
    position: str
    click: str
    propensity: str | None = None


def table_columns(
    frame: Any, roles: RoleNames, features: Sequence[str] | None, context: Sequence[str]
) -> dict[str, Any]:
    """The arguments of `ClickLog` from a table, given the names of its columns."""
    if isinstance(context, str):
        raise DataError("context must be a list of column names, found '", context, "'.")
    names = {role: str(name) for role, name in roles._asdict().items() if name is not None}
    ids = {role: names[role] for role in IDS if role != "qid" or roles.qid != roles.session}
    numbers = {role: name for role, name in names.items() if role not in IDS}
    found = role_columns(frame, ids, numbers, features, context)
    # Without a column of its own, every session is a query.
    return {"qid": found["session"], **found}


def numbers_between(name: str, values: Any, n_rows: int, *, above_zero: bool = False) -> Floats:
    """One number from 0 to 1 per row."""
    column = number_column(name, _with_length(name, values, n_rows), n_rows)
    bad = np.flatnonzero((column < 0) | (column > 1) | (above_zero & (column == 0)))
    if len(bad):
        what = "above 0, up to 1" if above_zero else "from 0 to 1; divide grades such as dwell time by the largest"
        raise DataError(f"{name}, row {bad[0]}: {column[bad[0]]:g} was found, but it must be a number {what}.")
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
                f"{pair_name(pair[row])} has different features in rows {first[pair[row]]} and {row}. The features of "
                "a document must not change within a log: name those that do not with ",
                Hint("features", [...], "--features"),
                Wording(", or give features=[] and join them later", ""),
                ".",
            )
    return of_pair


def rows_of_pairs(qids: AnyArray, pair_query: Ints, pair_docid: AnyArray, data: Dataset) -> Ints:
    """The row of each (query, document) pair in a data set. Ids are matched as text: 7 and "7" are the same."""
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
    missing = np.flatnonzero(keys[at] != wanted)
    if len(missing):
        pair = missing[0]
        raise DataError(
            f"the data set lacks {len(missing):,} of the {len(wanted):,} documents of the click log; the first is "
            f"document {pair_docid[pair]} of query {qids[pair_query[pair]]}."
        )
    return rows[at].astype(np.int64)


def _numbered(values: Any, n_rows: int, name: str) -> tuple[Ints, AnyArray]:
    """The number of each row's id in order of first appearance, and the distinct ids."""
    ids = document_ids(_with_length(name, values, n_rows), n_rows, name)
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
    # Only the first row of equal neighbours is hashed: a log is mostly sorted by session.
    codes = first_appearance_codes(ids[starts])
    distinct = np.empty(int(codes.max()) + 1, ids.dtype)
    distinct[codes] = ids[starts]
    return np.repeat(codes, np.diff(np.append(starts, n_rows))), distinct


def _with_length(name: str, values: Any, n_rows: int) -> Any:
    if len(values) != n_rows:
        raise DataError(f"{name} has {len(values):,} values, but session has {n_rows:,}: one per shown document.")
    return values


def _positions(position: Any, n_rows: int) -> NDArray[np.int32]:
    places = number_column("position", _with_length("position", position, n_rows), n_rows)
    bad = np.flatnonzero((places < 1) | (places > LAST_POSITION) | (places != np.round(places)))
    if len(bad):
        found = places[bad[0]]
        advice = " Add 1 to positions that are counted from 0." if found == 0 else ""
        raise DataError(
            f"position, row {bad[0]}: {found:g} was found, but positions are whole numbers from 1 to {LAST_POSITION:,}."
            + advice
        )
    return places.astype(np.int32)


def _sorted_rows(session: Ints, position: NDArray[np.int32]) -> Ints:
    place = session * (LAST_POSITION + 1) + position
    if (place[1:] > place[:-1]).all():
        return np.arange(len(place))
    return np.argsort(place, kind="stable").astype(np.int64)


def _check_one_row_a_place(session: Ints, position: NDArray[np.int32], session_ids: AnyArray) -> None:
    twice = np.flatnonzero((session[1:] == session[:-1]) & (position[1:] == position[:-1]))
    if len(twice):
        raise DataError(
            f"session {session_ids[session[twice[0]]]} has more than one row at position {position[twice[0]]}. A "
            "session is one page of results with one document a place: add up clicks on the same document, and "
            "give every page an id of its own."
        )


def _check_one_query(session: Ints, query: Ints, of_row: Ints, session_ids: AnyArray, qids: AnyArray) -> None:
    bad = np.flatnonzero(of_row != query[session])
    if len(bad):
        at = session[bad[0]]
        raise DataError(
            f"session {session_ids[at]} has rows of two queries, {qids[query[at]]} and {qids[of_row[bad[0]]]}. A "
            "session is one page of results: give every page an id of its own."
        )


def _check_shown_once(session: Ints, pair: Ints, session_ids: AnyArray, pair_docid: AnyArray) -> None:
    keys = np.sort(session * len(pair_docid) + pair)
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        at, document = divmod(int(keys[twice[0]]), len(pair_docid))
        raise DataError(
            f"session {session_ids[at]} shows document {pair_docid[document]} more than once: keep its first place."
        )


def _codes_of_both(first: AnyArray, second: AnyArray) -> tuple[Ints, Ints]:
    """The numbers of ids such that equal ids of both arrays have the same number."""
    same_kind = first.dtype.kind in "iu" and second.dtype.kind in "iu"
    both = (first, second) if same_kind else (first.astype(str), second.astype(str))
    codes = first_appearance_codes(np.concatenate(both))
    return codes[: len(first)], codes[len(first) :]
