"""A text that several threads read in pieces, each with a buffer of its own.

Files are not memory-mapped: if a mapped file is truncated while it is read, the process dies, and if it is rewritten,
the text changes between two looks at it. A piece that has been read does not change.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import BinaryIO, NamedTuple, TypeAlias, final

import numpy as np

from swaprank.arrays import Bytes, read_only
from swaprank.errors import DataError

_PIECE_BYTES = 1 << 20
"""Few enough to stay in a core's cache between reading and parsing, and many enough that Python takes no time."""
_TAIL_BYTES = 1 << 14

Reader: TypeAlias = Callable[[int, int], Bytes]
"""Returns the bytes of a text from one position to another; they are valid until the next call."""


class Piece(NamedTuple):
    """Whole lines of a text."""

    start: int
    stop: int
    text: Bytes


class Text(ABC):
    """A text of known size."""

    size: int

    @abstractmethod
    def reader(self) -> Reader:
        """A reader for one thread."""

    @abstractmethod
    def check_unchanged(self) -> None:
        """Raise DataError if the text has changed since it was opened."""


@final
class TextInMemory(Text):
    """A text in memory."""

    def __init__(self, content: bytes) -> None:
        self.size, self._content = len(content), np.frombuffer(content, np.uint8)

    def reader(self) -> Reader:
        """See `Text`."""
        return lambda start, stop: self._content[start:stop]

    def check_unchanged(self) -> None:
        """See `Text`: it cannot change."""


@final
class TextFile(Text):
    """An open file."""

    def __init__(self, file: Path, opened: BinaryIO) -> None:
        self.file, self._opened, self._lock = file, opened, Lock()
        self._status = os.fstat(opened.fileno())
        self.size = self._status.st_size

    def reader(self) -> Reader:
        """See `Text`."""
        buffer = np.empty(_PIECE_BYTES, np.uint8)

        def read(start: int, stop: int) -> Bytes:
            nonlocal buffer
            if stop - start > len(buffer):
                buffer = np.empty(stop - start, np.uint8)
            filled = 0
            while start + filled < stop:
                n_bytes = self._read_into(buffer[filled : stop - start], start + filled)
                if n_bytes == 0:
                    raise DataError(f"{self.file} was truncated while it was read: it had {self.size:,} bytes.")
                filled += n_bytes
            return read_only(buffer[: stop - start])

        return read

    def check_unchanged(self) -> None:
        """See `Text`."""
        check_unchanged(self.file, self._opened, self._status)

    def _read_into(self, buffer: Bytes, position: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._opened.fileno(), [buffer.data], position)
        with self._lock:
            self._opened.seek(position)
            return self._opened.readinto(buffer.data)  # type: ignore[attr-defined,no-any-return]


def check_unchanged(file: Path, opened: BinaryIO, before: os.stat_result) -> None:
    """Raise DataError if an open file has another size or time than before."""
    now = os.fstat(opened.fileno())
    if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise changed(file)


def changed(file: Path) -> DataError:
    """The error that a file has changed."""
    return DataError(f"{file} was changed while it was read: read it again when it is complete.")


def pieces(read: Reader, start: int, stop: int) -> Iterator[Piece]:
    """The lines from `start` to `stop`, both at the start of a line, in pieces of about equal size."""
    wanted = _PIECE_BYTES
    while start < stop:
        text = read(start, min(start + wanted, stop))
        length = len(text) if start + len(text) == stop else _after_last_newline(text)
        if length == 0:
            wanted *= 2
            continue
        yield Piece(start, start + length, text[:length])
        start, wanted = start + length, _PIECE_BYTES


def line_start(read: Reader, at: int, stop: int) -> int:
    """The first start of a line after a position; `stop` if there is none."""
    while at < stop:
        text = read(at, min(at + _TAIL_BYTES, stop)).tobytes()
        found = text.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(text)
    return stop


def count_lines(read: Reader, stop: int) -> int:
    """The number of line ends before a position."""
    starts = range(0, stop, _PIECE_BYTES)
    return sum(read(start, min(start + _PIECE_BYTES, stop)).tobytes().count(b"\n") for start in starts)


def _after_last_newline(text: Bytes) -> int:
    first = max(0, len(text) - _TAIL_BYTES)
    found = text[first:].tobytes().rfind(b"\n")
    return first + found + 1 if found >= 0 else text[:first].tobytes().rfind(b"\n") + 1
