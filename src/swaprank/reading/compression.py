"""Files in and out, compressed or not: bytes by the block, and nothing half written."""

from __future__ import annotations

import lzma
import mmap
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

from swaprank.errors import DataError

COMPRESSED = (".gz", ".xz", ".zst")

Block: TypeAlias = bytes | mmap.mmap
"""Text that ends at the end of a line; a whole plain file is one block, mapped rather than read."""

_BLOCK_BYTES = 16 << 20
_PIECE_BYTES = 16 << 10
"""Compressed bytes taken at a time: little enough that what they expand to stays small."""

_MAGIC = (
    (b"\x1f\x8b", "gzip-compressed", ".gz"),
    (b"\xfd7zXZ\x00", "xz-compressed", ".xz"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", ".zst"),
    (b"PAR1", "a Parquet file", ".parquet"),
)


def existing_file(path: str | os.PathLike[str]) -> Path:
    """The path, if there is a file."""
    file = Path(path)
    if file.is_dir():
        raise DataError(f"{file} is a folder: name one file in it.")
    if not file.exists():
        raise DataError(f"there is no file {file}: check the path (the current folder is {Path.cwd()}).")
    return file


def text_blocks(file: Path) -> Iterator[Block]:
    """The bytes of a file in blocks that end at a line's end; an empty or binary one is refused."""
    blocks = _unpacked_blocks(file) if file.suffix in COMPRESSED else _mapped_file(file)
    empty = True
    for block in blocks:
        if empty:
            _refuse_binary(bytes(block[:4096]), file)
        empty = False
        yield block
    if empty:
        raise DataError(f"{file} is empty: expected one document a line.")


def text_lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, from 1; bytes that are not UTF-8 show as escapes."""
    number = 0
    for block in text_blocks(file):
        for line in bytes(block).removeprefix(b"\xef\xbb\xbf" if number == 0 else b"").split(b"\n"):
            number += 1
            yield number, line.decode("utf-8", "backslashreplace")
        # A block ends with a newline, after which split gives one line too many.
        number -= 1


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to that takes its place when all is written; on an error nothing is left behind."""
    file = Path(path)
    if not file.parent.is_dir():
        raise DataError(f"there is no folder {file.parent} to write {file.name} in.")
    part = file.with_name(f".{file.name}.{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        with part.open("xb") as raw, _packing(file.suffix, raw) as stream:
            yield stream
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _packing(suffix: str, raw: IO[bytes]) -> Iterator[IO[bytes]]:
    if suffix == ".gz":
        import gzip

        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as packed:
            yield packed  # type: ignore[misc]  # a stream in all but name
    elif suffix == ".xz":
        with lzma.open(raw, "wb") as packed_xz:
            yield packed_xz
    elif suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor(write_checksum=True).stream_writer(raw, closefd=False) as packed_zst:
            yield packed_zst
    else:
        yield raw


def _mapped_file(file: Path) -> Iterator[Block]:
    with file.open("rb") as opened:
        if os.fstat(opened.fileno()).st_size:
            yield mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)


def _unpacked_blocks(file: Path) -> Iterator[Block]:
    pending: list[bytes] = []
    size = 0
    for piece in _unpacked_pieces(file):
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


def _unpacked_pieces(file: Path) -> Iterator[bytes]:
    """Decompress stream after stream, as `cat a.gz b.gz` makes them, and see that the last one is whole."""
    new_stream = _decompressor(file.suffix)
    stream = None
    with file.open("rb") as packed:
        while piece := packed.read(_PIECE_BYTES):
            while piece:
                stream = stream or new_stream()
                try:
                    unpacked = stream.decompress(piece)
                except _corruption() as error:
                    raise DataError(f"{file} is damaged, or not {file.suffix[1:]}: {error}.") from None
                piece = b""
                if stream.eof:
                    # Streams may be padded with zeros.
                    piece, stream = stream.unused_data.lstrip(b"\0"), None
                if unpacked:
                    yield unpacked
    if stream is not None:
        raise DataError(f"{file} is truncated: it ends in the middle of the {file.suffix[1:]} stream.")


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


def _refuse_binary(head: bytes, file: Path) -> None:
    for magic, kind, suffix in _MAGIC:
        if head.startswith(magic):
            raise DataError(f"{file} is {kind}: rename it to end in {suffix}, for instance {file.name}{suffix}.")
    if b"\0" in head:
        raise DataError(f"{file} is binary, not text: it has a NUL byte at {head.index(0):,}.")
