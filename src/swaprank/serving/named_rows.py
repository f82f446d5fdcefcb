"""Rows of features from values by name, as a request has them."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, final

import numpy as np

from swaprank.arrays import Features
from swaprank.data.categories import Categories, encoded
from swaprank.errors import DataError, did_you_mean


@final
class NamedRows:
    """The places of features in a row, and the codes of their categories.

    >>> from swaprank.serving.named_rows import NamedRows
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
            elif isinstance(value, Real):
                row[place] = _number(value)
            elif value is not None:
                raise DataError(f"feature '{name}': {value!r} is not a number; use None for a missing value.")
        with np.errstate(over="ignore"):  # A value too large for single precision becomes infinite: `score` reports it.
            return np.array(row, np.float32)

    def _code(self, name: str, value: Any) -> float:
        if isinstance(value, str):
            return self._codes[name].get(value, np.nan)
        _, texts = encoded(np.array([value], dtype=object), f"feature '{name}'")
        return self._codes[name].get(texts[0], np.nan) if texts else np.nan


def _number(value: Real) -> float:
    """Infinity for a whole number that is too large, as for any other: `score` reports it."""
    try:
        return float(value)
    except OverflowError:
        return np.inf
