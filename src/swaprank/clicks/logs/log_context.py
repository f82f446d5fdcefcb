"""The context of sessions: columns such as the device or the country, with one value per session."""

from collections.abc import Mapping
from typing import Any

from swaprank.arrays import AnyArray, Ints
from swaprank.clicks.logs.log_columns import in_order
from swaprank.data.side_columns import checked_values, first_of_groups
from swaprank.errors import DataError

COLUMNS = ("session", "qid", "docid", "position", "click", "propensity", "shown", "clicks")
"""The columns of a log or of counts in a file: a column of the context has another name."""


def values_of_sessions(
    context: Mapping[str, Any], order: Ints | None, indptr: Ints, session_ids: AnyArray
) -> dict[str, AnyArray]:
    """One value per session, from one per input row; raises DataError if the rows of a session differ.

    `order` has the input row of each row of the log; None if they are the same.
    """
    return {name: _of_sessions(name, values, order, indptr, session_ids) for name, values in context.items()}


def _of_sessions(name: str, given: Any, order: Ints | None, indptr: Ints, session_ids: AnyArray) -> AnyArray:
    values = in_order(checked_context(name, given, int(indptr[-1])), order)
    try:
        return first_of_groups(f"'{name}'", values, indptr, "session", session_ids)
    except DataError as error:
        raise DataError(
            error, " The context has one value per session; what changes within a page is a feature."
        ) from None


def checked_context(name: str, given: Any, n_rows: int) -> AnyArray:
    """One value per row: numbers, dates or text; missing text has a name."""
    if name in COLUMNS:
        raise DataError(f"a column of the context is called '{name}', like a column of the log: rename it.")
    return checked_values(f"context '{name}'", given, n_rows)
