"""One number per row: labels, weights, base scores."""

from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.data.scores import LARGEST_SCORE
from swaprank.errors import DataError


def number_column(name: str, values: Any, n_rows: int) -> Floats:
    """One finite number per row, as float64."""
    try:
        masked = isinstance(values, np.ma.MaskedArray)
        given: AnyArray = np.ma.filled(values.astype(np.float64), np.nan) if masked else np.asarray(values)
        if given.dtype.kind in "mMc":
            # NumPy would convert dates to numbers and drop imaginary parts.
            raise TypeError(f"found {given.dtype}")
        column = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers: {error}.") from None
    if column.ndim != 1:
        raise DataError(f"{name} must have one value per row, found an array of shape {column.shape}.")
    if len(column) != n_rows:
        raise DataError(f"{name} has {len(column):,} values, but X has {n_rows:,} rows.")
    bad = np.flatnonzero(~np.isfinite(column))
    if len(bad):
        raise DataError(f"{name}, row {bad[0]}: {column[bad[0]]} is not a finite number.")
    return column


def base_scores(values: Any, n_rows: int) -> Floats:
    """Scores that training starts from, one per row."""
    scores = number_column("base_score", values, n_rows)
    row = int(np.abs(scores).argmax())
    if abs(scores[row]) > LARGEST_SCORE:
        raise DataError(f"base_score, row {row}: {scores[row]} is too large; the largest score is {LARGEST_SCORE:g}.")
    return scores
