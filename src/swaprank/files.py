"""Every file that the project writes or replaces: one safe way, and nothing half written."""

from __future__ import annotations

import hashlib
import lzma
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from swaprank.errors import DataError

COMPRESSED = (".gz", ".xz", ".zst")


def existing_file(path: str | os.PathLike[str]) -> Path:
    """The path, if there is a file."""
    file = Path(path)
    if file.is_dir():
        raise DataError(f"{file} is a folder: name one file in it.")
    if not file.exists():
        raise DataError(f"there is no file {file}: check the path (the current folder is {Path.cwd()}).")
    return file


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file in hex, as `sha256sum` prints it."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def packing(file: Path) -> str:
    """How a file is compressed, by its ending: .gz, .xz, .zst, or nothing."""
    ending = file.suffix.lower()
    return ending if ending in COMPRESSED else ""


def content_ending(file: Path) -> str:
    """What the name ends in, but for the compression: .txt of train.TXT.gz."""
    return Path(file.stem).suffix.lower() if packing(file) else file.suffix.lower()


def writable_target(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str] | None] = ()) -> Path:
    """The path, if a file can be written there: to be asked before long work whose result goes there.

    None of the inputs, which are what is read for it, may be written over.
    """
    file = Path(path)
    for read in inputs:
        if read is not None and file.exists() and Path(read).exists() and file.samefile(read):
            raise DataError(f"{file} is read, and would be written over: name another file to write to.")
    if not file.parent.is_dir():
        raise DataError(f"there is no folder {file.parent} to write {file.name} in.")
    if file.is_dir():
        raise DataError(f"{file} is a folder: name a file in it to write to.")
    if not os.access(file.parent, os.W_OK):
        raise DataError(f"{file} cannot be written: the folder {file.parent} may not be written to.")
    return file


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to that takes its place when all is written; on an error nothing is left behind."""
    file = writable_target(path)
    part = file.with_name(f".{file.name}.{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        with part.open("xb") as raw, _packed(packing(file), raw) as stream:
            yield stream
        part.replace(file)
    except OSError as error:
        raise DataError(f"{file} cannot be written: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _packed(suffix: str, raw: IO[bytes]) -> Iterator[IO[bytes]]:
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
