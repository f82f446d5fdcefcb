"""One process compiles a kernel, and others that need it wait: ten workers that start at once compile once."""

import os
from contextlib import suppress
from pathlib import Path
from typing import final

try:
    import fcntl
except ImportError:  # Windows: every process compiles for itself.
    fcntl = None  # type: ignore[assignment]


@final
class Turn:
    """The right of this process to compile one kernel; it ends with the process, however that ends."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._file = -1

    def take(self, folder: Path | None, name: str) -> None:
        """Wait until no other process compiles this kernel. A file system that has no locks is no error."""
        self.end()
        if folder and fcntl:
            with suppress(OSError):
                path = folder / f"{name}.lock"
                self._file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
                self._path = path
                fcntl.flock(self._file, fcntl.LOCK_EX)

    def end(self) -> None:
        """Let the next process have its turn."""
        if self._path:
            with suppress(OSError):
                self._path.unlink()
            os.close(self._file)
            self._path = None
