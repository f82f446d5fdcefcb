"""Features as nets take them: standardised, of counts the logarithms, missing values as the mean.

    x  ─►  sign(x) log(1 + |x|) where asked for  ─►  (x - mean) / deviation  ─►  the mean where it is missing

Nothing is kept of it but a mean and a deviation a feature: each block of rows is scaled when it is its turn, which
takes little beside what the net does with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bools, Features, Floats, Ints, row_blocks
from swaprank.data.features import read_only
from swaprank.kernels import kernel
from swaprank.models.layers import Reals
from swaprank.threads import row_chunks, run_in_threads, thread_count

FARTHEST = 1e9
"""No scaled value is larger: then no finite feature makes a score that is not."""

_BLOCK_ROWS = 512
"""Sums of rows are added up block by block, in the same order for any number of threads."""

_FILL_ROWS = 8192


class Scaling(NamedTuple):
    """What is done to each feature, as kernels take it."""

    logged: Bools
    """Which features are replaced by sign(x) log(1 + |x|)."""
    mean: Features
    factor: Features
    """One over the deviation; 0 for features that do not vary, which can say nothing."""
    missing: Features
    """What stands for a missing value, after scaling."""


@kernel
def signed_log(x: float) -> float:
    """sign(x) log(1 + |x|) to single precision, without a call, so that loops over it vectorise.

    1 + |x| = 2^k m with m in [1, 2), read from the bits; log m = 2 artanh s = 2 (s + s³/3 + …) with s = (m-1) / (m+1).
    """
    size = abs(x)
    bits = np.float64(1.0 + size).view(np.int64)
    k = np.int32((bits >> 52) - 1023)
    m = np.int64((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    # For k = 0, m - 1 is |x|, but without the digits that were lost in 1 + |x|.
    s = (size if k == 0 else m - 1.0) / (m + 1.0)
    q = s * s
    series = 1 / 9 + q * (1 / 11 + q * (1 / 13 + q * (1 / 15 + q * (1 / 17))))
    series = 1.0 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * series)))
    value = k * np.log(2.0) + 2.0 * s * series
    # What is missing stays so: its bits would make a number of it.
    signed: float = value if x >= 0.0 else (-value if x < 0.0 else x)
    return signed


@kernel
def take_rows(features: Features, rows: Ints, logged: Bools, taken: Reals) -> None:
    """Write the given rows, with the logarithms of the logged features."""
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
    """Write the given rows, scaled."""
    mean, factor, missing = scaling.mean, scaling.factor, scaling.missing
    least, most = np.float32(-FARTHEST), np.float32(FARTHEST)
    take_rows(features, rows, scaling.logged, scaled)
    for i in range(len(rows)):
        row = scaled[i]
        for k in range(len(row)):
            z = (np.float32(row[k]) - mean[k]) * factor[k]
            row[k] = min(max(z, least), most) if z == z else missing[k]


@kernel
def sums_of_rows(features: Features, rows: Ints, logged: Bools, first: int, last: int, sums: Floats) -> None:
    """Per block of rows and feature: how many values there are, their mean, squares about it, least and largest.

    One loop a sum: all of them in one are more arrays than Numba vectorises.
    """
    d = features.shape[1]
    taken = np.empty((_BLOCK_ROWS, d))
    for block in range(first, last):
        chosen = rows[block * _BLOCK_ROWS : (block + 1) * _BLOCK_ROWS]
        take_rows(features, chosen, logged, taken)
        count, mean, squares, least, most = (
            np.zeros(d),
            np.zeros(d),
            np.zeros(d),
            np.full(d, np.inf),
            np.full(d, -np.inf),
        )
        for i in range(len(chosen)):
            for k in range(d):
                count[k] += 1.0 if taken[i, k] == taken[i, k] else 0.0
            for k in range(d):
                mean[k] += taken[i, k] if taken[i, k] == taken[i, k] else 0.0
            for k in range(d):
                least[k] = taken[i, k] if taken[i, k] < least[k] else least[k]
            for k in range(d):
                most[k] = taken[i, k] if taken[i, k] > most[k] else most[k]
        mean /= np.maximum(count, 1.0)
        for i in range(len(chosen)):
            for k in range(d):
                ahead = taken[i, k] - mean[k]
                squares[k] += ahead * ahead if ahead == ahead else 0.0
        for k in range(d):  # Whole rows at once would take two seconds to compile, for the sake of an error message.
            sums[block, 0, k], sums[block, 1, k], sums[block, 2, k] = count[k], mean[k], squares[k]
            sums[block, 3, k], sums[block, 4, k] = least[k], most[k]


class ColumnStatistics(NamedTuple):
    """Of every feature, over the values that are not missing."""

    mean: Floats
    deviation: Floats
    varies: Bools
    """Whether it has more than one value."""


def column_statistics(features: Features, logged: Bools, n_threads: int | None = None) -> ColumnStatistics:
    """Mean and standard deviation of every feature, the same for any number of threads.

    >>> import numpy as np
    >>> from swaprank.models.scaling import column_statistics
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]], dtype=np.float32)
    >>> column_statistics(X, np.zeros(2, bool))
    ColumnStatistics(mean=array([2., 5.]), deviation=array([1., 0.]), varies=array([ True, False]))
    """
    rows = np.arange(len(features))
    n_blocks = -(-len(rows) // _BLOCK_ROWS)
    sums = np.empty((n_blocks, 5, features.shape[1]))
    run_in_threads(
        lambda first, last: sums_of_rows(read_only(features), rows, logged, first, last, sums),
        row_chunks(n_blocks, thread_count(n_threads)),
    )
    count, mean, squares, least, most = sums[0]
    for block in sums[1:]:
        # Means and squares of two parts give those of both [Chan et al. 1979].
        difference, total = block[1] - mean, np.maximum(count + block[0], 1.0)
        squares += block[2] + difference**2 * count * block[0] / total
        mean += difference * block[0] / total
        count += block[0]
        np.minimum(least, block[3], out=least)
        np.maximum(most, block[4], out=most)
    return ColumnStatistics(mean, np.sqrt(squares / np.maximum(count, 1.0)), most > least)


def fit_scaling(features: Features, logged: Bools, standardize: bool, n_threads: int | None = None) -> Scaling:
    """The scaling that gives these rows mean 0 and standard deviation 1, or that only fills missing values.

    >>> import numpy as np
    >>> from swaprank.models.scaling import fit_scaling
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]], dtype=np.float32)
    >>> scaling = fit_scaling(X, np.zeros(2, bool), standardize=True)
    >>> scaling.mean.tolist(), scaling.factor.tolist()
    ([2.0, 5.0], [1.0, 0.0])
    """
    mean, deviation, varies = column_statistics(features, logged, n_threads)
    n_features = len(mean)
    if not standardize:
        plain = np.zeros(n_features, np.float32), np.ones(n_features, np.float32)
        return Scaling(logged, *plain, missing=np.clip(mean, -FARTHEST, FARTHEST).astype(np.float32))
    with np.errstate(divide="ignore", over="ignore"):
        factor = (1.0 / deviation).astype(np.float32)
    # Standard deviations below single precision belong to features that vary by rounding alone.
    factor[~varies | ~np.isfinite(factor)] = 0.0
    return Scaling(logged, mean.astype(np.float32), factor, np.zeros(n_features, np.float32))


def scaled_rows(features: Features, rows: Ints, scaling: Scaling) -> Features:
    """Copies of the given rows, scaled."""
    scaled = np.empty((len(rows), features.shape[1]), np.float32)
    scale_rows(read_only(features), rows, scaling, scaled)
    return scaled


class Units(NamedTuple):
    """What a weight is multiplied by, feature by feature, and what stands for a missing value.

    A linear model learns weights of standardised features but is given the features as they are: their means move all
    scores alike and change no order, and their standard deviations can as well be divided into the weights.
    """

    factor: Floats
    """One over the standard deviation; 0 for a feature that does not vary."""
    missing: Features
    """The mean."""


def units_of(features: Features, standardize: bool, n_threads: int | None = None) -> Units:
    """The units of these rows; factors of 1 if not standardised.

    >>> import numpy as np
    >>> from swaprank.models.scaling import units_of
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]], dtype=np.float32)
    >>> units_of(X, standardize=True)
    Units(factor=array([1., 0.]), missing=array([2., 5.], dtype=float32))
    """
    n_features = features.shape[1]
    mean, deviation, varies = column_statistics(features, np.zeros(n_features, np.bool_), n_threads)
    factor = np.ones(n_features)
    if standardize:
        # Standard deviations below single precision belong to features that vary by rounding alone.
        varies &= deviation > np.finfo(np.float32).tiny
        factor = np.divide(1.0, deviation, out=np.zeros(n_features), where=varies)
    return Units(factor, mean.astype(np.float32))


def fill(features: Features, missing: Features) -> Features:
    """The features with missing values filled in; the very same memory where none is missing."""
    for block in row_blocks(len(features), _FILL_ROWS):
        if np.isnan(features[block]).any():
            return np.where(np.isnan(features), missing, features)
    return features
