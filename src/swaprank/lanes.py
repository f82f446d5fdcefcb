"""Sums that vectorize and have the same bits everywhere.

A compiler may not reorder a sum of floats, so a plain loop adds one number at a time; if it is allowed to reorder, the
order depends on the CPU. Here the order is written out: eight partial sums, one per lane, which every CPU computes in
as many steps as its vectors need. Indices are unsigned, because one that might be negative keeps loops from vectorizing.
"""

from __future__ import annotations

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.kernels import kernel


@kernel
def sum_of(values: Floats, start: int, stop: int) -> float:
    """values[start] + … + values[stop - 1].

    >>> import numpy as np
    >>> from swaprank.lanes import sum_of
    >>> sum_of(np.arange(10.0), 0, 10)
    45.0
    """
    a = b = c = d = e = f = g = h = 0.0
    i, end = np.uint64(start), np.uint64(stop)
    while i + np.uint64(8) <= end:
        a += values[i]
        b += values[i + np.uint64(1)]
        c += values[i + np.uint64(2)]
        d += values[i + np.uint64(3)]
        e += values[i + np.uint64(4)]
        f += values[i + np.uint64(5)]
        g += values[i + np.uint64(6)]
        h += values[i + np.uint64(7)]
        i += np.uint64(8)
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    while i < end:
        total += values[i]
        i += np.uint64(1)
    return total


@kernel
def dot(x: AnyArray, y: AnyArray) -> float:
    """x_0 y_0 + x_1 y_1 + …, in the precision of the products.

    >>> import numpy as np
    >>> from swaprank.lanes import dot
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    zero = x.dtype.type(0) * y.dtype.type(0)
    a = b = c = d = e = f = g = h = zero
    i, end = np.uint64(0), np.uint64(len(x))
    while i + np.uint64(8) <= end:
        a += x[i] * y[i]
        b += x[i + np.uint64(1)] * y[i + np.uint64(1)]
        c += x[i + np.uint64(2)] * y[i + np.uint64(2)]
        d += x[i + np.uint64(3)] * y[i + np.uint64(3)]
        e += x[i + np.uint64(4)] * y[i + np.uint64(4)]
        f += x[i + np.uint64(5)] * y[i + np.uint64(5)]
        g += x[i + np.uint64(6)] * y[i + np.uint64(6)]
        h += x[i + np.uint64(7)] * y[i + np.uint64(7)]
        i += np.uint64(8)
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    while i < end:
        total += x[i] * y[i]
        i += np.uint64(1)
    return total
