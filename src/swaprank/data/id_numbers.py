"""Number the ids of long columns in order of first appearance, block by block, with little memory."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Ints, row_blocks
from swaprank.data.ids import checked_document_ids
from swaprank.errors import DataError

BLOCK = 2**18
"""Rows that are numbered at a time."""
_MOST_ROWS = 2**31 - 1
_SMALLEST_TABLE = 2**10


class Numbered(NamedTuple):
    """A column of ids."""

    number: NDArray[np.int32]
    """The number of each row's id: 0 for the first that appears, then 1, …"""
    ids: AnyArray
    """The different ids, in order of first appearance."""


def row_count(column: Any) -> int:
    """The number of rows of a column."""
    return len(column.number) if isinstance(column, Numbered) else len(column)


def numbered_ids(name: str, values: Any, n_rows: int) -> Numbered:
    """Number a column of ids: integers or text. A column that is numbered already is kept."""
    if isinstance(values, Numbered):
        return values
    ids = checked_document_ids(values, n_rows, name)
    if ids.dtype.kind in "UT":
        found = numbered_texts((ids[rows].tolist() for rows in row_blocks(n_rows, BLOCK)), n_rows)
        return found._replace(ids=found.ids.astype(ids.dtype))
    bits = np.uint64 if ids.dtype == np.uint64 else np.int64
    found = numbered_keys(lambda rows: ids[rows].astype(bits).view(np.int64), n_rows)
    return found._replace(ids=found.ids.view(bits).astype(ids.dtype))


def numbered_texts(blocks: Iterable[list[Any]], n_rows: int) -> Numbered:
    """Number texts, given as lists of some rows each; what is not text is numbered as its text.

    >>> from swaprank.data.id_numbers import numbered_texts
    >>> numbered_texts([["b", "a"], ["b", 7]], 4)
    Numbered(number=array([0, 1, 0, 2], dtype=int32), ids=array(['b', 'a', '7'], dtype='<U1'))
    """
    number, known, start = _new_numbers(n_rows), dict[str, int](), 0
    for texts in blocks:
        # Evaluated before the text is added: its number is the number of texts before it.
        number[start : start + len(texts)] = [known.setdefault(str(text), len(known)) for text in texts]
        start += len(texts)
    return Numbered(number, np.array(list(known), dtype=str))


def numbered_keys(block: Callable[[slice], Ints], n_rows: int) -> Numbered:
    """Number integers, which `block` gives for a slice of the rows."""
    # Numba waits until it is needed.
    from swaprank.data.id_kernel import number_block

    number = _new_numbers(n_rows)
    table = np.full(_SMALLEST_TABLE, -1, np.int32)
    keys, n_keys = np.empty(_SMALLEST_TABLE // 2, np.int64), 0
    for rows in row_blocks(n_rows, BLOCK):
        table, keys, n_keys = number_block(np.ascontiguousarray(block(rows)), number[rows], table, keys, n_keys)
    return Numbered(number, keys[:n_keys].copy())


def _new_numbers(n_rows: int) -> NDArray[np.int32]:
    if n_rows > _MOST_ROWS:
        raise DataError(f"a click log has at most {_MOST_ROWS:,} rows, found {n_rows:,}: count clicks in parts.")
    return np.empty(n_rows, np.int32)
