"""Compiled kernels on disk: one file for each kernel, signature and state of the code.

The name of a file says what it was compiled from, as a digest: an edited kernel, another version of Numba or another
CPU level has another name, and is compiled. So files are never wrong, only missing; they can be copied to other
machines, and any number of processes may share them.
"""

import hashlib
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import FunctionType
from typing import Any, final

from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from swaprank.compilation.places import PACKAGED, cache_folder, is_trusted, make_private
from swaprank.compilation.stamps import compiler_stamp, digest_of, stamp
from swaprank.compilation.turns import Turn

_DAY = 86_400.0
_UNUSED_DAYS = 90
"""Files of the cache that no process has loaded for this long are deleted."""
_CHECKSUM_BYTES = 32


@final
class Storage:
    """The folders of this process's kernels."""

    def __init__(self) -> None:
        self.saved_to = cache_folder()
        """None: there is no place to save kernels."""
        self.problem = None if self.saved_to else "there is no home folder, and NUMBA_CACHE_DIR is not set"
        """Why compiled kernels are not saved, if they are not."""
        self.n_compiled = 0
        """Number of kernels that this process compiled."""
        self.turn = Turn()

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

    def take_turn(self, name: str) -> None:
        """Wait until no other process compiles this kernel."""
        if self.saved_to and self.problem is None:
            try:
                make_private(self.saved_to)
                self.turn.take(self.saved_to, name)
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


STORAGE = Storage()


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


@final
class KernelCache(NullCache):
    """The compiled signatures of one kernel, for Numba's dispatcher."""

    def __init__(self, function: FunctionType, options: dict[str, Any]) -> None:
        self.function = function
        self.options = options

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for a signature; None if it must be compiled."""
        name = self._file_name(sig)
        payload = STORAGE.load(name)
        if payload is None:
            STORAGE.take_turn(name)
            payload = STORAGE.load(name)  # Another process may have compiled it meanwhile.
        if payload is None:
            STORAGE.n_compiled += 1
            return None
        target_context.refresh()
        try:
            reduced = pickle.loads(payload)  # noqa: S301
        except ImportError:  # A kernel that it calls was in a module that has moved: the same code, so the same name.
            STORAGE.n_compiled += 1
            return None
        return CompileResult._rebuild(target_context, *reduced)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled kernel."""
        # Constants that are addresses, as of large global arrays, hold in this process only.
        if not data.library.has_dynamic_globals:
            STORAGE.save(self._file_name(sig), dumps(data._reduce()))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Whatever happens inside, other processes may compile afterwards."""
        try:
            yield
        finally:
            STORAGE.turn.end()

    def _file_name(self, sig: Any) -> str:
        function = self.function
        parts = [_compiler(), stamp(function), repr(sorted(self.options.items()))]
        for argument in sig:
            parts.extend(_type_parts(argument))
        return f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-{digest_of(parts)[:32]}.kernel"


@cache
def _compiler() -> str:
    return compiler_stamp()


def _type_parts(numba_type: Any) -> Iterator[str]:
    """A type by name, its fields by name, since two that changed places are another type, and its kernels.

    The class of a named tuple is imported by its module when a kernel is loaded: in another module, it is another type.
    """
    python_class = getattr(numba_type, "instance_class", object)
    yield f"{numba_type} {getattr(numba_type, 'fields', '')} {python_class.__module__}"
    for value in vars(python_class).values():
        if isinstance(value, Dispatcher):
            yield stamp(value.py_func)
    for field in getattr(numba_type, "types", ()):
        yield from _type_parts(field)
