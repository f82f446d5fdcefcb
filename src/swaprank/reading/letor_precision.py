"""A warning about numbers of LETOR text that single precision merges; see data/precision.py.

The parser rounds numbers as it reads them. If it found large ones, the first documents are read again by Python.
"""

from pathlib import Path

import numpy as np

from swaprank.data.precision import FIRST_INEXACT, count_merged, warn_of_merged
from swaprank.reading.letor_block import ParsedBlock

HEAD_BYTES = 1 << 20
_DOCUMENTS = 2000


def check_text_precision(parsed: ParsedBlock, file: Path, head: bytes) -> None:
    """Warn about features of large numbers that lose values in the first documents of a file.

    head: The first HEAD_BYTES of the parsed text, or all if it has fewer.
    """
    large = np.flatnonzero((np.abs(parsed.features[:_DOCUMENTS]) >= FIRST_INEXACT).any(axis=0)).tolist()
    if not large:
        return
    lines = head[: head.rfind(b"\n") + 1 if len(head) == HEAD_BYTES else None].splitlines()
    documents = [line for line in (line.partition(b"#")[0].split() for line in lines) if line][:_DOCUMENTS]
    pairs = [dict(word.split(b":", 1) for word in words if b":" in word) for words in documents]
    found = []
    for column in large:
        name = str(parsed.first + column)
        given = np.array([_number(values.get(name.encode(), b"nan")) for values in pairs])
        with np.errstate(over="ignore"):
            kept = given.astype(np.float32)
        found.append(count_merged(f"'{name}'", given, kept))
    warn_of_merged([each for each in found if each is not None], f"{file}, first {len(pairs):,} documents, ")


def _number(text: bytes) -> float:
    """A number, NaN for NULL and what else is not one."""
    try:
        return float(text)
    except ValueError:
        return np.nan
