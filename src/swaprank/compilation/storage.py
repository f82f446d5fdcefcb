"""The files of compiled kernels, and their folders.

    in the package    what a wheel brings, and what `swaprank warm` adds; read by everybody
    in a cache        what this user compiled: $NUMBA_CACHE_DIR/swaprank, or ~/.cache/swaprank

Compiled kernels are executed, so none is loaded from a folder that somebody else can write to. One process compiles a
kernel, and others that need it wait: ten workers that start at once compile once.
"""

import hashlib
import os
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import final

try:
    import fcntl
except ImportError:  # Windows: every process compiles for itself.
    fcntl = None  # type: ignore[assignment]

PACKAGED = Path(__file__).parent / "compiled"
"""The folder in the package."""
_PACKAGE = PACKAGED.parent.stat()
"""Owner and mode of the package, as imported: a process that changes its user may not see it later."""
_DAY = 86_400.0
_UNUSED_DAYS = 90
"""Files of the cache that no process has loaded for this long are deleted."""
_CHECKSUM_BYTES = 32


def cache_folder() -> Path | None:
    """The folder of this user's compiled kernels; None for a user without a home."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen) / "swaprank"
    with suppress(RuntimeError):
        return _user_caches() / "swaprank"
    return None


def _user_caches() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def is_trusted(path: Path) -> bool:
    """True if only this user, the owner of the package or root can write to a file or folder.

    In the package, a group may that can also write to the source code.
    """
    try:
        found = path.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return True
    others = stat.S_IWOTH | (stat.S_IWGRP & ~_PACKAGE.st_mode if PACKAGED in (path, path.parent) else stat.S_IWGRP)
    return found.st_uid in {0, os.getuid(), _PACKAGE.st_uid} and not found.st_mode & others


def is_writable(folder: Path) -> bool:
    """True if files can be saved to the folder, which need not exist yet."""
    return os.access(next(path for path in (folder, *folder.parents) if path.exists()), os.W_OK)


def make_private(folder: Path) -> None:
    """Make the folder if there is none, writable by its owner only; raises OSError if it exists and others can write.

    Such a folder is not made private now: others may have put files into it.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    if not is_trusted(folder):
        raise PermissionError(f"others can write to {folder}")


@final
class CompileLock:
    """The right of this process to compile one kernel; it ends with the process, however that ends."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._file = -1

    def acquire(self, folder: Path | None, name: str) -> None:
        """Wait until no other process compiles this kernel. A file system that has no locks is no error."""
        self.release()
        if folder and fcntl:
            with suppress(OSError):
                path = folder / f"{name}.lock"
                self._file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
                self._path = path
                fcntl.flock(self._file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Let the next process compile."""
        if self._path:
            with suppress(OSError):
                self._path.unlink()
            os.close(self._file)
            self._path = None


@final
class Storage:
    """The folders of this process's kernels."""

    def __init__(self) -> None:
        self.saved_to = cache_folder()
        """None: there is no place to save kernels."""
        self.problem = None if self.saved_to else "there is no home folder, and NUMBA_CACHE_DIR is not set"
        """The reason why compiled kernels are not saved, if they are not."""
        self.n_compiled = 0
        """Number of kernels that this process compiled."""
        self.lock = CompileLock()

    def folders(self) -> list[Path]:
        """The folders that kernels are loaded from."""
        return [folder for folder in dict.fromkeys((PACKAGED, self.saved_to)) if folder and is_trusted(folder)]

    def load(self, name: str) -> bytes | None:
        """The contents of a file; None if no folder has it, or if it is damaged."""
        for folder in self.folders():
            path = folder / name
            with suppress(OSError):
                contents = path.read_bytes() if is_trusted(path) else b""
                checksum, payload = contents[:_CHECKSUM_BYTES], contents[_CHECKSUM_BYTES:]
                if hashlib.sha256(payload).digest() == checksum:
                    _mark_used(path)
                    return payload
        return None

    def lock_kernel(self, name: str) -> None:
        """Wait until no other process compiles this kernel."""
        if self.saved_to and self.problem is None:
            try:
                make_private(self.saved_to)
                self.lock.acquire(self.saved_to, name)
            except OSError as error:
                self.problem = str(error)

    def save(self, name: str, payload: bytes) -> None:
        """Write a file, whole or not at all. A full disk or a read-only folder is no error."""
        if self.saved_to is None or self.problem:
            return
        try:
            make_private(self.saved_to)
            with NamedTemporaryFile(dir=self.saved_to, suffix=".part", delete=False) as part:
                part.write(hashlib.sha256(payload).digest() + payload)
            Path(part.name).chmod(0o644)
            Path(part.name).replace(self.saved_to / name)
            if self.saved_to != PACKAGED:
                _delete_unused(self.saved_to)
        except OSError as error:
            self.problem = str(error)


def _mark_used(path: Path) -> None:
    """Files are deleted by the time of their last use, which need not be more exact than a day."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _DAY:
            path.touch()


def _delete_unused(folder: Path) -> None:
    latest = time.time() - _UNUSED_DAYS * _DAY
    for path in folder.iterdir():
        with suppress(OSError):
            if path.suffix in (".kernel", ".lock", ".part") and path.stat().st_mtime < latest:
                path.unlink()


STORAGE = Storage()
