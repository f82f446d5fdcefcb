"""A feature matrix from whatever holds numbers: single precision, row after row, finite or missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Features
from swaprank.errors import DataError

_ROWS_AT_A_TIME = 65_536
"""Checks walk the matrix in blocks, so that no mask of its whole size is ever made."""


def as_features(X: Any) -> Features:
    """X as float32, C-contiguous and checked; the very same memory where it is so already."""
    return features_and_names(X)[0]


def read_only(features: Features) -> Features:
    """A view that cannot be written through, as data sets have it: Numba compiles kernels anew for the other kind."""
    view = features.view()
    view.flags.writeable = False
    return view


def features_and_names(X: Any) -> tuple[Features, tuple[str, ...] | None]:
    """X as `as_features` has it, and the names of its columns if it is a pandas, Polars or Arrow table."""
    if hasattr(X, "tocsr"):
        return _from_sparse(X), None
    if not isinstance(X, np.ndarray | list | tuple):
        from swaprank.data.frames import feature_columns, is_frame

        if is_frame(X):
            features, names = feature_columns(X)
            _refuse_infinite(features, features)
            return features, names
    return _from_array(X), None


def _refuse_what_is_no_number(dtype: np.dtype[Any]) -> None:
    """Dates, complex numbers and text would become floats without a word; none of them is meant so."""
    if dtype.kind not in "biufO":
        raise DataError(f"X must hold numbers (NaN where a value is missing): found {dtype}.")


def _from_array(X: Any) -> Features:
    try:
        given = np.ma.asarray(X) if np.ma.isMaskedArray(X) else np.asarray(X)
    except ValueError:
        raise DataError("X must be a table of numbers, every row as long as the others.") from None
    if given.ndim != 2:
        raise DataError(f"X must have two dimensions, documents x features; found shape {given.shape}.")
    if given.shape[1] == 0:
        raise DataError("X has no features.")
    _refuse_what_is_no_number(given.dtype)
    if isinstance(given, np.ma.MaskedArray):
        features: Features = _as_float32(given.data).copy()
        features[np.ma.getmaskarray(given)] = np.nan
        given = features
    features = np.ascontiguousarray(given if given.dtype == np.float32 else _as_float32(given))
    _refuse_infinite(features, given)
    return features


def _as_float32(given: AnyArray) -> Features:
    try:
        # A value too large for single precision becomes infinite here and is named by the check that follows.
        with np.errstate(over="ignore"):
            return np.asarray(given, dtype=np.float32, order="C")
    except (TypeError, ValueError) as error:
        raise DataError(f"X must hold numbers (NaN where a value is missing): {error}.") from None


def _from_sparse(X: Any) -> Features:
    """Dense float32 from a scipy.sparse matrix: what is not stored is 0."""
    if len(X.shape) != 2:
        raise DataError(f"X must have two dimensions, documents x features; found shape {X.shape}.")
    if X.shape[1] == 0:
        raise DataError("X has no features.")
    _refuse_what_is_no_number(X.dtype)
    with np.errstate(over="ignore"):
        matrix = X.tocsr().astype(np.float32)
    features: Features = matrix.toarray(order="C")
    _refuse_infinite(features, features)
    return features


def _refuse_infinite(features: Features, given: AnyArray) -> None:
    for start in range(0, len(features), _ROWS_AT_A_TIME):
        block = features[start : start + _ROWS_AT_A_TIME]
        # A sum is infinite or NaN wherever a value is, and costs no temporary; only then look closer.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(block.sum(dtype=np.float64)):
                continue
        rows, columns = np.nonzero(np.isinf(block))
        if len(rows):
            row, column = start + int(rows[0]), int(columns[0])
            raise DataError(
                f"X, row {row}, column {column}: {given[row, column]} is not finite in single precision; "
                "use NaN for a missing value."
            )
