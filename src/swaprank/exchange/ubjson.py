"""Read UBJSON, the binary JSON in which XGBoost saves models, as far as XGBoost writes it.

A value is a letter for its type, and then its bytes, big-endian. An array may begin with a count, and also with the
type of all its values: such an array is an array of NumPy.
"""

import struct
from typing import Any

import numpy as np

from swaprank.errors import ModelFileError

_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8", b"C": ">i1"}
_CONSTANTS = {b"Z": None, b"T": True, b"F": False}
_DEEPEST = 50
"""XGBoost's models have ten levels."""


def loads(content: bytes) -> Any:
    """The value in some bytes; ModelFileError if they are something else.

    >>> from swaprank.exchange.ubjson import loads
    >>> loads(b"{L" + bytes([0, 0, 0, 0, 0, 0, 0, 1]) + b"a[$U#L" + bytes([0, 0, 0, 0, 0, 0, 0, 2, 5, 7]) + b"}")
    {'a': array([5, 7], dtype=uint8)}
    """
    value, end = _value(content, 0, 0)
    if end != len(content):
        raise ModelFileError(f"it is damaged: {len(content) - end:,} bytes follow the model.")
    return value


def _value(content: bytes, at: int, depth: int) -> tuple[Any, int]:
    """The value at a place, and the place after it."""
    if depth > _DEEPEST:
        raise ModelFileError("it is damaged: it is nested too deeply.")
    kind = content[at : at + 1]
    at += 1
    if kind == b"{":
        return _object(content, at, depth)
    if kind == b"[":
        return _array(content, at, depth)
    if kind == b"S":
        return _string(content, at)
    if kind in _CONSTANTS:
        return _CONSTANTS[kind], at
    if kind in _NUMBERS:
        values, at = _numbers(content, at, kind, 1)
        return values.item(), at
    found = f"an unknown type {kind!r}" if kind else "the end"
    raise ModelFileError(f"it is damaged or truncated: at byte {at - 1:,} is {found}.")


def _object(content: bytes, at: int, depth: int) -> tuple[dict[str, Any], int]:
    found = {}
    while content[at : at + 1] != b"}":
        key, at = _string(content, at)
        found[key], at = _value(content, at, depth + 1)
    return found, at + 1


def _array(content: bytes, at: int, depth: int) -> tuple[Any, int]:
    if content[at : at + 1] == b"$":
        kind = content[at + 1 : at + 2]
        if content[at + 2 : at + 3] != b"#" or kind not in _NUMBERS:
            raise ModelFileError(f"it is damaged: at byte {at:,} is an array without a known type and a count.")
        n_values, at = _count(content, at + 3)
        return _numbers(content, at, kind, n_values)
    values = []
    if content[at : at + 1] == b"#":
        n_values, at = _count(content, at + 1)
        for _ in range(n_values):
            value, at = _value(content, at, depth + 1)
            values.append(value)
        return values, at
    while content[at : at + 1] != b"]":
        value, at = _value(content, at, depth + 1)
        values.append(value)
    return values, at + 1


def _string(content: bytes, at: int) -> tuple[str, int]:
    n_bytes, at = _count(content, at)
    return content[at : at + n_bytes].decode(), at + n_bytes


def _count(content: bytes, at: int) -> tuple[int, int]:
    """A count of bytes or of values, which have at least one byte: so it cannot be more than there are bytes left."""
    if content[at : at + 1] != b"L" or at + 9 > len(content):
        raise ModelFileError(f"it is damaged or truncated: at byte {at:,} there is no count.")
    (count,) = struct.unpack_from(">q", content, at + 1)
    if not 0 <= count <= len(content) - at - 9:
        raise ModelFileError(f"it is damaged or truncated: at byte {at:,} is the count {count:,}.")
    return count, at + 9


def _numbers(content: bytes, at: int, kind: bytes, n_values: int) -> tuple[Any, int]:
    dtype = np.dtype(_NUMBERS[kind])
    end = at + n_values * dtype.itemsize
    if end > len(content):
        raise ModelFileError(f"it is damaged or truncated: at byte {at:,} should be {n_values:,} numbers.")
    return np.frombuffer(content, dtype, n_values, at).astype(dtype.newbyteorder("=")), end
