"""Click logs in the schema of User Behavior Insights (UBI), as OpenSearch stores them: queries and events.

A query has a `query_id`, the `user_query`, and if the search engine logged them, the ids of its results in their order:
`query_response_hit_ids`, or `query_response_object_ids` in version 1.0. An event has an `action_name`, the `query_id`
that it followed, and in `event_attributes` an `object.object_id` and a `position.ordinal`. The schema counts ordinals
from 1, while the tools of OpenSearch count from 0 since 2025: if there is a 0, all of them are from 0.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from swaprank.data.side_columns import MISSING
from swaprank.errors import DataError, SwaprankWarning, warn_user
from swaprank.files import content_suffix
from swaprank.reading.tables import polars_table
from swaprank.reading.text_files import text_lines

_LINES = (".jsonl", ".ndjson", ".json")
_HITS = ("query_response_object_ids", "query_response_hit_ids")
_SHOWN = ("impression", "view")
"""Actions that say what was shown where, for queries whose results were not logged; the first that there is."""


class _Event(NamedTuple):
    where: str
    action: str
    page: str
    document: str
    ordinal: Any


class _Page:
    """The results of one query_id."""

    def __init__(self, query: str, context: dict[str, Any]) -> None:
        self.query, self.context = query, context
        self.position: dict[str, int] = {}
        self.clicked: set[str] = set()


def ubi_columns(files: Sequence[Path], actions: Sequence[str], context: Sequence[str]) -> dict[str, Any]:
    """The arguments of `ClickLog` from files of queries and events, in any order. A page is a query_id."""
    pages, events = dict[str, _Page](), list[_Event]()
    for where, record in _records(files):
        page, text = _value(record, "query_id"), _value(record, "user_query")
        if "action_name" not in record:
            _add_query(pages, where, record, context)
        elif page is not None:
            events.append(_event(where, record))
            if text is not None and str(page) not in pages:
                pages[str(page)] = _Page(_normal(text), _context(record, context))
    _add_shown(pages, events)
    lost = _add_clicks(pages, [event for event in events if event.action in actions], actions)
    columns = _columns(pages, context)
    if lost:
        n_clicks = sum(event.action in actions for event in events)
        warn_user(
            SwaprankWarning(
                f"{lost:,} of {n_clicks:,} clicks are on documents that their query did not show: left out."
            )
        )
    return columns


def _records(files: Iterable[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Queries and events, with the words for their place in a file."""
    for file in files:
        if content_suffix(file) == ".parquet":
            rows: Iterable[tuple[str, Any]] = (
                (f"{file}, row {number}", row)
                for number, row in enumerate(polars_table(file, []).iter_rows(named=True))
            )
        elif content_suffix(file) in _LINES:
            rows = ((f"{file}, line {number}", _parsed(file, number, line)) for number, line in text_lines(file))
        else:
            raise DataError(f"{file}: UBI data is in JSON lines or Parquet: {', '.join((*_LINES, '.parquet'))}.")
        for where, row in rows:
            if not isinstance(row, dict):
                raise DataError(
                    f"{where}: expected an object of JSON with a query or an event, found {str(row)[:40]!r}."
                )
            # Exports wrap what was stored, and files for bulk loading have a line with the index before each record.
            record = row["_source"] if isinstance(row.get("_source"), dict) else row
            if record and not record.keys() <= {"index", "create"}:
                yield (
                    where,
                    {name: value for name, value in record.items() if name != "action_name" or value is not None},
                )


def _parsed(file: Path, number: int, line: str) -> Any:
    if not line.strip():
        return {}
    try:
        return json.loads(line)
    except ValueError as error:
        raise DataError(f"{file}, line {number} is not JSON: {error}. Expected one object on each line.") from None


def _add_query(pages: dict[str, _Page], where: str, record: dict[str, Any], context: Sequence[str]) -> None:
    """Add a query. Another response to the same query_id, its next page, continues the list."""
    page, text = _value(record, "query_id"), _value(record, "user_query")
    for name, value in (("query_id", page), ("user_query", text)):
        if value is None:
            raise DataError(f"{where}: a query needs a {name}; an event needs an action_name.")
    shown: Any = next((value for name in _HITS if (value := _value(record, name)) is not None), [])
    if not isinstance(shown, list):
        raise DataError(f"{where}: the ids of the results must be a list, found {str(shown)[:40]!r}.")
    known = pages.setdefault(str(page), _Page(_normal(text), {}))
    known.query, known.context = _normal(text), known.context | _context(record, context)
    for document in shown:
        known.position.setdefault(str(document), len(known.position) + 1)


def _event(where: str, record: dict[str, Any]) -> _Event:
    document = _value(record, "event_attributes.object.object_id")
    return _Event(
        where,
        str(record["action_name"]),
        str(_value(record, "query_id")),
        "" if document is None else str(document),
        _value(record, "event_attributes.position.ordinal"),
    )


def _add_shown(pages: dict[str, _Page], events: Sequence[_Event]) -> None:
    """Give pages without logged results the documents of their impressions."""
    without = {name for name, page in pages.items() if not page.position}
    words = next((word for word in _SHOWN if any(event.action == word for event in events)), "")
    shown = [event for event in events if event.action == words and event.page in without and event.document]
    for event in shown:
        if not isinstance(event.ordinal, int) or event.ordinal < 0:
            raise DataError(
                f"{event.where}: an {words} needs a whole number event_attributes.position.ordinal, found "
                f"{event.ordinal!r}: its query has no {_HITS[1]}, so that this is its only place."
            )
    first = min((event.ordinal for event in events if isinstance(event.ordinal, int)), default=1)
    for event in shown:
        # A document that was scrolled into view twice was shown once.
        pages[event.page].position.setdefault(event.document, event.ordinal + (1 if first == 0 else 0))


def _add_clicks(pages: dict[str, _Page], clicks: Sequence[_Event], actions: Sequence[str]) -> int:
    """Mark what was clicked; returns the number of clicks on what was not shown."""
    if not clicks:
        raise DataError(f"there is no event with a query_id and the action {' or '.join(actions)}.")
    lost = 0
    for event in clicks:
        page = pages.get(event.page)
        if page is None or event.document not in page.position:
            lost += 1
        else:
            page.clicked.add(event.document)
    return lost


def _columns(pages: dict[str, _Page], context: Sequence[str]) -> dict[str, Any]:
    rows = [(name, page, document) for name, page in pages.items() for document in page.position]
    if not rows:
        raise DataError(f"no query shows a document: log {_HITS[1]}, or events with the action impression.")
    found: dict[str, Any] = {
        "session": [name for name, _, _ in rows],
        "qid": [page.query for _, page, _ in rows],
        "docid": [document for _, _, document in rows],
        "position": [page.position[document] for _, page, document in rows],
        "click": [document in page.clicked for _, page, document in rows],
    }
    if context:
        found["context"] = {name: [page.context.get(name, MISSING) for _, page, _ in rows] for name in context}
    return found


def _context(record: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Fields of a record, or of its query_attributes, as text."""
    found = {name: _value(record, name, f"query_attributes.{name}") for name in names}
    return {name: str(value) for name, value in found.items() if value is not None}


def _value(record: dict[str, Any], *paths: str) -> Any:
    """The first value that is not null at one of the paths: nested objects, or a column of that name in a table."""
    for path in paths:
        value: Any = record
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        value = record.get(path) if value is None else value
        if value is not None:
            return value
    return None


def _normal(text: Any) -> str:
    """A query in lower case with single spaces: the same words are the same query."""
    return " ".join(str(text).lower().split())
