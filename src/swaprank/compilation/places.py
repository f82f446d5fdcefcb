"""Where compiled kernels are stored.

    in the package    what a wheel brings, and what `swaprank warm` adds; read by everybody
    in a cache        what this user compiled: $NUMBA_CACHE_DIR/swaprank, or ~/.cache/swaprank

Compiled kernels are executed, so none is loaded from a folder that somebody else can write to.
"""

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

PACKAGED = Path(__file__).parent / "compiled"
"""The folder in the package."""
_PACKAGE = PACKAGED.parent.stat()
"""Owner and mode of the package, as imported: a process that changes its user may not see it later."""


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
    """Whether only this user, the owner of the package or root can write to a file or folder.

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
    """Whether files can be saved to the folder, which need not exist yet."""
    return os.access(next(path for path in (folder, *folder.parents) if path.exists()), os.W_OK)


def make_private(folder: Path) -> None:
    """Make the folder if there is none, writable by its owner only; raises OSError if it exists and others can write.

    Such a folder is not made private now: others may have put files into it.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    if not is_trusted(folder):
        raise PermissionError(f"others can write to {folder}")
