"""The lines of CSV and TSV text: what Polars accepts in silence, a name that two columns have and short rows."""

import csv
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from swaprank.errors import DataError

_QUOTE = b'"'


def check_names(source: bytes, separator: str, file: Path) -> None:
    """Raise DataError if two columns have one name: Polars would rename the second.

    >>> from pathlib import Path
    >>> from swaprank.reading.separated_lines import check_names
    >>> check_names(b"qid,age,age", ",", Path("data.csv"))
    Traceback (most recent call last):
    ...
    swaprank.errors.DataError: data.csv, line 1: two columns have the name 'age': rename or delete one of them.
    """
    line, record = next(((line, record) for line, record in _records(source) if record.strip()), (1, b""))
    names = _names(record, separator)
    if len(set(names)) < len(names):
        twice = next(name for name, n_times in Counter(names).items() if n_times > 1)
        raise DataError(f"{file}, line {line}: two columns have the name '{twice}': rename or delete one of them.")


def check_lengths(source: bytes, separator: str, file: Path, n_before: int = 0) -> None:
    r"""Raise DataError for the first row with more or fewer values than there are columns.

    The text is the names of the columns and, after `n_before` more lines of the file, some rows.

    >>> from pathlib import Path
    >>> from swaprank.reading.separated_lines import check_lengths
    >>> check_lengths(b'qid,title\n7,"red\nshoes, new"\n8\n', ",", Path("data.csv"))
    Traceback (most recent call last):
    ...
    swaprank.errors.DataError: data.csv, line 4: expected 2 values, one for each column; found 1.
    """
    width, mark = 0, separator.encode()
    for line, record in _records(source):
        is_blank = not record.strip(b"\r\n")
        if not width and is_blank:
            continue
        # Separators count outside of quotes; a doubled quote in quotes has nothing between its halves.
        found = sum(part.count(mark) for part in record.split(_QUOTE)[::2]) + 1
        width = width or found
        if is_blank and width > 1:
            raise DataError(f"{file}, line {line + n_before} is empty: delete it.")
        if found != width:
            raise DataError(
                f"{file}, line {line + n_before}: expected {width} values, one for each column; found {found}."
            )


def _records(source: bytes) -> Iterator[tuple[int, bytes]]:
    """Each row of text, with its first line; it has several if there are line ends in quotes."""
    pending, start, is_open = b"", 1, False
    for number, line in enumerate(BytesIO(source), 1):
        is_open ^= line.count(_QUOTE) % 2 == 1
        pending += line
        if not is_open:
            yield start, pending
            pending, start = b"", number + 1
    if pending:
        yield start, pending


def _names(record: bytes, separator: str) -> list[str]:
    text = record.decode("utf-8", "replace").removeprefix("\ufeff").rstrip("\r\n")
    return next(csv.reader(text.splitlines(keepends=True), delimiter=separator), [])
