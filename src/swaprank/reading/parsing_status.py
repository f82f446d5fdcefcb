"""Settings and status codes of the LETOR parser, shared by the kernel and the code around it, and their words.

Numba compiles these numbers into `letor_kernel` and watches only that file: touch it after an edit here.
"""

from pathlib import Path
from typing import NamedTuple

from swaprank.errors import DataError, Part, Wording
from swaprank.reading.text_files import HOW_TO_RECODE, Text, changed, count_lines


class LetorFormat(NamedTuple):
    """The expected format of lines."""

    with_qid: bool = True
    absent: float = 0.0
    n_features: int | None = None
    zero_based: bool | None = None
    unlabeled: bool = False


# Return values of the kernel: done, `hard` is full (empty it and call again), or the error in the line.
DONE, FULL, BAD_LABEL, NO_QID, BAD_PAIR, BAD_VALUE, INFINITE, OUT_OF_RANGE, REPEATED = range(9)

LARGEST_INDEX = 10_000_000
"""Larger feature numbers are an error, rather than a matrix with that many columns."""

LONG_ID, NOT_UTF8 = 9, 10

CHANGED = 11
"""The text has another number of documents than when it was surveyed."""

LONGEST_ID = 4096
"""Ids are stored in an array as wide as the longest one, so a very long id would take that space for every row."""

_SHOWN_BYTES = 40


class BadLineError(Exception):
    """A line that cannot be parsed: the kind of error and its position in a text."""

    def __init__(self, kind: int, position: int) -> None:
        super().__init__(kind, position)
        self.kind = kind
        self.position = position


def bad_line_error(bad: BadLineError, text: Text, lines_before: int, file: Path, n_features: int | None) -> DataError:
    """The error message: file, line, what was expected and what was found."""
    if bad.kind == CHANGED:
        return changed(file)
    read = text.reader()
    line = lines_before + count_lines(read, bad.position) + 1
    found = _token(read(bad.position, min(bad.position + _SHOWN_BYTES, text.size)).tobytes())
    if "\0" in found:
        return DataError(f"{file}, line {line}: expected text, found a NUL byte: is this a binary file?")
    return DataError(f"{file}, line {line}: ", _complaint(bad.kind, found, n_features), ".")


def _complaint(kind: int, found: str, n_features: int | None) -> Part:
    shown = f"'{found}'" if found else "the end of the line"
    index, _, value = found.partition(":")
    complaints = {
        BAD_LABEL: f"expected a finite number as the label, found {shown}",
        NO_QID: f"expected 'qid:<id>' after the label, found {shown}",
        BAD_PAIR: f"expected '<feature number>:<value>', found {shown}",
        BAD_VALUE: f"expected a number after '{index}:', found " + (f"'{value}'" if value else "nothing"),
        INFINITE: f"feature {index} is '{value}'; a value must be finite, or nan if it is missing",
        REPEATED: f"feature {index} is given twice",
        LONG_ID: f"an id of more than {LONGEST_ID:,} bytes, '{found}…'",
        NOT_UTF8: f"the id '{found}' is not UTF-8: {HOW_TO_RECODE}",
    }
    if kind in complaints:
        return complaints[kind]
    if int(index) == 0:
        numbered = "features are numbered from 1"
        return Wording(
            f"found feature 0, but with zero_based=False {numbered}",
            f"found feature 0, but in the training data {numbered}",
        )
    if n_features is None:
        return f"feature number {index} is larger than the limit, {LARGEST_INDEX:,}"
    return Wording(
        f"found feature {index}, but n_features is {n_features}",
        f"found feature {index}, but the training data has {n_features} features",
    )


def _token(shown: bytes) -> str:
    """The text up to the first blank."""
    token = shown[:1].strip() and shown.split(maxsplit=1)[0]
    return token.decode("utf-8", "backslashreplace")
