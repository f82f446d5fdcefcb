"""Intervals and p-values that stay right however often somebody looks: an asymptotic confidence sequence.

A t-test is right for one look at a number of sessions that was fixed before. Who looks every day and stops at p < .05
finds a difference in most experiments without one. Here the probability that the interval misses the truth at any of
all looks, even infinitely many, is 5% at most, for large samples [WaudbySmith2024, Theorem 2.2]:

    half width / standard error = sqrt((1 + 1/x) log((1 + x) / level²)),    x = c n / planned

n sessions were seen. The interval is tightest, relative to its standard error, near n = planned: 3.04 standard errors
instead of 1.96. c solves log((1 + c) / level²) = c; any fixed number in place of c / planned is right, too.
"""

import math

LEVEL = 0.05
FIRST_LOOK = 30
"""Units of each variant before the first look: the guarantee is one of large samples."""


def half_width(n: float, planned: int, level: float = LEVEL) -> float:
    """Half of the width of the interval, in standard errors, after n of the planned sessions.

    >>> from swaprank.clicks.experiments.sequential import half_width
    >>> [round(half_width(n, 10_000), 2) for n in (100, 1_000, 10_000, 100_000)]
    [8.94, 3.82, 3.04, 3.25]
    """
    x = _tightest(level) * n / planned
    return math.sqrt((1 + 1 / x) * math.log((1 + x) / level**2))


def anytime_p(z: float, n: float, planned: int) -> float:
    """The p-value of a difference of z standard errors: the level at which the interval would just exclude 0.

    >>> from swaprank.clicks.experiments.sequential import anytime_p, half_width
    >>> round(anytime_p(half_width(5_000, 10_000), 5_000, 10_000), 4), anytime_p(1.0, 5_000, 10_000)
    (0.05, 1.0)
    """
    x = _tightest(LEVEL) * n / planned
    return min(1.0, math.sqrt(1 + x) * math.exp(-0.5 * z * z * x / (1 + x)))


def _tightest(level: float) -> float:
    """c, by iteration: each step is a contraction."""
    c = 10.0
    for _ in range(60):
        c = math.log1p(c) - 2 * math.log(level)
    return c
