"""Read and write files safely: a file appears only when it is complete."""

import hashlib
import lzma
import os
import re
import signal
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from swaprank.errors import DataError

COMPRESSED = (".gz", ".xz", ".zst")
_MOST_DIGITS = 10
"""The number of an open file has fewer."""
_MOST_LINKS = 40
"""Links to links that are followed, as many as Linux follows."""
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def existing_file(path: str | os.PathLike[str]) -> Path:
    """The path; raises DataError if it is not a file that can be read."""
    file = Path(path)
    try:
        is_folder, exists = file.is_dir(), file.exists()
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}.") from None
    if is_folder:
        raise DataError(f"{file} is a folder: name one file in it.")
    if not exists:
        raise DataError(f"there is no file {file}: check the path (the current folder is {Path.cwd()}).")
    if not os.access(file, os.R_OK):
        raise DataError(f"{file} cannot be read: there is no permission.")
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
    if written_directly(file):
        return file
    found = _status(file)
    for read in inputs:
        if found is not None and read is not None and Path(read).exists() and file.samefile(read):
            raise DataError(f"{file} is an input file and would be overwritten: choose another output file.")
    if found is not None and stat.S_ISDIR(found.st_mode):
        raise DataError(f"{file} is a folder: name a file in it to write to.")
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise DataError(f"{file} is a disk or a socket, not a file: choose another output file.")
    # The new file is prepared next to the one that it replaces, which may be elsewhere than a link to it.
    folder = _behind_links(file).parent
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder} to write {file.name} in.")
    if not os.access(folder, os.W_OK):
        raise DataError(f"{file} cannot be written: there is no permission to write to the folder {folder}.")
    if found is not None and not os.access(file, os.W_OK):
        raise DataError(f"{file} is write-protected: choose another output file, or allow writing with chmod u+w.")
    return file


def file_in(folder: Path, *names: str) -> Path:
    """A path in a folder, named by us and not by the user; raises DataError if a link leads out of the folder there.

    >>> from pathlib import Path
    >>> from swaprank.files import file_in
    >>> file_in(Path("results"), "Fold1", "mart.json").as_posix()
    'results/Fold1/mart.json'
    """
    path = folder
    for name in names:
        path = path / name
        if path.is_symlink():
            raise DataError(
                f"{path} is a link to {path.readlink()}, which would be overwritten: remove the link, or choose "
                "another output."
            )
    return path


def written_directly(path: str | os.PathLike[str]) -> bool:
    """True for a device such as /dev/null, a pipe, or an open file such as /dev/stdout: nothing to replace."""
    file = Path(path)
    found = _status(file)
    is_stream = found is not None and (stat.S_ISCHR(found.st_mode) or stat.S_ISFIFO(found.st_mode))
    return is_stream or _open_file(file) is not None


def is_standard_output(path: str | os.PathLike[str] | None) -> bool:
    """True if a path, such as /dev/stdout, leads to the standard output of this process.

    >>> from swaprank.files import is_standard_output
    >>> is_standard_output("scores.txt"), is_standard_output(None)
    (False, False)
    """
    return path is not None and _open_file(Path(path)) == 1


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A stream to a temporary file, which replaces `path` on success and is removed on an error.

    A link stays, and what it links to is replaced. An existing file keeps its permissions, and its owner if possible. A
    device or a pipe is not replaced but written to.
    """
    file = writable_target(path)
    opened = _directly(file) if written_directly(file) else _beside(_behind_links(file))
    try:
        with opened as raw, _compressed(compression(file), raw) as stream:
            yield stream
    except OSError as error:
        if isinstance(error, BrokenPipeError) and is_standard_output(file):
            # The reader has what it wanted, as with `| head`.
            raise
        raise DataError(f"{file} cannot be written: {error.strerror or error}.") from error


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C while files are written that belong together.

    Signals that Python code handles arrive after the block, however often they were sent.

    >>> import signal
    >>> from swaprank.files import uninterrupted
    >>> try:
    ...     with uninterrupted():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("saved")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    saved
    interrupted
    """
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread is interrupted.
        yield
        return
    arrived: list[int] = []
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    held = {number: handler for number, handler in before.items() if callable(handler)}
    try:
        for number in held:
            signal.signal(number, lambda number, frame: arrived.append(number))
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
    if arrived:
        signal.raise_signal(arrived[0])


