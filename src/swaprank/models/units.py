"""Features as linear models take them: nothing missing, and weights in units of each feature's deviation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats
from swaprank.data.dataset import Dataset

_ROWS_AT_A_TIME = 8192


class Units(NamedTuple):
    """What a weight is multiplied by, feature by feature, and what stands for a missing value.

    A linear model learns weights of standardised features, but is given the features as they are: their means move all
    scores alike and change no order, and their deviations can as well be divided into the weights.
    """

    factor: Floats
    """One over the deviation; 0 for a feature that does not vary."""
    missing: Features
    """The mean."""


def units_of(features: Features, standardize: bool) -> Units:
    """The units of these rows; factors of 1 if not standardised.

    >>> import numpy as np
    >>> from swaprank.models.units import units_of
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]], dtype=np.float32)
    >>> units_of(X, standardize=True)
    Units(factor=array([1., 0.]), missing=array([2., 5.], dtype=float32))
    """
    n_features = features.shape[1]
    count, mean, squares = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)
    least, most = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    for start in range(0, len(features), _ROWS_AT_A_TIME):
        block = features[start : start + _ROWS_AT_A_TIME].astype(np.float64)
        np.fmin(least, np.fmin.reduce(block), out=least)
        np.fmax(most, np.fmax.reduce(block), out=most)
        known = ~np.isnan(block)
        n = known.sum(axis=0)
        here = np.where(known, block, 0.0).sum(axis=0) / np.maximum(n, 1)
        block -= here
        block[~known] = 0.0
        # Means and squares of two parts give those of both [Chan et al. 1979].
        ahead, total = here - mean, np.maximum(count + n, 1.0)
        squares += np.einsum("ij,ij->j", block, block) + ahead**2 * count * n / total
        mean += ahead * n / total
        count += n
    factor = np.ones(n_features)
    if standardize:
        deviation = np.sqrt(squares / np.maximum(count, 1.0))
        # Deviations below single precision are those of features that do not vary but for rounding.
        varies = (most > least) & (deviation > np.finfo(np.float32).tiny)
        factor = np.divide(1.0, deviation, out=np.zeros(n_features), where=varies)
    return Units(factor, mean.astype(np.float32))


def fill(features: Features, missing: Features) -> Features:
    """The features with missing values filled in; the very same memory where none is missing."""
    for start in range(0, len(features), _ROWS_AT_A_TIME):
        if np.isnan(features[start : start + _ROWS_AT_A_TIME]).any():
            return np.where(np.isnan(features), missing, features)
    return features


def rows_by_query(data: Dataset, missing: Features) -> Features:
    """A data set's features query after query, filled in; copied only if that is needed."""
    features = data.features if data.order is None else data.features[data.order]
    return fill(features, missing)
