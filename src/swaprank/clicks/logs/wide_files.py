"""Click logs in the wide form: a row for each page, with its documents in order and its clicks."""

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.clicks.logs.table_files import TableRoles, columns_by_role
from swaprank.data.id_numbers import Numbered
from swaprank.data.ids import integers_or_text
from swaprank.errors import DataError, Row, did_you_mean
from swaprank.reading.tables import is_separated, polars_table

_MARKS = re.compile(r"[\s,;|\[\]()'\"]+")
"""What separates the items of a list in text."""


def wide_columns(
    file: Path, session: str, qid: str, documents: str, clicks: str, context: Sequence[str]
) -> dict[str, Any]:
    """The arguments of `ClickLog` from a file with one row per page. Without a column of sessions, each row is one."""
    table: Any = polars_table(file, [session, qid, documents, clicks], [session, qid, documents, clicks, *context])
    for what, name in (("documents", documents), ("clicks", clicks)):
        if name not in table.columns:
            raise DataError(
                f"there is no column '{name}' with the {what} of a page; {did_you_mean(name, table.columns)}"
            )
    if session not in table.columns:
        table = table.with_row_index(session)
    shown = [_items(value) for value in table[documents].to_list()]
    values = _clicks(shown, [_items(value) for value in table[clicks].to_list()])
    sizes = np.array([len(page) for page in shown])
    # Pages without results have nothing to be clicked.
    filled = sizes > 0
    ids = {"session": session} if session == qid else {"session": session, "qid": qid}
    columns = columns_by_role(table.filter(filled), TableRoles(ids, {}, (), context), is_separated(file))
    sizes = sizes[filled]
    found: dict[str, Any] = {role: _repeated(columns[role], sizes) for role in ids}
    found["docid"] = integers_or_text(np.array(list(chain.from_iterable(shown)), dtype=str))
    found["position"] = np.concatenate([np.arange(1, size + 1) for size in sizes] or [np.empty(0, np.int64)])
    found["click"] = values
    if context:
        found["context"] = {name: np.repeat(column, sizes) for name, column in columns["context"].items()}
    return found


def _items(value: Any) -> list[str]:
    """The items of a list, or of text such as `a b c` or `["a", "b"]`; none of what is missing."""
    if value is None:
        return []
    if isinstance(value, str):
        return [item for item in _MARKS.split(value) if item]
    items = value if isinstance(value, list) else [value]
    return [str(int(item) if isinstance(item, bool) else item) for item in items]


def _repeated(column: AnyArray | Numbered, sizes: AnyArray) -> AnyArray | Numbered:
    if isinstance(column, Numbered):
        return column._replace(number=np.repeat(column.number, sizes))
    return np.repeat(column, sizes)


def _clicks(shown: list[list[str]], given: list[list[str]]) -> Floats:
    """The click on each document. Clicks are one number from 0 to 1 per document, clicked documents, or positions.

    The whole column decides which of these they are, because a single page may fit two.
    """
    pages = [(row, page, marks) for row, (page, marks) in enumerate(zip(shown, given, strict=True)) if marks]
    if all(len(marks) == len(page) and all(map(_is_grade, marks)) for _, page, marks in pages):
        return np.array(
            [float(mark) for page, marks in zip(shown, given, strict=True) for mark in marks or ["0"] * len(page)]
        )
    are_documents = all(set(marks) <= set(page) for _, page, marks in pages)
    are_positions = all(_is_place(mark, len(page)) for _, page, marks in pages for mark in marks)
    if are_documents and are_positions:
        raise DataError(
            "the clicks may be documents or positions, because all document ids are small numbers: give a list of 0 "
            "and 1 for each page instead."
        )
    if are_positions:
        return _marked(
            [{page[int(mark) - 1] for mark in marks} for page, marks in zip(shown, given, strict=True)], shown
        )
    if not are_documents:
        row, page, marks = next(each for each in pages if not set(each[2]) <= set(each[1]))
        raise DataError(
            Row(row),
            f": the clicks {' '.join(marks)[:40]} fit none of its {len(page)} documents {' '.join(page)[:40]}."
            " Clicks are the clicked documents of a page, or their positions from 1, or one number from 0 to 1 for "
            "each document, the same in all rows.",
        )
    return _marked([set(marks) for marks in given], shown)


def _marked(clicked: list[set[str]], shown: list[list[str]]) -> Floats:
    return np.array([float(item in marks) for page, marks in zip(shown, clicked, strict=True) for item in page])


def _is_grade(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def _is_place(text: str, n_places: int) -> bool:
    return text.isdecimal() and 1 <= int(text) <= n_places
