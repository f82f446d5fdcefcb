"""Arrays that a process and its forks share."""

import math
import mmap
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray


def shared_zeros(shape: tuple[int, ...], dtype: Any) -> AnyArray:
    """An array of zeros in memory that all later forks of this process see.

    >>> from swaprank.serving.shared_arrays import shared_zeros
    >>> shared_zeros((2, 3), "int64").sum()
    np.int64(0)
    """
    n_bytes = max(1, math.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, n_bytes), dtype)[: math.prod(shape)].reshape(shape)