@contextmanager
def _directly(file: Path) -> Iterator[IO[bytes]]:
    number = _open_file(file)
    # A copy of a descriptor goes on where others have written to: with `>> file`, nothing is lost.
    with file.open("wb") if number is None else os.fdopen(os.dup(number), "wb") as stream:
        yield stream


@contextmanager
def _beside(file: Path) -> Iterator[IO[bytes]]:
    """A stream to a new file in the same folder, which takes the place of `file` when it is safe on disk."""
    part, descriptor = _new_part(file)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            _keep_permissions(file, descriptor)
            _remove_abandoned_parts(file)
            yield stream
            stream.flush()
            os.fsync(descriptor)
        part.replace(file)
        _sync_folder(file.parent)
    finally:
        part.unlink(missing_ok=True)


def _new_part(file: Path) -> tuple[Path, int]:
    """A new file and its descriptor, locked as long as this process lives."""
    # Private until it has the permissions of the file that it replaces.
    mode = 0o600 if file.exists() else 0o666
    while True:
        # Also for reading, because bins are filled in a memory map.
        part = file.with_name(f"{_part_name(file)}{os.urandom(4).hex()}.part")
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), mode)
        _lock(descriptor, wait=True)
        if part.exists():
            return part, descriptor
        # Another process has found it before it was locked, and has removed it.
        os.close(descriptor)


def _part_name(file: Path) -> str:
    """The beginning of the names of the temporary files for a file; a file name has at most 255 bytes."""
    return f".{os.fsencode(file.name)[:200].decode('utf-8', 'ignore')}."


def _keep_permissions(file: Path, descriptor: int) -> None:
    if file.exists() and hasattr(os, "fchmod"):
        old = file.stat()
        # Changing the owner, which only root may do, clears some bits of the mode.
        with suppress(OSError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _remove_abandoned_parts(file: Path) -> None:
    """Remove what processes left that were killed while they wrote the same file: nobody holds its lock."""
    pattern = re.compile(re.escape(_part_name(file)) + "[0-9a-f]{8}[.]part")
    with suppress(OSError):
        abandoned = [each for each in file.parent.iterdir() if pattern.fullmatch(each.name)]
        for part in abandoned:
            with suppress(OSError):
                _remove_if_abandoned(part)


def _remove_if_abandoned(part: Path) -> None:
    # Somebody else may have put a pipe there, at which opening would wait, or a link.
    descriptor = os.open(part, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and _lock(descriptor, wait=False):
            part.unlink()
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file until it is closed; False if another process has locked it, or if there are no locks."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder survive a power cut, on systems where folders can be opened."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _status(file: Path) -> os.stat_result | None:
    """The file that a path leads to; None if there is nothing yet."""
    try:
        return file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise DataError(f"{file} cannot be written: {getattr(error, 'strerror', None) or error}.") from None


def _open_file(file: Path) -> int | None:
    """The number of an open file of this process, for a path such as /dev/stdout or /dev/fd/3."""
    folders = (Path("/dev/fd"), Path("/proc/self/fd").resolve())
    for _ in range(_MOST_LINKS):
        if (
            file.name.isdecimal()
            and len(file.name) < _MOST_DIGITS
            and (file.parent in folders or file.parent.resolve() in folders)
        ):
            return int(file.name)
        if not file.is_symlink():
            return None
        file = file.parent / file.readlink()
    return None


def _behind_links(file: Path) -> Path:
    return Path(os.path.realpath(file)) if file.is_symlink() else file


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
