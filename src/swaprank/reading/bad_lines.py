"""Error messages for bad lines of LETOR text."""

from pathlib import Path

from swaprank.errors import DataError
from swaprank.reading import parsing_status as status
from swaprank.reading.pieces import Text, changed, count_lines
from swaprank.reading.text_files import HOW_TO_RECODE

_SHOWN_BYTES = 40


class BadLineError(Exception):
    """A line that cannot be parsed: the kind of error and its position in a text."""

    def __init__(self, kind: int, position: int) -> None:
        super().__init__(kind, position)
        self.kind = kind
        self.position = position


def bad_line_error(bad: BadLineError, text: Text, lines_before: int, file: Path, n_features: int | None) -> DataError:
    """The error message: file, line, what was expected and what was found."""
    if bad.kind == status.CHANGED:
        return changed(file)
    read = text.reader()
    line = lines_before + count_lines(read, bad.position) + 1
    found = _token(read(bad.position, min(bad.position + _SHOWN_BYTES, text.size)).tobytes())
    if "\0" in found:
        return DataError(f"{file}, line {line}: expected text, found a NUL byte: is this a binary file?")
    return DataError(f"{file}, line {line}: {_complaint(bad.kind, found, n_features)}.")


def _complaint(kind: int, found: str, n_features: int | None) -> str:
    shown = f"'{found}'" if found else "the end of the line"
    index, _, value = found.partition(":")
    if kind == status.BAD_LABEL:
        return f"expected a finite number as the label, found {shown}"
    if kind == status.NO_QID:
        return f"expected 'qid:<id>' after the label, found {shown}"
    if kind == status.BAD_PAIR:
        return f"expected '<feature number>:<value>', found {shown}"
    if kind == status.BAD_VALUE:
        return f"expected a number after '{index}:', found " + (f"'{value}'" if value else "nothing")
    if kind == status.INFINITE:
        return f"feature {index} is '{value}'; a value must be finite, or nan if it is missing"
    if kind == status.REPEATED:
        return f"feature {index} is given twice"
    if kind == status.LONG_ID:
        return f"an id of more than {status.LONGEST_ID:,} bytes, '{found}…'"
    if kind == status.NOT_UTF8:
        return f"the id '{found}' is not UTF-8: {HOW_TO_RECODE}"
    if int(index) == 0:
        return "found feature 0, but with zero_based=False features are numbered from 1"
    if n_features is None:
        return f"feature number {index} is larger than the limit, {status.LARGEST_INDEX:,}"
    return f"found feature {index}, but n_features is {n_features}"


def _token(shown: bytes) -> str:
    """The text up to the first blank."""
    token = shown[:1].strip() and shown.split(maxsplit=1)[0]
    return token.decode("utf-8", "backslashreplace")
