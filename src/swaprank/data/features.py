"""Convert arrays, sparse matrices and tables to a float32 feature matrix, and check it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Features, row_blocks
from swaprank.data.frames import feature_columns, is_frame
from swaprank.data.matching import check_count
from swaprank.data.precision import check_precision, sampled_rows
from swaprank.errors import DataError


def as_features(X: Any, names: Sequence[str] | None = None, whose: str = "the model") -> Features:
    """X as a checked, C-contiguous float32 matrix; not copied if it is one already.

    If the names of a model's features are given, these features, matched by name (data/matching.py). Warns if a column
    loses most of its values in single precision (data/precision.py).
    """
    return features_and_names(X, names, whose, names)[0]


def read_only(array: AnyArray) -> AnyArray:
    """A read-only view, as in data sets: Numba compiles a kernel again for a writeable array."""
    view = array.view()
    view.flags.writeable = False
    return view


def features_and_names(
    X: Any, names: Sequence[str] | None = None, whose: str = "the model", called: Any = None
) -> tuple[Features, tuple[str, ...] | None]:
    """X as in `as_features`, and its column names if it is a pandas, Polars or Arrow table.

    `called`: what the columns of an array are called in a warning, not checked yet.
    """
    if not isinstance(X, np.ndarray | list | tuple) and not hasattr(X, "tocsr") and is_frame(X):
        features, found = feature_columns(X, names, whose)
        _check_finite(features, features)
        return features, found
    features = _from_sparse(X, called) if hasattr(X, "tocsr") else _from_array(X, called)
    if names is not None:
        check_count(len(names), features.shape[1], whose, "X")
    return features, None


def _check_columns(shape: tuple[int, ...]) -> None:
    if shape[1] == 0:
        raise DataError(f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def _check_numeric(dtype: np.dtype[Any]) -> None:
    """Raise DataError for dates, complex numbers and text, which NumPy would silently convert to floats."""
    if dtype.kind == "c":
        raise DataError(f"Complex data not supported: X must hold real numbers, found {dtype}.")
    if dtype.kind not in "biufO":
        raise DataError(f"X must hold numbers (NaN where a value is missing): found {dtype}.")


def _from_array(X: Any, names: Any) -> Features:
    try:
        given = np.ma.asarray(X) if np.ma.isMaskedArray(X) else np.asarray(X)
    except ValueError:
        raise DataError("X must be a table of numbers with rows of equal length.") from None
    if given.ndim != 2:
        raise DataError(
            f"X must have two dimensions, documents x features; found shape {given.shape}. Reshape your data: one "
            "document is X.reshape(1, -1)."
        )
    _check_columns(given.shape)
    _check_numeric(given.dtype)
    if isinstance(given, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(given)
        given = np.array(given.data, dtype=np.result_type(given.dtype, np.float32))
        given[masked] = np.nan
    features = np.ascontiguousarray(given if given.dtype == np.float32 else _as_float32(given))
    _check_finite(features, given)
    if not np.can_cast(given.dtype, np.float32):
        check_precision(
            _numbers(given[sampled_rows(len(given))]), features, names, column=lambda f: _numbers(given[:, f])
        )
    return features


def _numbers(given: AnyArray) -> AnyArray:
    """Numbers that can be compared: Python objects as float64, with NaN for None."""
    return given.astype(np.float64) if given.dtype == object else given


def _as_float32(given: AnyArray) -> Features:
    try:
        # A value too large for single precision becomes infinite, and _check_finite reports it.
        with np.errstate(over="ignore"):
            return np.asarray(given, dtype=np.float32, order="C")
    except (TypeError, ValueError) as error:
        raise DataError(f"X must hold numbers (NaN where a value is missing): {error}.") from None


def _from_sparse(X: Any, names: Any) -> Features:
    """A dense float32 matrix from a scipy.sparse matrix; values that are not stored are 0."""
    if len(X.shape) != 2:
        raise DataError(f"X must have two dimensions, documents x features; found shape {X.shape}.")
    _check_columns(X.shape)
    _check_numeric(X.dtype)
    rows = X.tocsr()
    with np.errstate(over="ignore"):
        features: Features = rows.astype(np.float32).toarray(order="C")
    _check_finite(features, features)
    if not np.can_cast(X.dtype, np.float32):
        check_precision(
            rows[sampled_rows(len(features))].toarray(), features, names, column=lambda f: rows[:, [f]].toarray()[:, 0]
        )
    return features


def _check_finite(features: Features, given: AnyArray) -> None:
    for rows in row_blocks(len(features), 65_536):
        block = features[rows]
        # The sum is finite only if all values are, and needs no temporary array.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(block.sum(dtype=np.float64)):
                continue
        infinite = np.argwhere(np.isinf(block))
        if len(infinite):
            row, column = rows.start + int(infinite[0, 0]), int(infinite[0, 1])
            raise DataError(
                f"X, row {row}, column {column}: {given[row, column]} is not finite in single precision; "
                "use NaN for a missing value."
            )
