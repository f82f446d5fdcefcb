"""Features as nets take them: standardised, of counts the logarithms, missing values as the mean.

    x  ─►  sign(x) log(1 + |x|) where asked for  ─►  (x - mean) / deviation  ─►  the mean where it is missing

Nothing is kept of it but a mean and a deviation a feature: each block of rows is scaled when it is its turn, which
takes little beside what the net does with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bools, Features, Floats, Ints
from swaprank.kernels import kernel
from swaprank.models.layers import Reals
from swaprank.threads import run_in_threads, thread_count

FARTHEST = 1e9
"""No scaled value is larger: then no finite feature makes a score that is not."""

_ROWS_AT_A_TIME = 512
"""Sums of rows are added up block by block, in the same order for any number of threads."""


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
    taken = np.empty((_ROWS_AT_A_TIME, d))
    for block in range(first, last):
        chosen = rows[block * _ROWS_AT_A_TIME : (block + 1) * _ROWS_AT_A_TIME]
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


def fit_scaling(features: Features, logged: Bools, standardize: bool, n_threads: int | None = None) -> Scaling:
    """The scaling that gives these rows mean 0 and deviation 1, or only fills what is missing.

    >>> import numpy as np
    >>> from swaprank.models.scaling import fit_scaling
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]], dtype=np.float32)
    >>> scaling = fit_scaling(X, np.zeros(2, bool), standardize=True)
    >>> scaling.mean.tolist(), scaling.factor.tolist()
    ([2.0, 5.0], [1.0, 0.0])
    """
    rows = np.arange(len(features))
    n_blocks = -(-len(rows) // _ROWS_AT_A_TIME)
    sums = np.empty((n_blocks, 5, features.shape[1]))
    cuts = np.linspace(0, n_blocks, min(thread_count(n_threads), n_blocks) + 1).astype(int).tolist()
    run_in_threads(
        lambda first, last: sums_of_rows(features, rows, logged, first, last, sums),
        list(zip(cuts[:-1], cuts[1:], strict=True)),
    )
    count, mean, squares, least, most = sums[0]
    for block in sums[1:]:
        ahead, total = block[1] - mean, np.maximum(count + block[0], 1.0)
        squares += block[2] + ahead**2 * count * block[0] / total
        mean += ahead * block[0] / total
        count += block[0]
        np.minimum(least, block[3], out=least)
        np.maximum(most, block[4], out=most)
    return _scaling(logged, standardize, mean, np.sqrt(squares / np.maximum(count, 1.0)), most > least)


def _scaling(logged: Bools, standardize: bool, mean: Floats, deviation: Floats, varies: Bools) -> Scaling:
    n_features = len(mean)
    if not standardize:
        plain = np.zeros(n_features, np.float32), np.ones(n_features, np.float32)
        return Scaling(logged, *plain, missing=np.clip(mean, -FARTHEST, FARTHEST).astype(np.float32))
    with np.errstate(divide="ignore", over="ignore"):
        factor = (1.0 / deviation).astype(np.float32)
    # Deviations below single precision are those of features that do not vary but for rounding.
    factor[~varies | ~np.isfinite(factor)] = 0.0
    return Scaling(logged, mean.astype(np.float32), factor, np.zeros(n_features, np.float32))
