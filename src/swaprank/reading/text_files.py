"""Read plain and compressed text files in blocks and lines."""

import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from swaprank.errors import DataError
from swaprank.files import compression
from swaprank.reading.pieces import check_unchanged

_BLOCK_BYTES = 16 << 20
_PIECE_BYTES = 16 << 10
"""Compressed bytes per step: few enough that the decompressed bytes stay small."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

HOW_TO_RECODE = "if the file is Latin-1, convert it with iconv -f latin1 -t utf-8"

_MAGIC = (
    (b"\x1f\x8b", "gzip-compressed", ".gz"),
    (b"\xfd7zXZ\x00", "xz-compressed", ".xz"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", ".zst"),
    (b"PAR1", "a Parquet file", ".parquet"),
)


def is_stream(file: Path) -> bool:
    """Whether this is a pipe or a device, which has no suffix and can be read only once."""
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
        raise DataError(f"{file} is empty: expected one document per line.")


def text_lines(file: Path, errors: str = "strict") -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, from 1, read on demand."""
    number = 0
    for block in text_blocks(file):
        start = len(_BYTE_ORDER_MARK) if number == 0 and block[:3] == _BYTE_ORDER_MARK else 0
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
        while piece := packed.read(_PIECE_BYTES):
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
