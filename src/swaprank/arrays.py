"""Names for the array types that the whole project passes around."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Features: TypeAlias = NDArray[np.float32]
"""Documents x features; single precision halves the memory and is what every peer trains on."""

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]
AnyArray: TypeAlias = NDArray[Any]


def row_blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` rows: whoever walks a large matrix block by block makes no copy of its whole size.

    >>> from swaprank.arrays import row_blocks
    >>> list(row_blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    return (slice(start, start + size) for start in range(0, n_rows, size))
