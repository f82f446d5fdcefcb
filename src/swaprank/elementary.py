"""Elementary functions that have the same bits everywhere, and that vectorize inside loops.

The exp of the C library has other last bits on another CPU, and that of NumPy, too. These use additions,
multiplications, divisions and bits only, which IEEE 754 fixes. The relative error is below 3e-16, and below 1e-15 for
`exp2`.
"""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel

LOG2_E = 1.4426950408889634
"""exp(x) = 2^(LOG2_E x)."""
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""log 2 in two parts. The first has 20 trailing zero bits, so that its products with exponents are exact."""
_SHIFT = 6755399441055744.0
"""1.5 * 2^52: adding and subtracting it rounds to an integer, which the sum has in its last bits."""
_LEAST_NORMAL, _MANTISSA = 2.2250738585072014e-308, 0x000FFFFFFFFFFFFF


@kernel
def exp(x: float) -> float:
    """e^x; 0 below -708 and infinite above 709.

    >>> from swaprank.elementary import exp
    >>> exp(0.0), exp(1.0), exp(-1000.0)
    (1.0, 2.718281828459045, 0.0)
    """
    shifted = x * LOG2_E + _SHIFT
    whole = shifted - _SHIFT
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW  # from -log(2) / 2 to log(2) / 2
    high = 1 / 40320 + r * (1 / 362880 + r * (1 / 3628800 + r * (1 / 39916800 + r * (1 / 479001600))))
    low = 1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r * (1 / 5040 + r * high))))
    power = _times_power_of_two(1.0 + (r + r * r * (0.5 + r * low)), shifted)
    value: float = power if x == x else x
    return 0.0 if x < -708.0 else (np.inf if x > 709.0 else value)


@kernel
def exp2(y: float) -> float:
    """2^y for y from -1000 to 1000, faster than `exp`; exact if y is an integer.

    The power of the integer part is built from bits. The rest, from -1/2 to 1/2, goes into a polynomial, a Chebyshev
    fit to (2^r - 1) / r.
    """
    shifted = y + _SHIFT
    r = y - (shifted - _SHIFT)
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + 0.6931471805599465 * r) + (0.2402265069591015 + 0.05550410866464709 * r) * r2
    middle = (0.009618129107584672 + 0.0013333558201634168 * r) + (
        0.00015403530473007766 + 1.5252672350763485e-05 * r
    ) * r2
    high = (1.3215424924261585e-06 + 1.0206034545239113e-07 * r) + 7.076031615978551e-09 * r2
    return _times_power_of_two(low + (middle + high * r4) * r4, shifted)


@kernel
def _times_power_of_two(fraction: float, shifted: float) -> float:
    """A fraction near 1 times 2 to the integer that is in the last bits of `shifted`."""
    bits = np.float64(fraction).view(np.int64) + (np.float64(shifted).view(np.int64) << 52)
    product: float = np.int64(bits).view(np.float64)
    return product


@kernel
def _split(x: float) -> tuple[float, float]:
    """k and log(m) of x = 2^k m, with m from sqrt(1/2) to sqrt(2), for positive x.

    log m = 2 artanh s = 2 (s + s³/3 + …) with s = f / (2 + f) and f = m - 1, written so that f is added last.
    """
    scale = 54.0 if x < _LEAST_NORMAL else 0.0
    bits = np.float64(x * 2.0**54 if scale > 0.0 else x).view(np.int64)
    k = (bits >> 52) - 1023
    m = np.int64((bits & _MANTISSA) | 0x3FF0000000000000).view(np.float64)
    if m > 1.4142135623730951:
        k, m = k + 1, 0.5 * m
    f = m - 1.0
    s = f / (2.0 + f)
    q = s * s
    series = 2 / 13 + q * (2 / 15 + q * (2 / 17 + q * (2 / 19 + q * (2 / 21 + q * (2 / 23)))))
    series = q * (2 / 3 + q * (2 / 5 + q * (2 / 7 + q * (2 / 9 + q * (2 / 11 + q * series)))))
    return np.float64(k) - scale, f - s * (f - series)


@kernel
def log(x: float) -> float:
    """The natural logarithm.

    >>> from swaprank.elementary import log
    >>> log(1.0), log(2.0), log(0.0)
    (0.0, 0.6931471805599453, -inf)
    """
    if x > 0.0 and x < np.inf:
        k, rest = _split(x)
        return k * _LN2_HIGH + (k * _LN2_LOW + rest)
    return -np.inf if x == 0.0 else (x if x > 0.0 else np.nan)


@kernel
def log2(x: float) -> float:
    """The logarithm to base 2, exact for powers of two; x must be positive and finite.

    >>> from swaprank.elementary import log2
    >>> log2(8.0), round(log2(3.0), 12)
    (3.0, 1.584962500721)
    """
    k, rest = _split(x)
    return k + rest * LOG2_E


@kernel
def log1p(x: float) -> float:
    """log(1 + x), precise for small x.

    >>> from swaprank.elementary import log1p
    >>> log1p(1e-20), log1p(1.0)
    (1e-20, 0.6931471805599453)
    """
    y = 1.0 + x
    return log(y) - ((y - 1.0) - x) / y if y < np.inf else y


@kernel
def normal_cdf(x: float) -> float:
    """The probability that a standard normal variable is below x [Hart1968; West2005]; the error is below 1e-15.

    >>> from swaprank.elementary import normal_cdf
    >>> normal_cdf(0.0), round(normal_cdf(1.96), 6), normal_cdf(-50.0)
    (0.5, 0.975002, 0.0)
    """
    z = abs(x)
    if z < 7.07106781186547:
        above = 33.912866078383 + z * (6.37396220353165 + z * (0.700383064443688 + z * 0.0352624965998911))
        above = 220.206867912376 + z * (221.213596169931 + z * (112.079291497871 + z * above))
        below = 86.7807322029461 + z * (16.064177579207 + z * (1.75566716318264 + z * 0.0883883476483184))
        below = 440.413735824752 + z * (793.826512519948 + z * (637.333633378831 + z * (296.564248779674 + z * below)))
        tail = exp(-0.5 * z * z) * above / below
    else:
        fraction = z + 1.0 / (z + 2.0 / (z + 3.0 / (z + 4.0 / (z + 0.65))))
        tail = exp(-0.5 * z * z) / fraction / 2.506628274631
    return tail if x <= 0.0 else 1.0 - tail


@kernel
def power(x: float, n: int) -> float:
    """x to the power of a non-negative integer.

    >>> from swaprank.elementary import power
    >>> power(0.5, 3), power(3.0, 0)
    (0.125, 1.0)
    """
    result, base = 1.0, x
    while n > 0:
        if n % 2 == 1:
            result *= base
        base *= base
        n //= 2
    return result


@kernel
def exps2(values: Floats) -> Floats:
    """2^y of every value; infinite where it is too large.

    >>> import numpy as np
    >>> from swaprank.elementary import exps2
    >>> exps2(np.array([0.0, 3.0, -1.0, 2000.0])).tolist()
    [1.0, 8.0, 0.5, inf]
    """
    results = np.empty(len(values))
    for i in range(len(values)):
        y = min(max(values[i], -1200.0), 1200.0)
        beyond = 200.0 if y > 1000.0 else (-200.0 if y < -1000.0 else 0.0)
        results[i] = exp2(y - beyond) * exp2(beyond)
    return results


@kernel
def logs2(values: Floats) -> Floats:
    """The logarithm to base 2 of every value; all must be positive and finite.

    >>> import numpy as np
    >>> from swaprank.elementary import logs2
    >>> logs2(np.array([1.0, 4.0])).tolist()
    [0.0, 2.0]
    """
    results = np.empty(len(values))
    for i in range(len(values)):
        results[i] = log2(values[i])
    return results


@kernel
def powers(x: float, exponents: Ints) -> Floats:
    """x to the power of every exponent, which are not negative.

    >>> import numpy as np
    >>> from swaprank.elementary import powers
    >>> powers(0.5, np.array([0, 1, 3])).tolist()
    [1.0, 0.5, 0.125]
    """
    results = np.empty(len(exponents))
    for i in range(len(exponents)):
        results[i] = power(x, exponents[i])
    return results
