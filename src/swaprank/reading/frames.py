"""Columns of a table, whichever library made it, in the roles that a data set gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Features
from swaprank.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import narwhals as nw

_ROWS_AT_A_TIME = 65_536


class Columns(NamedTuple):
    """What `Dataset` takes, as arrays."""

    X: Features
    label: AnyArray
    qid: AnyArray
    names: tuple[str, ...]
    roles: dict[str, AnyArray | None]


def columns_of(
    frame: Any, *, label: str, qid: str, features: Sequence[str] | None, roles: Mapping[str, str | None]
) -> Columns:
    """Take a pandas, Polars or Arrow table apart; features are all columns without another role, if not named.

    >>> import pandas as pd
    >>> from swaprank.reading.frames import columns_of
    >>> frame = pd.DataFrame({"qid": ["a", "a"], "label": [0, 1], "age": [3, None], "new": [True, False]})
    >>> columns = columns_of(frame, label="label", qid="qid", features=None, roles={"docid": None})
    >>> columns.names, columns.X.tolist()
    (('age', 'new'), [[3.0, 1.0], [nan, 0.0]])
    """
    table = _table(frame)
    taken = [label, qid, *(column for column in roles.values() if column is not None)]
    names = [name for name in table.columns if name not in taken] if features is None else list(features)
    for name in (*taken, *names):
        if name not in table.columns:
            raise DataError(f"there is no column '{name}'; {did_you_mean(name, table.columns)}")
    if not names:
        raise DataError(f"the table has no feature columns beside {', '.join(taken)}.")
    return Columns(
        X=_features(table, names, every=features is None),
        label=_numbers(table[label], label),
        qid=_ids(table[qid], qid),
        names=tuple(names),
        roles={role: None if name is None else _role(table[name], name, role) for role, name in roles.items()},
    )


def _table(frame: Any) -> nw.DataFrame[Any]:
    import narwhals as nw

    try:
        table = nw.from_native(frame)
    except TypeError:
        raise DataError(f"expected a pandas, Polars or Arrow table, found {type(frame).__name__}.") from None
    return table.collect() if isinstance(table, nw.LazyFrame) else table


def _features(table: nw.DataFrame[Any], names: list[str], every: bool) -> Features:
    """Column by column into one float32 matrix, a few rows at a time: no wider copy of it ever exists."""
    X = np.empty((len(table), len(names)), np.float32)
    for k, name in enumerate(names):
        column = table[name]
        if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
            advice = "give features=[…] without it" if every else "leave it out of features"
            raise DataError(f"column '{name}' holds {column.dtype}, not numbers: {advice}, or encode it.")
        for start in range(0, len(table), _ROWS_AT_A_TIME):
            part = column[start : start + _ROWS_AT_A_TIME]
            X[start : start + len(part), k] = _with_nan(part)
    return X


def _with_nan(column: nw.Series[Any]) -> AnyArray:
    """Numbers, with NaN for nulls."""
    import narwhals as nw

    # Beyond single precision a value becomes infinite, which the data set refuses by row and column.
    with np.errstate(over="ignore"):
        return column.cast(nw.Float64).to_numpy().astype(np.float32)


def _numbers(column: nw.Series[Any], name: str) -> AnyArray:
    if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
        raise DataError(f"column '{name}' holds {column.dtype}, not numbers.")
    import narwhals as nw

    _refuse_nulls(column, name)
    return column.cast(nw.Float64).to_numpy()


def _ids(column: nw.Series[Any], name: str) -> AnyArray:
    """Integers as they are, anything else as text."""
    _refuse_nulls(column, name)
    if column.dtype.is_integer() or column.dtype.is_float():
        return column.to_numpy()
    return np.array([str(value) for value in column.to_list()])


def _role(column: nw.Series[Any], name: str, role: str) -> AnyArray:
    return _ids(column, name) if role == "docid" else _numbers(column, name)


def _refuse_nulls(column: nw.Series[Any], name: str) -> None:
    empty = np.flatnonzero(column.is_null().to_numpy())
    if len(empty):
        raise DataError(f"column '{name}', row {empty[0]}: the value is missing.")
