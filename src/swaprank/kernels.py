"""How kernels are compiled.

Kernels are serial, release the GIL and are called from ordinary threads (threads.py). Numba's own `parallel=True` is
not used: with its default threading layer, the process aborts if two Python threads enter such kernels at once, as
the threads of a server may.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile
from pickle import UnpicklingError
from typing import Any, TypeVar, cast

from numba.core.caching import FunctionCache

from swaprank.compilation.target import Kernel

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile on first call, cache on disk, release the GIL, divide as in IEEE 754."""
    return _compiled(function, fastmath=False)


def vector_kernel(function: Function) -> Function:
    """A kernel in which the compiler may reorder sums, the same way in every run, to vectorize loops."""
    return _compiled(function, fastmath={"reassoc", "nsz", "nnan"})


class KernelCache(FunctionCache):
    """Numba's cache on disk; an index that names types which no longer exist, as after an update, counts as empty."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for a signature; None if it must be compiled."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError, EOFError, UnpicklingError):
            self.flush()  # type: ignore[no-untyped-call]
            return None


def _compiled(function: Function, fastmath: bool | set[str]) -> Function:
    compiled = Kernel(
        function, targetoptions={"nopython": True, "nogil": True, "error_model": "numpy", "fastmath": fastmath}
    )
    try:
        compiled._cache = KernelCache(function)  # type: ignore[no-untyped-call]
    except RuntimeError:  # Numba finds no writable cache folder, as in a container without a home.
        pass
    return cast(Function, compiled)


def numba_reason(error: Exception) -> str:
    r"""The first lines of the message of a failed compilation, up to Numba's own traceback, without colors.

    >>> from swaprank.kernels import numba_reason
    >>> numba_reason(TypeError("Failed in nopython mode\n\x1b[1mUntyped name 'x'\x1b[0m\nDuring: typing of call"))
    "Untyped name 'x'"
    """
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    lines = [line for line in lines if not line.startswith("Failed in")]
    traceback = ("There are", "During:", "def ", "<source", "File ")
    return " ".join(takewhile(lambda line: line and not line.startswith(traceback), lines)) or type(error).__name__
