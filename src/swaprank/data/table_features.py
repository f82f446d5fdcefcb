"""The columns of a table as features: numbers as they are, and text and declared columns as numbers of categories."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.arrays import Features, Floats, row_blocks
from swaprank.data.categories import CATEGORICAL, Categories, encoded, not_numbers_advice
from swaprank.data.precision import Merged, count_merged, sampled_rows, suspicious_columns, warn_of_merged
from swaprank.errors import DataError, SwaprankWarning, Wording, warn_user

if TYPE_CHECKING:
    import narwhals as nw

_MANY = 1000
"""Text with fewer different values may be categories, even if they do not repeat."""


def table_features(
    table: nw.DataFrame[Any],
    names: list[str],
    declared: Sequence[int],
    *,
    of_model: bool = False,
    every: bool = False,
    huge_is_missing: bool = False,
) -> tuple[Features, dict[int, Categories]]:
    """Copy columns into one float32 matrix, in blocks of rows, so that no float64 copy of a column is made.

    Text is categorical, unless a model has numbers there; and so are the declared columns.
    """
    import narwhals as nw

    if (
        not declared
        and all(table[name].dtype == nw.Float32 for name in names)
        and nw.dependencies.is_polars_dataframe(native := table.select(names).to_native())
    ):
        # As a whole, this takes Polars a fifth of the time.
        return native.to_numpy(order="c", writable=True), {}
    exact = (nw.Float32, nw.Boolean, nw.Int8, nw.Int16, nw.UInt8, nw.UInt16)
    X, found, categories = np.empty((len(table), len(names)), np.float32), list[Merged](), dict[int, Categories]()
    for k, name in enumerate(names):
        column = table[name]
        if k in declared or (not of_model and column.dtype in (nw.String, nw.Categorical, nw.Enum)):
            X[:, k], categories[k] = _categories(column)
            if k not in declared:
                _warn_of_titles(name, len(categories[k]), int(np.isfinite(X[:, k]).sum()))
            continue
        if column.null_count() == len(column):
            X[:, k] = np.nan
            continue
        if column.dtype == nw.Object and (numbers := _numbers_of_objects(column)) is not None:
            with np.errstate(over="ignore"):
                X[:, k] = numbers
            continue
        if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
            advice = ("leave it out, or encode it.",) if of_model else not_numbers_advice(name, from_all=every)
            if column.dtype in (nw.Date, nw.Datetime):
                advice = (Wording("sr.data.days_since(table, '2026-01-31') makes numbers of dates; or ", ""), *advice)
            raise DataError(f"column '{name}' holds {column.dtype}{_example(column)}, not numbers: ", *advice)
        for rows in row_blocks(len(table), 65_536):
            X[rows, k] = _with_nan(column[rows], huge_is_missing)
        lost = None if column.dtype in exact else _merged(column, X[:, k])
        found += [] if lost is None else [lost]
    warn_of_merged(found)
    return X, categories


def _warn_of_titles(name: str, n_categories: int, n_values: int) -> None:
    """Warn about text that hardly ever repeats: a title or an id is no category."""
    if n_categories >= _MANY and 2 * n_categories > n_values:
        warn_user(
            SwaprankWarning(
                f"column '{name}' is text with {n_categories:,} different values in {n_values:,} rows, and is taken "
                f"for a categorical feature: leave it out if it is a title, name it as docid if it is an id, or "
                "declare it with ",
                CATEGORICAL,
                ".",
            )
        )


def _categories(column: nw.Series[Any]) -> tuple[Features, Categories]:
    """The codes of a column, and its categories."""
    import narwhals as nw

    missing = column.is_null().to_numpy()
    if column.dtype == nw.String or "128" in str(column.dtype):
        # NumPy would give every text the room of the longest, and has no 128-bit integers.
        values = np.array(column.to_list(), dtype=object)
    elif column.dtype.is_integer():
        # Integers with nulls would become floats.
        values = column.fill_null(0).to_numpy()
    else:
        values = column.to_numpy()
    return encoded(values, f"column '{column.name}'", missing)


def _merged(column: nw.Series[Any], kept: Features) -> Merged | None:
    """The loss of a column in single precision; None if it is small."""
    import narwhals as nw

    rows = sampled_rows(len(kept))
    some = column if rows.step == 1 else column.gather_every(rows.step)
    name, sample = f"'{column.name}'", some.cast(nw.Float64).to_numpy()
    if not suspicious_columns(sample, kept[rows]) or count_merged(name, sample, kept[rows]) is None:
        return None
    return count_merged(name, column.cast(nw.Float64).to_numpy(), kept)


def _numbers_of_objects(column: nw.Series[Any]) -> Floats | None:
    """A column of Python numbers and None, as pandas makes it of mixed values; None if there is something else."""
    values = [np.nan if value is None else value for value in column.to_list()]
    if not all(isinstance(value, Number) and not isinstance(value, complex) for value in values):
        return None
    return np.array([float(value) for value in values])


def _example(column: nw.Series[Any]) -> str:
    given = np.flatnonzero(~column.is_null().to_numpy())
    return f" (row {given[0]}: '{str(column[int(given[0])])[:40]}')" if len(given) else ""


def _with_nan(column: nw.Series[Any], huge_is_missing: bool) -> Features:
    """Numbers as float32, with NaN for nulls."""
    import narwhals as nw

    values = column.cast(nw.Float64).to_numpy()
    # A value beyond single precision becomes infinite, and the data set reports its row and column.
    with np.errstate(over="ignore"):
        single: Features = values.astype(np.float32)
    if huge_is_missing:
        single[np.isinf(single) & np.isfinite(values)] = np.nan
    return single
