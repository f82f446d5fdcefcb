"""How many rows are read at once."""

BLOCK_BYTES = 64 << 20
"""The values of a block in single precision take about this much memory."""


def rows_at_once(n_features: int) -> int:
    """The number of rows of a block.

    >>> from swaprank.reading.block_size import rows_at_once
    >>> rows_at_once(136)
    123361
    """
    return max(1, BLOCK_BYTES // (4 * max(1, n_features)))
