"""Read and write files safely: a file appears only when it is complete."""

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
    """The path; raises DataError if it is not a file."""
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


def compression(file: Path) -> str:
    """The suffix of a compressed file: .gz, .xz, .zst; empty if it is not compressed."""
    ending = file.suffix.lower()
    return ending if ending in COMPRESSED else ""


def content_suffix(file: Path) -> str:
    """The suffix in lower case without that of the compression: .txt for train.TXT.gz."""
    return Path(file.stem).suffix.lower() if compression(file) else file.suffix.lower()


def writable_target(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str] | None] = ()) -> Path:
    """The path; raises DataError if it cannot be written. Call it before long work.

    The path must not be one of the input files.
    """
    file = Path(path)
    for read in inputs:
        if read is not None and file.exists() and Path(read).exists() and file.samefile(read):
            raise DataError(f"{file} is an input file and would be overwritten: choose another output file.")
    if not file.parent.is_dir():
        raise DataError(f"there is no folder {file.parent} to write {file.name} in.")
    if file.is_dir():
        raise DataError(f"{file} is a folder: name a file in it to write to.")
    if not os.access(file.parent, os.W_OK):
        raise DataError(f"{file} cannot be written: there is no permission to write to the folder {file.parent}.")
    return file


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A stream to a temporary file, which replaces `path` on success and is removed on an error."""
    file = writable_target(path)
    part = file.with_name(f".{file.name}.{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        with part.open("xb") as raw, _compressed(compression(file), raw) as stream:
            yield stream
        part.replace(file)
    except OSError as error:
        raise DataError(f"{file} cannot be written: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _compressed(suffix: str, raw: IO[bytes]) -> Iterator[IO[bytes]]:
    if suffix == ".gz":
        import gzip

        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as packed:
            yield packed  # type: ignore[misc]  # it has all methods of a stream
    elif suffix == ".xz":
        with lzma.open(raw, "wb") as packed_xz:
            yield packed_xz
    elif suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor(write_checksum=True).stream_writer(raw, closefd=False) as packed_zst:
            yield packed_zst
    else:
        yield raw
