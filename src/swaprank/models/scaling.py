"""Scaling of features: standardization, logarithms of counts, and the mean for missing values.

    x  ─►  sign(x) log(1 + |x|), for some features  ─►  (x - mean) / standard deviation  ─►  missing values filled in

Scaled features are not stored. Each block of rows is scaled when it is used, which takes little time beside the net.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bools, Features, Floats, Ints, Reals, read_only, row_blocks
from swaprank.kernels import kernel
from swaprank.threads import row_chunks, run_in_threads, thread_count

MAX_SCALED = 1e9
"""Scaled values are clipped at ± this, so that finite features give finite scores."""

_BLOCK_ROWS = 512
"""Rows per block of statistics. Blocks are added in the same order for any number of threads."""

_FILL_ROWS = 8192
_LN2 = 0.6931471805599453


class Scaling(NamedTuple):
    """The scaling of each feature, as arrays for kernels."""

    logged: Bools
    """True for features that are replaced by sign(x) log(1 + |x|)."""
    mean: Features
    factor: Features
    """1 / standard deviation; 0 for constant features."""
    missing: Features
    """Replaces a missing value, after scaling."""


@kernel
def signed_log(x: float) -> float:
    """sign(x) log(1 + |x|) in single precision, without a function call, so that loops over it vectorize.

    1 + |x| = 2^k m with m in [1, 2), read from the bits; log m = 2 artanh s = 2 (s + s³/3 + …) with s = (m-1) / (m+1).
    """
    size = abs(x)
    bits = np.float64(1.0 + size).view(np.int64)
    k = np.int32((bits >> 52) - 1023)
    m = np.int64((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    # For k = 0, m - 1 is |x| without the digits that were lost in 1 + |x|.
    s = (size if k == 0 else m - 1.0) / (m + 1.0)
    q = s * s
    series = 1 / 9 + q * (1 / 11 + q * (1 / 13 + q * (1 / 15 + q * (1 / 17))))
    series = 1.0 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * series)))
    value = k * _LN2 + 2.0 * s * series
    # NaN stays NaN: the bits of a NaN would give a number.
    signed: float = value if x >= 0.0 else (-value if x < 0.0 else x)
    return signed


@kernel
def take_rows(features: Features, rows: Ints, logged: Bools, taken: Reals) -> None:
    """Copy the given rows, with the logarithms of the logged features."""
    any_logged = logged.any()
    for i in range(len(rows)):
        row, to = features[rows[i]], taken[i]
        if any_logged:
            for k in range(len(row)):
                to[k] = signed_log(np.float64(row[k])) if logged[k] else row[k]
        else:
            for k in range(len(row)):
                to[k] = row[k]


@kernel
def scale_rows(features: Features, rows: Ints, scaling: Scaling, scaled: Reals) -> None:
    """Copy the given rows, scaled."""
    mean, factor, missing = scaling.mean, scaling.factor, scaling.missing
    lowest, highest = np.float32(-MAX_SCALED), np.float32(MAX_SCALED)
    take_rows(features, rows, scaling.logged, scaled)
    for i in range(len(rows)):
        row = scaled[i]
        for k in range(len(row)):
            z = (np.float32(row[k]) - mean[k]) * factor[k]
            row[k] = min(max(z, lowest), highest) if z == z else missing[k]


@kernel
def sums_of_rows(features: Features, rows: Ints, logged: Bools, first: int, last: int, sums: Floats) -> None:
    """Per block of rows and feature: count, mean, sum of squared deviations, minimum and maximum of the values.

    One loop per statistic: Numba does not vectorize a single loop over so many arrays.
    """
    d = features.shape[1]
    taken = np.empty((_BLOCK_ROWS, d))
    for block in range(first, last):
        chosen = rows[block * _BLOCK_ROWS : (block + 1) * _BLOCK_ROWS]
        take_rows(features, chosen, logged, taken)
        count, mean, squares = np.zeros(d), np.zeros(d), np.zeros(d)
        low, high = np.full(d, np.inf), np.full(d, -np.inf)
        for i in range(len(chosen)):
            for k in range(d):
                count[k] += 1.0 if taken[i, k] == taken[i, k] else 0.0
            for k in range(d):
                mean[k] += taken[i, k] if taken[i, k] == taken[i, k] else 0.0
            for k in range(d):
                low[k] = taken[i, k] if taken[i, k] < low[k] else low[k]
            for k in range(d):
                high[k] = taken[i, k] if taken[i, k] > high[k] else high[k]
        mean /= np.maximum(count, 1.0)
        for i in range(len(chosen)):
            for k in range(d):
                difference = taken[i, k] - mean[k]
                squares[k] += difference * difference if difference == difference else 0.0
        for k in range(d):  # Assignments of whole rows would take two seconds longer to compile.
            sums[block, 0, k], sums[block, 1, k], sums[block, 2, k] = count[k], mean[k], squares[k]
            sums[block, 3, k], sums[block, 4, k] = low[k], high[k]


class ColumnStatistics(NamedTuple):
    """Statistics of every feature over the values that are not missing."""

    mean: Floats
    std: Floats
    varies: Bools
    """True if the feature has more than one value."""


def column_statistics(features: Features, logged: Bools, n_threads: int | None = None) -> ColumnStatistics:
    """Mean and standard deviation of every feature, the same for any number of threads.

    >>> import numpy as np
    >>> from swaprank.models.scaling import column_statistics
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]], dtype=np.float32)
    >>> column_statistics(X, np.zeros(2, bool))
    ColumnStatistics(mean=array([2., 5.]), std=array([1., 0.]), varies=array([ True, False]))
    """
    rows = np.arange(len(features))
    n_blocks = -(-len(rows) // _BLOCK_ROWS)
    sums = np.empty((n_blocks, 5, features.shape[1]))
    run_in_threads(
        lambda first, last: sums_of_rows(read_only(features), rows, logged, first, last, sums),
        row_chunks(n_blocks, thread_count(n_threads)),
    )
    count, mean, squares, low, high = sums[0]
    for block in sums[1:]:
        # Combine the statistics of two parts [Chan1979].
        difference, total = block[1] - mean, np.maximum(count + block[0], 1.0)
        squares += block[2] + difference**2 * count * block[0] / total
        mean += difference * block[0] / total
        count += block[0]
        np.minimum(low, block[3], out=low)
        np.maximum(high, block[4], out=high)
    return ColumnStatistics(mean, np.sqrt(squares / np.maximum(count, 1.0)), high > low)


def fit_scaling(features: Features, logged: Bools, standardize: bool, n_threads: int | None = None) -> Scaling:
    """The scaling that gives these rows mean 0 and standard deviation 1, or that only fills in missing values.

    >>> import numpy as np
    >>> from swaprank.models.scaling import fit_scaling
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]], dtype=np.float32)
    >>> scaling = fit_scaling(X, np.zeros(2, bool), standardize=True)
    >>> scaling.mean.tolist(), scaling.factor.tolist()
    ([2.0, 5.0], [1.0, 0.0])
    """
    mean, std, varies = column_statistics(features, logged, n_threads)
    n_features = len(mean)
    if not standardize:
        plain = np.zeros(n_features, np.float32), np.ones(n_features, np.float32)
        return Scaling(logged, *plain, missing=np.clip(mean, -MAX_SCALED, MAX_SCALED).astype(np.float32))
    with np.errstate(divide="ignore", over="ignore"):
        factor = (1.0 / std).astype(np.float32)
    # A standard deviation too small for single precision is rounding error.
    factor[~varies | ~np.isfinite(factor)] = 0.0
    return Scaling(logged, mean.astype(np.float32), factor, np.zeros(n_features, np.float32))


def scaled_rows(features: Features, rows: Ints, scaling: Scaling) -> Features:
    """A scaled copy of the given rows."""
    scaled = np.empty((len(rows), features.shape[1]), np.float32)
    scale_rows(read_only(features), rows, scaling, scaled)
    return scaled


class Units(NamedTuple):
    """Standardization for linear models: weights are divided by standard deviations, and features stay as they are.

    Means need not be subtracted: that would change all scores by the same constant.
    """

    factor: Floats
    """1 / standard deviation; 0 for a constant feature."""
    missing: Features
    """The mean, which replaces missing values."""


def units_of(features: Features, standardize: bool, n_threads: int | None = None) -> Units:
    """The units of these rows; all factors are 1 if not standardized.

    >>> import numpy as np
    >>> from swaprank.models.scaling import units_of
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]], dtype=np.float32)
    >>> units_of(X, standardize=True)
    Units(factor=array([1., 0.]), missing=array([2., 5.], dtype=float32))
    """
    n_features = features.shape[1]
    mean, std, varies = column_statistics(features, np.zeros(n_features, np.bool_), n_threads)
    factor = np.ones(n_features)
    if standardize:
        # A standard deviation too small for single precision is rounding error.
        varies &= std > np.finfo(np.float32).tiny
        factor = np.divide(1.0, std, out=np.zeros(n_features), where=varies)
    return Units(factor, mean.astype(np.float32))


def fill_missing(features: Features, missing: Features) -> Features:
    """The features with missing values filled in; the same array, not a copy, if no value is missing."""
    for block in row_blocks(len(features), _FILL_ROWS):
        if np.isnan(features[block]).any():
            return np.where(np.isnan(features), missing, features)
    return features
