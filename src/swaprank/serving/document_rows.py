"""The rows of features that a service scores: made of values by name, and checked."""

from collections.abc import Container, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple, Self, final

import numpy as np

from swaprank.arrays import Features, Ints
from swaprank.data.categories import OTHERS, Categories, encoded
from swaprank.errors import DataError, did_you_mean
from swaprank.kernels import kernel


def check_numbers(rows: Sequence[Any], named: Sequence[str], categorical: Container[str]) -> None:
    """Raise DataError for true, false and text among the numbers of rows as JSON has them.

    >>> from swaprank.serving.document_rows import check_numbers
    >>> check_numbers([[0.5, None], [1, True]], ["bm25", "age"], categorical=[])
    Traceback (most recent call last):
    ...
    swaprank.errors.DataError: document 1, feature 'age': True is not a number; use None for a missing value.
    """
    for number, row in enumerate(rows):
        if {*map(type, row)} <= _NUMBERS:
            continue
        for name, value in zip(named, row, strict=False):
            if isinstance(value, str | bytes | bool | np.bool_) and name not in categorical:
                raise DataError(
                    f"document {number}, feature '{name}': {value!r} is not a number; use None for a missing value."
                )


_NUMBERS = {float, int, type(None)}


@final
class NamedRows:
    """The places of features in a row, and the codes of their categories.

    >>> from swaprank.serving.document_rows import NamedRows
    >>> rows = NamedRows(["brand", "price"], {"brand": ("asics", "nike")})
    >>> rows.row({"brand": "nike"}).tolist()
    [1.0, nan]
    """

    def __init__(self, names: Sequence[str], categories: Mapping[str, Categories]) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self._codes = {name: {text: code for code, text in enumerate(texts)} for name, texts in categories.items()}

    def row(self, document: Mapping[str, Any]) -> Features:
        """One row: NaN for features that are not named, None, or a category that the ranker does not know."""
        row: list[float] = [np.nan] * len(self._places)
        for name, value in document.items():
            place = self._places.get(name)
            if place is None:
                raise DataError(f"there is no feature '{name}'; {did_you_mean(str(name), self._places)}")
            if name in self._codes:
                row[place] = self._code(name, value)
            elif type(value) not in (bool, np.bool_) and isinstance(value, Real):
                row[place] = _number(value)
            elif value is not None:
                raise DataError(f"feature '{name}': {value!r} is not a number; use None for a missing value.")
        with np.errstate(over="ignore"):  # Too large for single precision becomes infinite: `predict` reports it.
            return np.array(row, np.float32)

    def _code(self, name: str, value: Any) -> float:
        if isinstance(value, str):
            texts: Categories = (value,)
        else:
            _, texts = encoded(np.array([value], dtype=object), f"feature '{name}'")
        codes = self._codes[name]
        return codes.get(texts[0], codes.get(OTHERS, np.nan)) if texts else np.nan


def _number(value: Real) -> float:
    """Infinity for a whole number that is too large, as for any other: `predict` reports it."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


class FeatureLimits(NamedTuple):
    """Values of a feature lie between two limits, without these; NaN is a missing value."""

    names: Sequence[str]
    limits: Features
    """The lower limits, and the upper ones."""
    categorical: Ints
    """The positions of features whose values are whole numbers."""

    @classmethod
    def of(cls, names: Sequence[str], categories: Mapping[str, Categories]) -> Self:
        """Infinity for numbers; for categories, their codes, which are numbers from 0.

        >>> from swaprank.serving.document_rows import FeatureLimits
        >>> FeatureLimits.of(["brand", "price"], {"brand": ("asics", "nike")}).limits.tolist()
        [[-1.0, -inf], [2.0, inf]]
        """
        lower = [-1 if name in categories else -np.inf for name in names]
        upper = [len(categories[name]) if name in categories else np.inf for name in names]
        categorical = [at for at, name in enumerate(names) if name in categories]
        return cls(names, np.array([lower, upper], np.float32), np.array(categorical, np.int64))

    def error(self, X: Features, outside: int) -> DataError:
        """The error for the value at this position, counted row by row."""
        row, feature = divmod(outside, len(self.names))
        where, value = f"document {row}, feature '{self.names[feature]}'", X[row, feature]
        if np.isinf(value):
            return DataError(f"{where}: {value} is not finite in single precision; use NaN for a missing value.")
        return DataError(
            f"{where}: {value:g} is not the code of a category, a whole number below {self.limits[1, feature]:.0f}; "
            "use NaN for a missing value, and the scorer's `row` or `rows` for categories as they were in training."
        )


@kernel
def first_fraction(X: Features, columns: Ints) -> int:
    """The position of the first number that is not whole in some columns, counted row by row; -1 if there is none."""
    for row in range(len(X)):
        for f in columns:
            x = X[row, f]
            if (x == x) & (x != np.floor(x)):
                return int(row * X.shape[1] + f)
    return -1
