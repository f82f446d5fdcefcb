"""Features as linear models take them: nothing missing, and weights in units of each feature's deviation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats
from swaprank.dataset import Dataset
from swaprank.net.scaling import fit_scaling

_ROWS_AT_A_TIME = 65_536


class Units(NamedTuple):
    """What a weight is multiplied by, feature by feature, and what stands for a missing value.

    A linear model learns weights of standardised features, but is given the features as they are: their means move all
    scores alike and change no order, and their deviations can as well be divided into the weights.
    """

    factor: Floats
    """One over the deviation; 0 for a feature that does not vary."""
    missing: Features
    """The mean."""


def units_of(features: Features, standardize: bool, n_threads: int | None = None) -> Units:
    """The units of these rows; factors of 1 if not standardised.

    >>> import numpy as np
    >>> from swaprank.linear.features import units_of
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]], dtype=np.float32)
    >>> units_of(X, standardize=True)
    Units(factor=array([1., 0.]), missing=array([2., 5.], dtype=float32))
    """
    scaling = fit_scaling(features, np.zeros(features.shape[1], np.bool_), standardize, n_threads)
    missing = scaling.mean if standardize else scaling.missing
    return Units(scaling.factor.astype(np.float64), np.where(np.isfinite(missing), missing, np.float32(0)))


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
