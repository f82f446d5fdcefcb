"""How kernels are compiled: on their first call, for a CPU level (compilation/levels.py), and cached on disk.

Kernels are serial, release the GIL and are called from ordinary threads (threads.py). Numba's own `parallel=True` is
not used: with its default threading layer, the process aborts if two Python threads enter such kernels at once, as
the threads of a server may.
"""

import re
from collections.abc import Callable
from itertools import takewhile
from typing import Any, TypeVar, cast

from swaprank.compilation.cache import KernelCache
from swaprank.compilation.target import Kernel

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile on first call, cache on disk, release the GIL, divide as in IEEE 754."""
    return _compiled(function)


def inlined_kernel(function: Function) -> Function:
    """A kernel that becomes a part of its callers: a tuple returned through memory would delay the next step."""
    return _compiled(function, forceinline=True)


def _compiled(function: Function, **options: Any) -> Function:
    # Numba passes options that a callee does not set from caller to callee: fastmath would break `elementary`.
    options |= {"nopython": True, "nogil": True, "error_model": "numpy", "fastmath": False}
    compiled: Any = Kernel(function, targetoptions=options)
    compiled._cache = KernelCache(compiled.py_func, options)
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
