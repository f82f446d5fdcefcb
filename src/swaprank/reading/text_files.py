"""Text files, plain and compressed: in blocks and lines, or in pieces that several threads read.

Files are not memory-mapped: if a mapped file is truncated while it is read, the process dies, and if it is rewritten,
the text changes between two looks at it. A piece that has been read does not change.
"""

import lzma
import os
import stat
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple, TypeAlias, final

import numpy as np

from swaprank.arrays import Bytes, read_only
from swaprank.errors import DataError
from swaprank.files import compression

_BLOCK_BYTES = 16 << 20
_PACKED_BYTES = 16 << 10
"""Compressed bytes per step: few enough that the decompressed bytes stay small."""
_PIECE_BYTES = 1 << 20
"""Few enough to stay in a core's cache between reading and parsing, and many enough that Python takes no time."""
_TAIL_BYTES = 1 << 14


class NoDocumentsError(DataError):
    """A file that has nothing in it; as a part of a data set, it is none."""


BYTE_ORDER_MARK = b"\xef\xbb\xbf"

HOW_TO_RECODE = "if the file is Latin-1, convert it with iconv -f latin1 -t utf-8"

_MAGIC = (
    (b"\x1f\x8b", "gzip-compressed", ".gz"),
    (b"\xfd7zXZ\x00", "xz-compressed", ".xz"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", ".zst"),
    (b"PAR1", "a Parquet file", ".parquet"),
)


def is_stream(file: Path) -> bool:
    """True for a pipe or a device, which has no suffix and can be read only once."""
    return not file.is_file() or file.parent in (Path("/dev"), Path("/dev/fd"))


@contextmanager
def opened_unchanged(file: Path) -> Iterator[BinaryIO]:
    """The file, opened for reading; raises DataError if it changes meanwhile."""
    with file.open("rb") as opened:
        before = os.fstat(opened.fileno())
        try:
            yield opened
        finally:
            if stat.S_ISREG(before.st_mode):
                check_unchanged(file, opened, before)


def text_pieces(file: Path) -> Iterator[bytes]:
    """The bytes of a file, decompressed, in pieces that end anywhere."""
    return _decompressed_pieces(file) if compression(file) else _plain_pieces(file)


def text_blocks(file: Path) -> Iterator[bytes]:
    """The bytes of a file in blocks that end at line ends; raises DataError for an empty or binary file."""
    blocks = _blocks(text_pieces(file))
    if is_stream(file):
        # A stream is one block: the LETOR parser reads blocks twice if a later one contains feature 0.
        blocks = iter([whole] if (whole := b"".join(blocks)) else [])
    empty = True
    for block in blocks:
        if empty:
            check_is_text(block[:4096], file)
        empty = False
        yield block
    if empty:
        raise NoDocumentsError(f"{file} is empty: expected one document per line.")


def text_lines(file: Path, errors: str = "strict") -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, from 1, read on demand."""
    number = 0
    for block in text_blocks(file):
        start = len(BYTE_ORDER_MARK) if number == 0 and block[:3] == BYTE_ORDER_MARK else 0
        while start < len(block):
            stop = block.find(b"\n", start)
            stop = len(block) if stop < 0 else stop
            number += 1
            try:
                yield number, block[start:stop].decode(errors=errors)
            except UnicodeDecodeError:
                shown = block[start : min(stop, start + 40)].decode("utf-8", "backslashreplace")
                raise DataError(f"{file}, line {number}: '{shown}' is not UTF-8: {HOW_TO_RECODE}.") from None
            start = stop + 1


def _plain_pieces(file: Path) -> Iterator[bytes]:
    with opened_unchanged(file) as opened:
        while piece := opened.read(_BLOCK_BYTES):
            yield piece


def _blocks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Join pieces to blocks, cut at line ends."""
    pending: list[bytes] = []
    size = 0
    for piece in pieces:
        pending.append(piece)
        size += len(piece)
        cut = piece.rfind(b"\n") + 1
        if size >= _BLOCK_BYTES and cut:
            pending[-1] = piece[:cut]
            yield b"".join(pending)
            pending, size = [piece[cut:]], len(piece) - cut
    rest = b"".join(pending)
    if rest:
        yield rest


def _decompressed_pieces(file: Path) -> Iterator[bytes]:
    """Decompress concatenated streams, as from `cat a.gz b.gz`; raises DataError if the last one is truncated."""
    kind = compression(file)
    new_stream = _decompressor(kind)
    stream, n_streams = None, 0
    with opened_unchanged(file) as packed:
        while piece := packed.read(_PACKED_BYTES):
            while piece:
                if stream is None:
                    # Streams may be padded with zeros, as by tar.
                    piece = piece.lstrip(b"\0") if n_streams else piece
                    if not piece:
                        break
                    stream, n_streams = new_stream(), n_streams + 1
                try:
                    unpacked = stream.decompress(piece)
                except _corruption() as error:
                    raise DataError(f"{file} is damaged, or not {kind[1:]}: {error}.") from None
                piece = b""
                if stream.eof:
                    piece, stream = stream.unused_data, None
                if unpacked:
                    yield unpacked
    if stream is not None:
        # A flipped bit may hide the end from the decompressor, so truncated and damaged look the same.
        raise DataError(f"{file} is truncated or damaged: its last {kind[1:]} stream does not end.")


def _decompressor(suffix: str) -> Callable[[], Any]:
    if suffix == ".gz":
        gzip_header = 31
        return lambda: zlib.decompressobj(wbits=gzip_header)
    if suffix == ".xz":
        return lzma.LZMADecompressor
    import zstandard

    return lambda: zstandard.ZstdDecompressor().decompressobj()


def _corruption() -> tuple[type[Exception], ...]:
    import zstandard

    return zlib.error, lzma.LZMAError, zstandard.ZstdError


def check_is_text(head: bytes, file: Path) -> None:
    """Raise DataError if a file is binary, naming its format if it is known."""
    for magic, kind, suffix in _MAGIC:
        if head.startswith(magic):
            raise DataError(f"{file} is {kind}: rename it to end in {suffix}, for instance {file.name}{suffix}.")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{file} is UTF-16 text: save it as UTF-8, for instance with iconv -f utf-16 -t utf-8.")
    if b"\0" in head:
        raise DataError(f"{file} is binary, not text: it has a NUL byte at {head.index(0):,}.")


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


def whole_texts(file: Path) -> Iterator[Text]:
    """A plain file as one text; a stream or a compressed file in blocks."""
    if is_stream(file) or compression(file):
        yield from map(TextInMemory, text_blocks(file))
        return
    with file.open("rb") as opened:
        text = TextFile(file, opened)
        check_is_text(text.reader()(0, min(4096, text.size)).tobytes(), file)
        if text.size == 0:
            raise NoDocumentsError(f"{file} is empty: expected one document per line.")
        yield text


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
