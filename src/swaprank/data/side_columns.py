"""Side columns: named values of rows that are no features, such as the segment, the price or another ranking."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.data.row_values import number_column
from swaprank.errors import DataError, did_you_mean

MISSING = "missing"
"""The value of text that is missing: such rows are a group of their own."""


def checked_columns(given: Mapping[str, Any] | None, n_rows: int, features: Collection[str]) -> dict[str, AnyArray]:
    """The columns by name, one value per row each; none has the name of a feature.

    >>> from swaprank.data.side_columns import checked_columns
    >>> checked_columns({"device": ["phone", None]}, 2, ["bm25"])
    {'device': array(['phone', 'missing'], dtype='<U7')}
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DataError(f"columns must be given by name, such as {{'price': …}}; found {type(given).__name__}.")
    for name in given:
        if not isinstance(name, str) or not name:
            raise DataError(f"the name of a column must be text; found {name!r}.")
        if name in features:
            raise DataError(f"'{name}' is the name of a feature and of a side column: rename one of them.")
    return {name: checked_values(f"column '{name}'", values, n_rows) for name, values in given.items()}


def checked_values(what: str, given: Any, n_rows: int) -> AnyArray:
    """One value per row: numbers, dates or text; missing text has a name."""
    values = np.asarray(given)
    if values.shape != (n_rows,):
        raise DataError(f"{what} must have one value for each of the {n_rows:,} rows, found {values.shape}.")
    if values.dtype.kind == "O":
        found = [MISSING if each is None or each != each else each for each in values.tolist()]
        if all(isinstance(each, str) for each in found):
            return np.array(found, dtype=str)
    if values.dtype.kind not in "iubfUM":
        raise DataError(f"{what} must hold numbers, dates or text, found {values.dtype}.")
    return values


def known_column(columns: Mapping[str, AnyArray], name: str) -> AnyArray:
    """The column of a name; DataError if there is none."""
    if name not in columns:
        known = did_you_mean(name, list(columns)) if columns else "the data has no side columns."
        raise DataError(f"there is no side column '{name}'; {known}")
    return columns[name]


def number_values(columns: Mapping[str, AnyArray], name: str) -> Floats:
    """The finite numbers of a column."""
    values = known_column(columns, name)
    return number_column(f"column '{name}'", values, len(values))


def first_of_groups(what: str, values: AnyArray, indptr: Ints, group: str, ids: AnyArray) -> AnyArray:
    """One value per group, from one per row in the order of the groups; DataError if the rows of a group differ."""
    chosen = values[indptr[:-1]]
    repeated = np.repeat(chosen, np.diff(indptr))
    # A value that differs from itself is missing: NaN, or a date that is not there.
    bad = np.flatnonzero((values != repeated) & ((values == values) | (repeated == repeated)))
    if len(bad):
        at = int(np.searchsorted(indptr, bad[0], side="right")) - 1
        raise DataError(f"{group} {ids[at]} has two values of {what}, {chosen[at]} and {values[bad[0]]}.")
    return chosen


def joined_columns(parts: Sequence[Mapping[str, AnyArray]]) -> dict[str, AnyArray]:
    """The columns that all parts have, one part after the other.

    >>> from swaprank.data.side_columns import joined_columns
    >>> joined_columns([{"a": np.array([1])}, {"a": np.array([2]), "b": np.array([3])}])
    {'a': array([1, 2])}
    """
    common = [name for name in parts[0] if all(name in part for part in parts)]
    return {name: joined_values([part[name] for part in parts]) for name in common}


def joined_values(values: Sequence[AnyArray]) -> AnyArray:
    """The values of one column of several data sets; numbers become text where another has text that is not missing."""
    if any(each.dtype.kind in "iuf" for each in values):
        # The column of a block of CSV without any value is taken for text.
        values = [np.full(len(each), np.nan) if _all_missing(each) else each for each in values]
    if len({each.dtype.kind == "U" for each in values}) > 1:
        values = [each.astype(str) for each in values]
    return np.concatenate(values)


def _all_missing(values: AnyArray) -> bool:
    return values.dtype.kind == "U" and bool((values == MISSING).all())
