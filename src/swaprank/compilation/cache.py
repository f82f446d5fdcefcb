"""Compiled kernels on disk: one file for each kernel, signature and state of the code.

The name of a file says what it was compiled from, as a digest: an edited kernel, another version of Numba or another
CPU level has another name, and is compiled. So files are never wrong, only missing; they can be copied to other
machines, and any number of processes may share them.
"""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FunctionType
from typing import Any, final

from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from swaprank.compilation.stamps import compiler_stamp, digest_of, stamp
from swaprank.compilation.storage import STORAGE
from swaprank.compilation.target import Kernel


def compile_kernel(function: Any, **options: Any) -> Kernel:
    """Compile on the first call, or load from the cache."""
    # Numba passes options that a callee does not set from caller to callee: fastmath would break `elementary`.
    options |= {"nopython": True, "nogil": True, "error_model": "numpy", "fastmath": False}
    compiled = Kernel(function, targetoptions=options)
    compiled._cache = KernelCache(function, options)
    return compiled


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
            STORAGE.lock_kernel(name)
            payload = STORAGE.load(name)  # Another process may have compiled it meanwhile.
        if payload is None:
            STORAGE.n_compiled += 1
            return None
        target_context.refresh()
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(payload))  # noqa: S301
        except Exception:
            # A kernel that it calls was in a module that has moved: the same code, so the same name. Or something else
            # wrote the file: there are as many errors as ways to damage a pickle.
            STORAGE.n_compiled += 1
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled kernel."""
        # Constants that are addresses, as of large global arrays, hold in this process only.
        if not data.library.has_dynamic_globals:
            STORAGE.save(self._file_name(sig), dumps(data._reduce()))

    @contextmanager
    def released_lock(self) -> Iterator[None]:
        """Let other processes compile afterwards, whatever happens inside."""
        try:
            yield
        finally:
            STORAGE.lock.release()

    def _file_name(self, sig: Any) -> str:
        function = self.function
        parts = [_compiler(), stamp(function), repr(sorted(self.options.items()))]
        for argument in sig:
            parts.extend(_type_parts(argument))
        module, name = function.__module__.rpartition(".")[2], function.__name__.strip("<>")
        return f"{module}.{name}-{digest_of(parts)[:32]}.kernel"


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
