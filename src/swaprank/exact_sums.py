"""Sums of floats that do not depend on the order of addition: exact, and rounded once at the end.

A finite float is an integer of 53 bits times a power of two. A sum is kept as one long integer in limbs of 32 bits,
limb k in units of 2^(32 k - 1074), so that every float fits. Adding a float adds its bits to three limbs. Limbs are
int64: carries can wait, and the sums of threads or machines are added limb by limb, as integers.

    float    sign, mantissa, exponent          limbs   … | k + 2 | k + 1 |   k   | …
             mantissa << exponent % 32     ─►          |  high |  mid  |  low  |       k = exponent // 32
"""

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel

N_LIMBS = 67
"""2,144 bits: the largest float has 2,098, which leaves room for the sum of many."""
_MASK = np.int64(0xFFFFFFFF)


@kernel
def add_exactly(value: float, limbs: Ints) -> None:
    """Add one finite float; at most 2^31 of them before `carry`."""
    bits = np.float64(value).view(np.int64)
    sign, unsigned = bits >> np.int64(63), np.uint64(bits)
    exponent = (unsigned >> np.uint64(52)) & np.uint64(0x7FF)
    # A subnormal number has no leading one, and the exponent of the smallest normal numbers.
    normal = np.uint64(exponent != np.uint64(0))
    mantissa = (unsigned & np.uint64(0xFFFFFFFFFFFFF)) | (normal << np.uint64(52))
    exponent -= normal
    k, shift = exponent >> np.uint64(5), exponent & np.uint64(31)
    low = (mantissa & np.uint64(0xFFFFFFFF)) << shift
    high = ((mantissa >> np.uint64(32)) << shift) + (low >> np.uint64(32))
    # x ^ -1 - -1 = -x: no branch on the sign, which is random.
    limbs[k] += (np.int64(low & np.uint64(0xFFFFFFFF)) ^ sign) - sign
    limbs[k + np.uint64(1)] += (np.int64(high & np.uint64(0xFFFFFFFF)) ^ sign) - sign
    limbs[k + np.uint64(2)] += (np.int64(high >> np.uint64(32)) ^ sign) - sign


@kernel
def add_values(values: Floats, limbs: Ints) -> None:
    """Add all values."""
    for i in range(len(values)):
        add_exactly(values[i], limbs)


@kernel
def carry(limbs: Ints) -> None:
    """Bring all limbs but the last into 32 bits; the last one has the sign."""
    for k in range(len(limbs) - 1):
        limbs[k + 1] += limbs[k] >> np.int64(32)
        limbs[k] &= _MASK


@kernel
def rounded_sum(limbs: Ints) -> float:
    """The float next to the sum, ties to even; `limbs` are changed."""
    carry(limbs)
    sign = 1.0
    if limbs[-1] < 0:
        sign = -1.0
        for k in range(len(limbs)):
            limbs[k] = -limbs[k]
        carry(limbs)
    top = len(limbs) - 1
    while top > 0 and limbs[top] == 0:
        top -= 1
    if top == len(limbs) - 1 and limbs[top] > _MASK:
        return sign * np.inf
    # The leading 64 bits, and whether any bit below is set: rounding 64 bits to 53 then rounds all of them.
    leading, below, rest = np.uint64(limbs[top]), np.uint64(0), np.int64(0)
    if top > 0:
        leading = (leading << np.uint64(32)) | np.uint64(limbs[top - 1])
        below = np.uint64(limbs[top - 2]) if top > 1 else np.uint64(0)
        for k in range(top - 2):
            rest |= limbs[k]
    exponent = 32 * max(top - 1, 0) - 1074
    while top > 0 and leading >> np.uint64(63) == np.uint64(0):
        leading = (leading << np.uint64(1)) | (below >> np.uint64(31))
        below = (below << np.uint64(1)) & np.uint64(0xFFFFFFFF)
        exponent -= 1
    if below != np.uint64(0) or rest != 0:
        leading |= np.uint64(1)
    return sign * scaled(np.float64(leading), exponent)


@kernel
def scaled(value: float, exponent: int) -> float:
    """value * 2^exponent; value has up to 64 bits before the point."""
    while exponent < -1000:
        value *= 2.0**-60
        exponent += 60
    while exponent > 900:
        value *= 2.0**60
        exponent -= 60
    return value * np.int64((exponent + 1023) << 52).view(np.float64)


@kernel
def round_sums(limbs: Ints, sums: Floats) -> None:
    """Round the sums in the rows of `limbs`, which are changed."""
    for i in range(len(sums)):
        sums[i] = rounded_sum(limbs[i])


def rounded_sums(limbs: Ints) -> Floats:
    """The sums along the last axis."""
    sums = np.empty(limbs.shape[:-1])
    round_sums(limbs.reshape(-1, limbs.shape[-1]), sums.reshape(-1))
    return sums


def exact_limbs(values: Floats) -> Ints:
    """The sum of finite values in limbs, ready to be added to others."""
    limbs = np.zeros(N_LIMBS, np.int64)
    add_values(np.ascontiguousarray(values, np.float64), limbs)
    carry(limbs)
    return limbs


def exact_sum(values: ArrayLike) -> float:
    """The sum of finite values, rounded once: the same for every order of them.

    >>> from swaprank.exact_sums import exact_sum
    >>> exact_sum([1e100, 1.0, -1e100])
    1.0
    """
    return float(rounded_sum(exact_limbs(np.asarray(values, np.float64))))


def exact_mean(values: Floats) -> float:
    """The mean of finite values, from their exact sum; NaN if there are none."""
    return exact_sum(values) / len(values) if len(values) else float("nan")
