"""Numbers and texts as they are written in C."""

from typing import Any

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.errors import ExportError

_PER_LINE = 8
_PLAIN = b" !#$%&'()*+,-./:;<=>@[]^_`{|}~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def c_number(value: float | np.floating[Any]) -> str:
    """A number as a hexadecimal literal, which has all its bits; with an f if it is a float32.

    >>> import numpy as np
    >>> from swaprank.exchange.c_literals import c_number
    >>> c_number(0.5), c_number(np.float32(-0.1)), c_number(0.0)
    ('0x1p-1', '-0x1.99999ap-4f', '0x0p+0')
    """
    digits, _, exponent = float(value).hex().partition("p")
    short = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return f"{short}p{exponent}{'f' if isinstance(value, np.float32) else ''}"


def c_array(values: AnyArray) -> str:
    """Numbers with commas between them, on several lines.

    >>> import numpy as np
    >>> from swaprank.exchange.c_literals import c_array
    >>> c_array(np.array([1.0, 2.0]))
    '0x1p+0, 0x1p+1'
    """
    texts = [c_number(value) for value in values]
    lines = [", ".join(texts[at : at + _PER_LINE]) for at in range(0, len(texts), _PER_LINE)]
    return ",\n    ".join(lines)


def c_rows(matrix: AnyArray) -> str:
    """The rows of a matrix, each in braces."""
    return ",\n".join(f"    {{{c_array(row)}}}" for row in matrix)


def c_text(text: str | bytes) -> str:
    r"""A string literal in ASCII; all but plain characters are octal, so that no trigraph or quote is left.

    >>> from swaprank.exchange.c_literals import c_text
    >>> print(c_text('prix "net" €'))
    "prix \042net\042 \342\202\254"
    """
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if b"\0" in content:
        raise ExportError(f"{content!r} has a zero byte, which a C string cannot have. Rename it.")
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in content) + '"'
