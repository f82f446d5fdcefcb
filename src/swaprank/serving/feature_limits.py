"""The check of rows that a service scores: no infinite value, and no code beyond the categories of a feature."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from swaprank.arrays import Features
from swaprank.data.categories import Categories
from swaprank.errors import DataError
from swaprank.kernels import kernel


class FeatureLimits(NamedTuple):
    """Values of a feature lie between two limits, without these; NaN is a missing value."""

    lower: Features
    upper: Features

    @classmethod
    def of(cls, names: Sequence[str], categories: Mapping[str, Categories]) -> Self:
        """Infinity for numbers; for categories, their codes, which are numbers from 0.

        >>> from swaprank.serving.feature_limits import FeatureLimits
        >>> FeatureLimits.of(["brand", "price"], {"brand": ("asics", "nike")}).upper
        array([ 2., inf], dtype=float32)
        """
        lower = [-1 if name in categories else -np.inf for name in names]
        upper = [len(categories[name]) if name in categories else np.inf for name in names]
        return cls(np.array(lower, np.float32), np.array(upper, np.float32))

    def check(self, X: Features, names: Sequence[str]) -> None:
        """Raise DataError for the first value beyond the limits."""
        outside = first_outside(X, *self)
        if outside < 0:
            return
        row, feature = divmod(outside, len(names))
        where, value = f"document {row}, feature '{names[feature]}'", X[row, feature]
        if np.isinf(value):
            raise DataError(f"{where}: {value} is not finite in single precision; use NaN for a missing value.")
        raise DataError(
            f"{where}: {value:g} is not the code of a category, a whole number below {self.upper[feature]:.0f}; use "
            "NaN for a missing value, and the scorer's `row` or `rows` for categories as they were in training."
        )


@kernel
def first_outside(X: Features, lower: Features, upper: Features) -> int:
    """The position of the first value beyond the limits of its feature, counted row by row; -1 if there is none."""
    n_features = X.shape[1]
    for row in range(len(X)):
        x, is_outside = X[row], False
        for f in range(n_features):  # without a branch, so that it is vectorized
            is_outside |= (x[f] <= lower[f]) | (x[f] >= upper[f])
        if is_outside:
            for f in range(n_features):
                if (x[f] <= lower[f]) | (x[f] >= upper[f]):
                    return int(row * n_features + f)
    return -1
