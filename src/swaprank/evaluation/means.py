"""Means over queries, and their confidence intervals."""

import numpy as np

from swaprank.arrays import Floats
from swaprank.exact_sums import exact_mean


def mean(values: Floats) -> float:
    """The mean of the values that are not NaN; NaN if there is none."""
    return exact_mean(_kept(values))


def mean_interval(values: Floats) -> tuple[float, float]:
    """The 95% confidence interval of that mean (Student's t); NaN for fewer than two values."""
    kept = _kept(values)
    if len(kept) < 2:
        return float("nan"), float("nan")
    from scipy.special import stdtrit

    half = float(stdtrit(len(kept) - 1, 0.975) * kept.std(ddof=1) / np.sqrt(len(kept)))
    return mean(kept) - half, mean(kept) + half


def _kept(values: Floats) -> Floats:
    return values[~np.isnan(values)]
