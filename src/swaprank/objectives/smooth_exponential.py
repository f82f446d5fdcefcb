"""An exponential that vectorizes: smoothing spends its time on exponentials, and loops that call exp are slow."""

from __future__ import annotations

import numpy as np

from swaprank.kernels import vector_kernel

LOG2_E = 1.4426950408889634
"""exp(x) = 2^(LOG2_E x)."""

_SHIFT = 6755399441055744.0
"""1.5 * 2^52: an integer added to this is stored in the last bits of the sum."""


@vector_kernel
def exp2(y: float) -> float:
    """2^y for y from -1000 to 1000, to a relative error of 1e-15.

    The power of the integer part is built from bits. The rest, from -1/2 to 1/2, goes into a polynomial, a Chebyshev
    fit to (2^r - 1) / r.
    """
    whole = np.rint(y)
    r = y - whole
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + 0.6931471805599465 * r) + (0.2402265069591015 + 0.05550410866464709 * r) * r2
    middle = (0.009618129107584672 + 0.0013333558201634168 * r) + (
        0.00015403530473007766 + 1.5252672350763485e-05 * r
    ) * r2
    high = (1.3215424924261585e-06 + 1.0206034545239113e-07 * r) + 7.076031615978551e-09 * r2
    fraction = low + (middle + high * r4) * r4
    bits = np.float64(fraction).view(np.int64) + (np.float64(whole + _SHIFT).view(np.int64) << 52)
    power: float = np.int64(bits).view(np.float64)
    return power
