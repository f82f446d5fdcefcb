"""Dates of tables as numbers."""

from datetime import date, datetime
from typing import Any

import narwhals as nw
import numpy as np

from swaprank.data.frames import is_frame
from swaprank.errors import DataError


def days_since(table: Any, start: str | date | datetime | np.datetime64) -> Any:
    """The table with days since a date instead of dates, as numbers that may be features; fractions are times of day.

    A ranker that was trained on such a table scores tables that were made in the same way: since the same date, or, if
    the age at the time of the query counts, since the day of each.

    Args:
        table: A pandas, Polars or Arrow table. Its columns of dates and times are replaced, all others stay; a missing
            date becomes a missing number. Times with a time zone are taken in UTC.
        start: The date or time, in UTC, from which days are counted, such as "2026-01-31". Earlier dates are below 0.

    >>> import pandas as pd, swaprank as sr
    >>> published = pd.to_datetime(["2026-01-02 00:00", "2025-12-31 12:00"])
    >>> frame = pd.DataFrame({"bm25": [3.2, 8.1], "published": published})
    >>> sr.data.days_since(frame, "2026-01-01")
       bm25  published
    0   3.2        1.0
    1   8.1       -0.5
    """
    if not is_frame(table):
        raise DataError(f"expected a pandas, Polars or Arrow table, found {type(table).__name__}.")
    given: Any = start
    try:
        zero = np.datetime64(given, "us")
    except ValueError:
        zero = np.datetime64("NaT", "us")
    if np.isnat(zero):
        raise DataError(f"start must be a date such as '2026-01-31', found {start!r}.")
    found = nw.from_native(table)
    frame = found.collect() if isinstance(found, nw.LazyFrame) else found
    dates = [name for name, kind in frame.schema.items() if kind in (nw.Date, nw.Datetime)]
    return frame.with_columns(_days(frame[name], zero) for name in dates).to_native()


def _days(column: nw.Series[Any], zero: np.datetime64) -> nw.Series[Any]:
    if column.dtype == nw.Datetime and column.dtype.time_zone is not None:  # type: ignore[attr-defined]
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    days = (column.to_numpy().astype("M8[us]") - zero) / np.timedelta64(1, "D")
    return nw.new_series(column.name, days, nw.Float64, backend=column.implementation)
