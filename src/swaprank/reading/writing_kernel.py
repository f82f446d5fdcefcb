"""Write rows of LETOR text with the fewest digits that read back as the same float32.

A value v needs at most k decimals if m = round(v 10^k) restores it: m / 10^k rounds to v. With m below 2^53 and k up to
22, that division is the same as in reading [Clinger1990]. If k decimals are enough, so are k + 1, which allows a
binary search. Python writes the values outside these bounds.
"""

from typing import Any

import numpy as np

from swaprank.arrays import Bytes, Features, Ints
from swaprank.kernels import kernel

# The slots of `progress`; the column is -1 at the start of a line.
WRITTEN, ROW, COLUMN = range(3)
N_SLOTS = 3

PAIR_BYTES = 40
"""The largest size of a pair: blank, index, colon, value."""

_TENS = np.array([float(f"1e{k}") for k in range(23)])
_WHOLE_TENS = np.array([10**k for k in range(19)])
_SMALLEST, _LARGEST = 1e-9, 1e15
_DIGITS = 9
"""Significant digits that distinguish any two float32."""

_ZERO, _SPACE, _COLON, _POINT, _MINUS, _NEWLINE = 48, 32, 58, 46, 45, 10


@kernel
def shortest_decimal(value: float) -> tuple[Any, int]:
    """The (m, k) with the smallest k for which m / 10^k is this float32, at least 1e-9; k is -1 if there is none."""
    places = 0
    while value >= _TENS[places]:
        places += 1
    while value * _TENS[1 - places if places <= 0 else 0] < 1.0:
        places -= 1
    low, high = 0, _DIGITS - places
    mantissa, decimals = np.int64(0), -1
    while low <= high:
        k = (low + high) // 2
        m = np.int64(np.rint(value * _TENS[k]))
        if np.float32(np.float64(m) / _TENS[k]) == value:
            mantissa, decimals, high = m, k, k - 1
        else:
            low = k + 1
    return mantissa, decimals


@kernel
def write_digits(out: Bytes, at: int, number: Any, n_digits: int) -> int:
    """Write an integer with at least n_digits digits; return the position after it."""
    most = n_digits
    while most < 18 and number >= _WHOLE_TENS[most]:
        most += 1
    rest = np.uint64(number)
    for k in range(at + most - 1, at - 1, -1):
        quotient = rest // np.uint64(10)
        out[k] = _ZERO + (rest - quotient * np.uint64(10))
        rest = quotient
    return at + most


@kernel
def write_value(out: Bytes, at: int, value: float) -> int:
    """Write a float32; return the position after it, or -1 if Python must write it."""
    if np.isnan(value):
        out[at], out[at + 1], out[at + 2] = 110, 97, 110  # nan
        return at + 3
    size = abs(value)
    whole = size < _LARGEST and size == np.floor(size)
    mantissa, decimals = np.int64(size) if whole else np.int64(0), 0
    if not whole:
        if size < _SMALLEST or size >= _LARGEST:
            return -1
        mantissa, decimals = shortest_decimal(size)
        if decimals < 0:
            return -1
    if np.signbit(value):
        out[at] = _MINUS
        at += 1
    head = mantissa // _WHOLE_TENS[decimals]
    at = write_digits(out, at, head, 1)
    if decimals > 0:
        out[at] = _POINT
        at = write_digits(out, at + 1, mantissa - head * _WHOLE_TENS[decimals], decimals)
    return at


@kernel
def copy_text(out: Bytes, at: int, text: Bytes, offsets: Ints, k: int) -> int:
    """Copy the k-th text; return the position after it."""
    for i in range(offsets[k], offsets[k + 1]):
        out[at] = text[i]
        at += 1
    return at


@kernel
def write_rows(
    features: Features, sparse: bool, stop: int,
    label_codes: Ints, labels: Bytes, label_offsets: Ints,
    query_codes: Ints, qids: Bytes, qid_offsets: Ints,
    docids: Bytes, docid_offsets: Ints,
    progress: Ints, out: Bytes,
) -> bool:  # fmt: skip
    """Write rows up to `stop`. Returns False after a colon if Python must write the next value."""
    at, first_column = progress[WRITTEN], progress[COLUMN]
    for row in range(progress[ROW], stop):
        if first_column < 0:
            at = copy_text(out, at, labels, label_offsets, label_codes[row])
            at = copy_text(out, at, qids, qid_offsets, query_codes[row])
            first_column = 0
        for column in range(first_column, features.shape[1]):
            value = np.float64(features[row, column])
            if sparse and value == 0.0:
                continue
            out[at] = _SPACE
            at = write_digits(out, at + 1, column + 1, 1)
            out[at] = _COLON
            end = write_value(out, at + 1, value)
            if end < 0:
                progress[WRITTEN], progress[ROW], progress[COLUMN] = at + 1, row, column
                return False
            at = end
        at = copy_text(out, at, docids, docid_offsets, row)
        out[at] = _NEWLINE
        at += 1
        first_column = -1
    progress[WRITTEN], progress[ROW], progress[COLUMN] = at, stop, -1
    return True
