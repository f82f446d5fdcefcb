"""The limits between which the values of a feature lie: checked where microseconds count."""

import numpy as np

from swaprank.arrays import Features
from swaprank.kernels import kernel

UNLIMITED: Features = np.empty((2, 0), np.float32)
"""For values that were checked before."""


@kernel
def first_outside(X: Features, limits: Features) -> int:
    """The position of the first value beyond the limits of its feature, counted row by row; -1 if there is none.

    limits: Two rows, the values between which those of a feature lie. NaN, a missing value, is never beyond.

    >>> import numpy as np
    >>> from swaprank.models.value_limits import first_outside
    >>> first_outside(np.array([[0, np.nan], [1, 5]], np.float32), np.array([[-1, -1], [9, 5]], np.float32))
    3
    """
    lower, upper = limits[0], limits[1]
    n_features = len(lower)
    for row in range(len(X)):
        x, is_outside = X[row], False
        for f in range(n_features):  # without a branch, so that it is vectorized
            is_outside |= (x[f] <= lower[f]) | (x[f] >= upper[f])
        if is_outside:
            for f in range(n_features):
                if (x[f] <= lower[f]) | (x[f] >= upper[f]):
                    return int(row * n_features + f)
    return -1
