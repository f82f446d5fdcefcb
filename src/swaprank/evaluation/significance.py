"""Means over queries with confidence intervals, and paired significance tests."""

import warnings

import numpy as np

from swaprank.arrays import Floats
from swaprank.evaluation.randomization import ROUNDING
from swaprank.exact_sums import exact_mean
from swaprank.rendering.tables import probability

LEVEL = 0.05
"""Differences with a smaller p-value are significant."""


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


def bounded_interval(values: Floats, bounds: tuple[float, float]) -> tuple[float, float]:
    """The 95% confidence interval of the mean of values that have bounds: it never leaves them.

    Wilson's score interval, for n / f queries instead of n: f is the variance of the values as a share of the largest
    that their mean allows, which is that of values at the bounds alone. If all values are at one bound, f is 1. So
    with success@1, whose values are 0 and 1, it is Wilson's interval with a quantile of Student's t. Without finite
    bounds, or with values outside, it is that of mean_interval. `benchmarks/intervals.py` measures its coverage.

    >>> import numpy as np
    >>> from swaprank.evaluation.significance import bounded_interval
    >>> low, high = bounded_interval(np.array([1.0, 1.0, 1.0, 0.5, 1.0]), (0, 1))
    >>> round(low, 4), round(high, 4)
    (0.4863, 0.9884)
    """
    kept = _kept(values)
    low, high = bounds
    if len(kept) < 2 or not np.isfinite(bounds).all() or kept.min() < low or kept.max() > high:
        return mean_interval(kept)
    from scipy.special import stdtrit

    n, width = len(kept), high - low
    middle = (mean(kept) - low) / width
    largest = middle * (1 - middle) * n / (n - 1)
    share = min(float(kept.var(ddof=1)) / width**2 / largest, 1.0) if largest > 0 else 1.0
    square = float(stdtrit(n - 1, 0.975)) ** 2 * share / n
    center = (middle + square / 2) / (1 + square)
    half = float(np.sqrt(square * middle * (1 - middle) + square**2 / 4)) / (1 + square)
    # Rounding must not move an end beyond a bound, or beyond the mean.
    ends = max(min(center - half, middle), 0.0), min(max(center + half, middle), 1.0)
    return low + width * ends[0], low + width * ends[1]


def _kept(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def t_test(differences: Floats) -> float:
    """Student's paired t-test, two-sided; NaN if all differences are equal and not 0, so that their variance is 0."""
    if np.ptp(differences) <= ROUNDING:
        return 1.0 if differences[0] == 0 else float("nan")
    from scipy.stats import ttest_1samp

    return float(ttest_1samp(differences, 0.0).pvalue)


def wilcoxon_test(differences: Floats) -> float:
    """Wilcoxon's signed-rank test, two-sided; queries without a difference are dropped."""
    changed = differences[differences != 0]
    if len(changed) == 0:
        return 1.0
    from scipy.stats import wilcoxon

    with warnings.catch_warnings():
        # SciPy warns about small samples and ties, but its p-value is still the one to report.
        warnings.simplefilter("ignore")
        return float(wilcoxon(changed).pvalue)


def holm(p_values: Floats) -> Floats:
    """Holm's correction for multiple comparisons: it bounds the probability of one or more false positives.

    A p-value of NaN stays NaN, but counts as a comparison.
    """
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * factors))
    return adjusted


def holm_factors(p_values: Floats) -> list[int]:
    """The factor of each: p x factor is below 5% if and only if the p-value as corrected by `holm` is, too.

    Holm multiplies the smallest p-value by n, the next by n - 1, and so on, and stops at the first that is not below
    5%. The others keep the factor of that one.

    >>> import numpy as np
    >>> from swaprank.evaluation.significance import holm_factors
    >>> holm_factors(np.array([0.001, 0.03, 0.04]))
    [3, 2, 2]
    """
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    stops = np.flatnonzero(~(p_values[order] * factors < LEVEL))
    if len(stops):
        factors[stops[0] :] = factors[stops[0]]
    return [int(factor) for factor in factors[np.argsort(order)]]


def p_in_words(p: float) -> str:
    """A p-value for a sentence.

    >>> from swaprank.evaluation.significance import p_in_words
    >>> p_in_words(0.01234), p_in_words(1e-9)
    ('p = .0123', 'p < .0001')
    """
    shown = probability(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"
