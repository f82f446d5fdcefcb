"""Convert arrays, sparse matrices and tables to a float32 feature matrix, and check it."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from swaprank.arrays import AnyArray, Features
from swaprank.data.categories import Categories, categorical_positions, encoded, listed, recoded
from swaprank.data.dense_features import DenseFeatures, dense
from swaprank.data.frames import check_not_distributed, feature_columns, is_frame
from swaprank.data.matching import check_count, checked_names, numbered_names
from swaprank.data.precision import check_precision, sampled_rows
from swaprank.data.stored_features import StoredFeatures
from swaprank.errors import THE_DATA, DataError, Wording

Coded: TypeAlias = tuple[Features, dict[int, Categories]]
"""A feature matrix, and the categories of each categorical feature by its position."""


def as_features(X: Any) -> Features:
    """X as a checked, C-contiguous float32 matrix; not copied if it is one already.

    Warns if a column loses most of its values in single precision (data/precision.py).
    """
    return _converted(X, None, [])[1]


def given_features(X: Any, called: Any = None, categorical: Any = None) -> StoredFeatures:
    """X as in `as_features`, with its column names and categories.

    Args:
        X: An array, a sparse matrix or a table, whose columns of text are categorical; or features of a data set.
        called: The names of the features if not those of the table, not checked yet.
        categorical: The features that are declared categorical, by name or position.
    """
    if isinstance(X, DenseFeatures):
        _check_finite(X.matrix, X.matrix, X.names)
    if isinstance(X, StoredFeatures):
        return X
    names, matrix, coded = _converted(X, called, listed(categorical))
    return dense(checked_names(names if called is None else called, matrix.shape[1]), matrix, coded)


def replaced_features(stored: StoredFeatures, X: Any) -> StoredFeatures:
    """X as the features of the same rows; an array of as many columns has the names and categories of the columns."""
    found = given_features(X)
    if found.n_rows != stored.n_rows:
        raise DataError(f"features has {found.n_rows:,} rows, but the data set has {stored.n_rows:,}.")
    if found is not X and found.names == numbered_names(len(stored.names)):
        return found._with(names=stored.names, categories=stored.categories)
    return found


def model_features(X: Any, names: Sequence[str], whose: str, categories: Mapping[str, Categories]) -> DenseFeatures:
    """The features of a model, matched by name if X is a table (data/matching.py), with the codes of its categories.

    A category that the model does not know becomes a missing value.

    >>> import pandas as pd
    >>> from swaprank.data.features import model_features
    >>> X = pd.DataFrame({"age": [3, 5, 4], "brand": ["puma", "nike", "asics"]})
    >>> model_features(X, ["brand"], "MART", {"brand": ("asics", "nike")}).values.tolist()
    [[nan], [1.0], [0.0]]
    """
    return dense(names, *model_matrix(X, names, whose, categories))


def model_matrix(
    X: Any, names: Sequence[str], whose: str, categories: Mapping[str, Categories]
) -> tuple[Features, dict[int, Categories]]:
    """The matrix of `model_features`, and the categories by position; for `predict`, where microseconds count."""
    wanted = {at: categories[name] for at, name in enumerate(names) if name in categories} if categories else {}
    _, matrix, found = _converted(X, names, list(wanted), whose)
    for at, known in wanted.items():
        matrix[:, at] = recoded(matrix[:, at], found[at], known)
    return matrix, wanted


def _converted(
    X: Any, names: Any, declared: list[Any], whose: str | None = None
) -> tuple[list[str] | None, Features, dict[int, Categories]]:
    """The column names of a table, None for an array; the matrix, and the categories by position.

    The `names` of features are those that a model, `whose`, expects; or those that the user gives, not checked yet.
    """
    if hasattr(X, "tocsr"):
        return None, *_from_sparse(X, names, declared, whose)
    if isinstance(X, np.ndarray | list | tuple) or not is_frame(X):
        return None, *_from_array(X, names, declared, whose)
    columns, matrix, coded = feature_columns(X, names, declared, whose)
    _check_finite(matrix, matrix, columns)
    return columns, matrix, coded


def _declared(categorical: Any, names: Any, n_features: int) -> dict[int, str]:
    """The names in messages of the columns that are declared categorical; `names` are not checked yet."""
    if not categorical:
        return {}
    named = isinstance(names, Sequence) and len(names) == n_features
    known = [str(name) for name in names] if named else numbered_names(n_features)
    positions = categorical_positions(categorical, known)
    return {at: f"column '{known[at]}'" if named else f"column {at}" for at in positions}


def _check_columns(shape: tuple[int, ...], names: Any, whose: str | None) -> None:
    if shape[1] == 0:
        raise DataError(THE_DATA, f" has 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if whose is not None:
        check_count(len(names), shape[1], whose, THE_DATA)


def _check_numeric(dtype: np.dtype[Any]) -> None:
    """Raise DataError for dates, complex numbers and text, which NumPy would silently convert to floats."""
    if dtype.kind == "c":
        raise DataError("Complex data not supported: ", THE_DATA, f" must hold real numbers, found {dtype}.")
    if dtype.kind not in "biufO":
        raise DataError(THE_DATA, f" must hold numbers (NaN where a value is missing): found {dtype}.")


def _from_array(X: Any, names: Any, categorical: list[Any], whose: str | None) -> Coded:
    """A float32 matrix from an array; `whose` names are the expected features, None if they are not checked yet."""
    if type(X) is np.ndarray and X.dtype == np.float32 and X.ndim == 2 and X.flags.c_contiguous and not categorical:
        # Nothing to convert: the rest would take longer than to score one document.
        _check_columns(X.shape, names, whose)
        _check_finite(X, X)
        return X, {}
    # NumPy makes text of a list of numbers and text.
    kind = object if categorical and isinstance(X, list | tuple) else None
    try:
        given = np.ma.asarray(X) if np.ma.isMaskedArray(X) else np.asarray(X, dtype=kind)
    except ValueError:
        raise DataError(THE_DATA, " must be a table of numbers with rows of equal length.") from None
    if given.ndim != 2:
        check_not_distributed(X)
        raise DataError(
            THE_DATA,
            f" must have two dimensions, documents x features; found shape {given.shape}.",
            Wording(" Reshape your data: one document is X.reshape(1, -1).", ""),
        )
    _check_columns(given.shape, names, whose)
    coded = {at: encoded(given[:, at], where) for at, where in _declared(categorical, names, given.shape[1]).items()}
    if coded:
        given = np.zeros(given.shape, np.float32) if len(coded) == given.shape[1] else given.copy()
        given[:, list(coded)] = 0
    _check_numeric(given.dtype)
    if isinstance(given, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(given)
        given = np.array(given.data, dtype=np.result_type(given.dtype, np.float32))
        given[masked] = np.nan
    features = np.ascontiguousarray(given if given.dtype == np.float32 else _as_float32(given))
    _check_finite(features, given)
    if given.dtype != np.float32 and not np.can_cast(given.dtype, np.float32):
        check_precision(
            _numbers(given[sampled_rows(len(given))]), features, names, column=lambda f: _numbers(given[:, f])
        )
    return _coded(features, coded)


def _coded(features: Features, coded: Mapping[int, tuple[Features, Categories]]) -> Coded:
    for at, (codes, _) in coded.items():
        features[:, at] = codes
    return features, {at: categories for at, (_, categories) in coded.items()}


def _numbers(given: AnyArray) -> AnyArray:
    """Numbers that can be compared: Python objects as float64, with NaN for None."""
    return given.astype(np.float64) if given.dtype == object else given


def _as_float32(given: AnyArray) -> Features:
    try:
        # A value too large for single precision becomes infinite, and _check_finite reports it.
        with np.errstate(over="ignore"):
            return np.asarray(given, dtype=np.float32, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(THE_DATA, f" must hold numbers (NaN where a value is missing): {error}.") from None


def _from_sparse(X: Any, names: Any, categorical: list[Any], whose: str | None) -> Coded:
    """A dense float32 matrix from a scipy.sparse matrix; values that are not stored are 0."""
    if len(X.shape) != 2:
        raise DataError(THE_DATA, f" must have two dimensions, documents x features; found shape {X.shape}.")
    _check_columns(X.shape, names, whose)
    _check_numeric(X.dtype)
    rows = X.tocsr()

    def column(f: int) -> AnyArray:
        values: AnyArray = rows[:, [f]].toarray()[:, 0]
        return values

    coded = {at: encoded(column(at), where) for at, where in _declared(categorical, names, X.shape[1]).items()}
    with np.errstate(over="ignore"):
        features, categories = _coded(rows.astype(np.float32).toarray(order="C"), coded)
    _check_finite(features, features)
    if not np.can_cast(X.dtype, np.float32):
        sample = rows[sampled_rows(len(features))].toarray()
        sample[:, list(coded)] = 0
        check_precision(sample, features, names, column)
    return features, categories


def _check_finite(features: Features, given: AnyArray, names: Sequence[str] = ()) -> None:
    for first in range(0, len(features), 4096):
        infinite = np.isinf(features[first : first + 4096])
        if np.count_nonzero(infinite):  # much faster than `any` for a few rows
            row, column = np.argwhere(infinite)[0].tolist()
            named = f"'{names[column]}'" if len(names) else column
            raise DataError(
                THE_DATA,
                f", row {first + row}, column {named}: {given[first + row, column]} is not finite in single "
                "precision; use NaN for a missing value.",
            )
