"""Dates of tables as numbers of days, for every kind of table."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import swaprank as sr


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "lazy"])
def test_dates_become_days_since(kind: str) -> None:
    times = [datetime(2026, 1, 2), None, datetime(2025, 12, 31, 12)]
    frame = pl.DataFrame(
        {
            "bm25": [1, 2, 3],
            "day": [date(2026, 1, 5), date(2025, 1, 1), None],
            "time": times,
            "zoned": pl.Series(times).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
        }
    )
    made = {"pandas": frame.to_pandas, "polars": frame.clone, "arrow": frame.to_arrow, "lazy": frame.lazy}[kind]()
    found = pl.DataFrame(sr.data.days_since(made, "2026-01-01"))
    assert found.columns == frame.columns
    assert found["bm25"].to_list() == [1, 2, 3]
    np.testing.assert_array_equal(found["day"].to_numpy(), [4, -365, np.nan])
    for name in ("time", "zoned"):
        np.testing.assert_array_equal(found[name].to_numpy(), [1, np.nan, -0.5])


def test_dates_are_refused_with_what_to_do() -> None:
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "day": pd.to_datetime(["2026-01-02", "2026-01-03"])})
    with pytest.raises(sr.errors.DataError, match="days_since"):
        sr.Dataset.from_frame(frame)
    data = sr.Dataset.from_frame(sr.data.days_since(frame, date(2026, 1, 1)))
    assert data.column("day").tolist() == [1, 2]
    for start in ("yesterday", None):
        with pytest.raises(sr.errors.DataError, match="start must be a date"):
            sr.data.days_since(frame, start)  # type: ignore[arg-type]
    with pytest.raises(sr.errors.DataError, match="expected a pandas, Polars or Arrow table"):
        sr.data.days_since([[1.0]], "2026-01-01")
