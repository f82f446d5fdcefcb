"""Parse numbers exactly as Python's float does, mostly eight bytes at a time.

The fast path finds the end of a value and combines its digits by arithmetic on 64-bit words. The slow path, for
exponents, many digits and words, reads byte by byte.

A decimal with a mantissa up to 2^53 and a power of ten up to 22 takes one division of exact numbers, so it is rounded
correctly [Clinger1990]. Other decimals have an error of a few units in the last place of a double. That determines the
float32, unless the value is close to the midpoint of two of them; such a number is left to Python.

Words are little-endian, as on all machines that Numba supports. Positions are unsigned, because a signed index would
cost a wrap-around test each. All of this is compiled into `letor_kernel`, the only file that Numba's cache watches:
touch it after an edit here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from swaprank.arrays import Bytes
from swaprank.kernels import inlined_kernel, kernel
from swaprank.reading.parsing_status import BAD_VALUE, DONE, FULL, INFINITE

U = np.uint64

NEWLINE, SPACE, HASH, PLUS, MINUS, POINT, ZERO, NINE, COLON, EQUALS = 10, 32, 35, 43, 45, 46, 48, 57, 58, 61
LOW_BITS = U(0x0101010101010101)
HIGH_BITS = U(0x8080808080808080)
_ZEROS = LOW_BITS * U(ZERO)
_POINTS = LOW_BITS * U(POINT ^ ZERO)
_PAST_NINE = LOW_BITS * U(0x7F - 9)

_WHOLE_TENS = np.array([10**k for k in range(16)], np.uint64)
_LATE_BYTES = np.array([2**64 - 2 ** (64 - 8 * min(n, 8)) for n in range(16)], np.uint64)
_EARLY_BYTES = np.array([2**64 - 2 ** (64 - 8 * max(n - 8, 0)) for n in range(16)], np.uint64)
"""Masks of the last n digits in the last 16 bytes of a number."""

_TENS = np.array([float(f"1e{k}") for k in range(309)])
_AFTER_POINT = np.array([1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1.0, 1.0])
_DIVISORS = np.concatenate((_AFTER_POINT, -_AFTER_POINT))
"""The divisor of the digits, by the byte of the decimal point; 8 means no point. From 9 on, for negative numbers."""
_EXACT_MANTISSA = U(2**53)
_EXACT_TENS = 22
_KEPT_DIGITS = 19


def _word_at(typing_context: Any, address: Any) -> Any:
    def load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(types.uint64), load


def _first_marked(typing_context: Any, marks: Any) -> Any:
    def count(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.lshr(zeros, ir.Constant(ir.IntType(64), 3))

    return types.uint64(types.uint64), count


def _blank_after(typing_context: Any, address: Any) -> Any:
    def count(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bytes16, int64 = ir.VectorType(ir.IntType(8), 16), ir.IntType(64)
        loaded = builder.load(builder.inttoptr(arguments[0], bytes16.as_pointer()))
        loaded.align = 1
        blanks = builder.icmp_unsigned("<=", loaded, ir.Constant(bytes16, [SPACE] * 16))
        marks = builder.zext(builder.bitcast(blanks, ir.IntType(16)), int64)
        marks = builder.or_(marks, ir.Constant(int64, 1 << 16))
        return builder.cttz(marks, ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), count


word_at: Callable[..., Any] = intrinsic(_word_at)
"""The eight bytes at an address. For an array, Numba would count references in the innermost loop."""

first_marked: Callable[..., Any] = intrinsic(_first_marked)
"""The first byte of a word, from 0, whose high bit is set; 8 if there is none."""

blank_after: Callable[..., Any] = intrinsic(_blank_after)
"""The first of the 16 bytes at an address, from 0, that is a space or a control character; 16 if there is none."""


@kernel
def is_blank(byte: int) -> bool:
    """True if a byte separates words within a line; a carriage return does."""
    return byte == SPACE or (9 <= byte <= 13 and byte != NEWLINE)


@kernel
def ends_token(text: Bytes, at: Any, stop: Any) -> bool:
    """True if a token ends at this position."""
    return at >= stop or text[at] == NEWLINE or text[at] == HASH or is_blank(text[at])


@kernel
def after_token(text: Bytes, at: Any, stop: Any) -> Any:
    """The end of the token at this position."""
    while not ends_token(text, at, stop):
        at += U(1)
    return at


@kernel
def decimal_at(text: Bytes, pos: Any, stop: Any) -> tuple[Any, Any, int, bool]:
    """Parse a decimal number: (end, mantissa, power of ten, whether digits were dropped). Without a number, end is pos.

    The mantissa has no sign; the caller finds it at `pos`.
    """
    at = pos
    if at < stop and (text[at] == MINUS or text[at] == PLUS):
        at += U(1)
    mantissa, exponent, n_digits, n_kept = U(0), 0, 0, 0
    point, dropped = False, False
    while at < stop:
        byte = text[at]
        if ZERO <= byte <= NINE:
            n_digits += 1
            if n_kept < _KEPT_DIGITS:
                mantissa = mantissa * U(10) + U(byte - ZERO)
                n_kept += int(mantissa > U(0))
                exponent -= point
            else:
                dropped = dropped or byte != ZERO
                exponent += not point
        elif byte == POINT and not point:
            point = True
        else:
            break
        at += U(1)
    if n_digits == 0:
        return pos, mantissa, 0, False
    if at < stop and (text[at] | 32) == 101:  # e, E
        at += U(1)
        negative = at < stop and text[at] == MINUS
        if at < stop and (text[at] == MINUS or text[at] == PLUS):
            at += U(1)
        first, written = at, 0
        while at < stop and ZERO <= text[at] <= NINE:
            written = min(written * 10 + int(text[at] - ZERO), 1_000_000)
            at += U(1)
        if at == first:
            return pos, mantissa, 0, False
        exponent += -written if negative else written
    if not ends_token(text, at, stop):
        return pos, mantissa, 0, False
    return at, mantissa, exponent, dropped


@kernel
def is_exact(mantissa: Any, exponent: int, dropped: bool) -> bool:
    """True if mantissa times 10^exponent is rounded only once in double arithmetic, so correctly."""
    return not dropped and mantissa <= _EXACT_MANTISSA and abs(exponent) <= _EXACT_TENS


@kernel
def scaled(mantissa: Any, exponent: int) -> Any:
    """Mantissa times 10^exponent, with an error of a few units in the last place."""
    if mantissa == U(0) or exponent < -308 - _KEPT_DIGITS:
        return 0.0
    if exponent < -308:
        return float(mantissa) / _TENS[308] / _TENS[-exponent - 308]
    if exponent > 308:
        return np.inf
    return float(mantissa) / _TENS[-exponent] if exponent < 0 else float(mantissa) * _TENS[exponent]


@kernel
def determines_float32(value: float) -> Any:
    """True if a double with an error of a few units in the last place determines the nearest float32."""
    if value == 0.0 or value < 1e-46 or value > 3.5e38:
        return True
    # A float32 drops the last 29 bits of a double; at a midpoint, only the first of those is set.
    beyond = np.int64(np.float64(value).view(np.int64) & 0x1FFFFFFF)
    return value > 1.2e-38 and abs(beyond - 0x10000000) > 16


@kernel
def is_word(text: Bytes, at: Any, stop: Any, word: Bytes) -> bool:
    """True if the token here is this word, ignoring case."""
    end = at + U(word.size)
    if end > stop or not ends_token(text, end, stop):
        return False
    same = True
    for k in range(word.size):
        same = same and (text[at + U(k)] | 32) == word[k]
    return same


_NAN, _NULL, _INF, _INFINITY = (np.frombuffer(word, np.uint8).copy() for word in (b"nan", b"null", b"inf", b"infinity"))


@kernel
def plain_value(text: Bytes, pos: Any, stop: Any) -> tuple[int, Any, float]:
    """Parse a value byte by byte: (DONE, FULL if Python must read it, or the error; its end; its value)."""
    end, mantissa, exponent, dropped = decimal_at(text, pos, stop)
    if end == pos:
        at = pos + U(1) if text[pos] == MINUS or text[pos] == PLUS else pos
        if is_word(text, at, stop, _NAN) or is_word(text, at, stop, _NULL):
            return DONE, after_token(text, at, stop), np.nan
        infinite = is_word(text, at, stop, _INF) or is_word(text, at, stop, _INFINITY)
        return INFINITE if infinite else BAD_VALUE, pos, np.nan
    value = scaled(mantissa, exponent)
    if not is_exact(mantissa, exponent, dropped) and not determines_float32(value):
        return FULL, end, np.nan
    if np.isinf(np.float32(value)):
        value = np.nan
    return DONE, end, -value if text[pos] == MINUS else value


@kernel
def folded(digits: Any) -> Any:
    """The number whose digits are eight bytes of 0 to 9, the first digit in the lowest byte."""
    pairs = (digits * U(2561)) >> U(8) & U(0x00FF00FF00FF00FF)
    fours = (pairs * U(6553601)) >> U(16) & U(0x0000FFFF0000FFFF)
    return (fours * U(42949672960001)) >> U(32)


@inlined_kernel
def short_value(near: Any, length: Any) -> tuple[bool, float]:
    """Parse a number of up to eight bytes, given as a word: whether it is a number, and its value.

    - 1 2 . 5 ␣ …   →   0 0 0 | 0 1 2 . 5   →   0 0 0 0 | 0 1 2 5   →   125 / 10^1
    (minus becomes 0)   (aligned at the end)    (the point removed)
    """
    minus = U(near & U(255) == U(MINUS))
    aligned = (near ^ _ZEROS ^ (minus * U(MINUS ^ ZERO))) << (U(64) - U(8) * length)
    points = aligned ^ _POINTS
    mark = (points - LOW_BITS) & ~points & HIGH_BITS
    mark &= U(0) - mark
    point = U(mark != U(0))
    after = aligned & ~((mark << U(1)) - U(1))
    before = aligned & ((mark >> U(7)) - U(1))
    digits = after | (before << (U(8) * point))
    is_number = length > minus + point and (digits + _PAST_NINE | digits) & HIGH_BITS == U(0)
    return is_number, float(np.int64(folded(digits))) / _DIVISORS[first_marked(mark) + U(9) * minus]


@inlined_kernel
def quick_value(base: Any, pos: Any) -> tuple[Any, float]:
    """Parse a value such as -12.345 of up to 15 bytes: (end, value). For other values, end is pos.

    The end does not depend on the digits, so the CPU can start on the next pair early. `base` is the address of the
    text; up to 16 bytes are read on both sides of `pos`.
    """
    near, length = word_at(base + pos), blank_after(base + pos)
    if length - U(1) < U(8):
        is_number, value = short_value(near, length)
        return (pos + length if is_number else pos), value
    end = base + pos + length
    minus = U(near & U(255) == U(MINUS))
    whole = (near >> (U(8) * minus)) ^ _ZEROS
    n_whole = first_marked((whole + _PAST_NINE | whole) & HIGH_BITS)
    point = U(word_at(base + pos + minus + n_whole) & U(255) == U(POINT))
    n_part = length - minus - n_whole - point
    if n_whole == U(0) or length > U(15) or n_part > point * U(15):
        return pos, 0.0
    late = (word_at(end - U(8)) ^ _ZEROS) & _LATE_BYTES[n_part]
    early = (word_at(end - U(16)) ^ _ZEROS) & _EARLY_BYTES[n_part]
    if ((late + _PAST_NINE | late) | (early + _PAST_NINE | early)) & HIGH_BITS:
        return pos, 0.0
    part = folded(early) * U(100_000_000) + folded(late)
    mantissa = folded(whole << (U(64) - U(8) * n_whole)) * _WHOLE_TENS[n_part] + part
    return pos + length, float(np.int64(mantissa)) / _TENS[n_part] * (1.0 - 2.0 * minus)
