"""The context of sessions: columns such as the device or the country, with one value per session."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Ints
from swaprank.clicks.logs.log_columns import in_order
from swaprank.errors import DataError

COLUMNS = ("session", "qid", "docid", "position", "click", "propensity", "shown", "clicks")
"""The columns of a log or of counts in a file: a column of the context has another name."""
MISSING = "missing"
"""The value of text that is missing: such sessions are a group of their own."""


def values_of_sessions(
    context: Mapping[str, Any], order: Ints | None, indptr: Ints, session_ids: AnyArray
) -> dict[str, AnyArray]:
    """One value per session, from one per input row; raises DataError if the rows of a session differ.

    `order` has the input row of each row of the log; None if they are the same.
    """
    return {name: _of_sessions(name, values, order, indptr, session_ids) for name, values in context.items()}


def _of_sessions(name: str, given: Any, order: Ints | None, indptr: Ints, session_ids: AnyArray) -> AnyArray:
    values = in_order(checked_context(name, given, int(indptr[-1])), order)
    chosen = values[indptr[:-1]]
    repeated = np.repeat(chosen, np.diff(indptr))
    # A value that differs from itself is missing: NaN, or a date that is not there.
    bad = np.flatnonzero((values != repeated) & ((values == values) | (repeated == repeated)))
    if len(bad):
        session = int(np.searchsorted(indptr, bad[0], side="right")) - 1
        raise DataError(
            f"session {session_ids[session]} has two values of '{name}', {chosen[session]} and {values[bad[0]]}. "
            "The context has one value per session; what changes within a page is a feature."
        )
    return chosen


def checked_context(name: str, given: Any, n_rows: int) -> AnyArray:
    """One value per row: numbers, dates or text; missing text has a name."""
    if name in COLUMNS:
        raise DataError(f"a column of the context is called '{name}', like a column of the log: rename it.")
    values = np.asarray(given)
    if values.shape != (n_rows,):
        raise DataError(f"context '{name}' must have one value for each of the {n_rows:,} rows, found {values.shape}.")
    if values.dtype.kind == "O":
        found = [MISSING if each is None or each != each else each for each in values.tolist()]
        if all(isinstance(each, str) for each in found):
            return np.array(found, dtype=str)
    if values.dtype.kind not in "iubfUM":
        raise DataError(f"context '{name}' must hold numbers, dates or text, found {values.dtype}.")
    return values
