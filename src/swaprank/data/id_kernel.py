"""The kernel that numbers integers in order of first appearance."""

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import Ints
from swaprank.kernels import kernel


@kernel
def number_block(
    block: Ints, number: NDArray[np.int32], table: NDArray[np.int32], keys: Ints, n_keys: int
) -> tuple[NDArray[np.int32], Ints, int]:
    """Number the keys of a block. The table of numbers has open addressing, and is at most half full.

    Returns:
        The table, the known keys and their number, for the next block.
    """
    for row in range(len(block)):
        if row > 0 and block[row] == block[row - 1]:
            number[row] = number[row - 1]
            continue
        slot = _slot(block[row], table, keys)
        if table[slot] < 0:
            if n_keys == len(keys):
                grown = np.empty(2 * n_keys, np.int64)
                grown[:n_keys] = keys
                keys = grown
                table = np.full(2 * len(table), -1, np.int32)
                for known in range(n_keys):
                    table[_slot(keys[known], table, keys)] = known
                slot = _slot(block[row], table, keys)
            keys[n_keys] = block[row]
            table[slot] = n_keys
            n_keys += 1
        number[row] = table[slot]
    return table, keys, n_keys


@kernel
def _slot(key: int, table: NDArray[np.int32], keys: Ints) -> int:
    """The place of a key in the table, or the free place for it."""
    mask = np.uint64(len(table) - 1)
    # Multiplied by the golden ratio, and its upper bits taken: near keys are far apart.
    slot = ((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask
    while table[slot] >= 0 and keys[table[slot]] != key:
        slot = (slot + np.uint64(1)) & mask
    return int(slot)
