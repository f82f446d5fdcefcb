"""How kernels are compiled.

Kernels are serial, release the GIL and are called from ordinary threads (threads.py). Numba's own `parallel=True` is
not used: with its default threading layer, the process aborts if two Python threads enter such kernels at once, as
the threads of a server may.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile on first call, cache on disk, release the GIL, divide as in IEEE 754."""
    return _compiled(function, fastmath=False)


def vector_kernel(function: Function) -> Function:
    """A kernel in which the compiler may reorder sums, the same way in every run, to vectorise loops."""
    return _compiled(function, fastmath={"reassoc", "nsz", "nnan"})


def _compiled(function: Function, fastmath: bool | set[str]) -> Function:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba finds no writable cache folder, as in a container without a home.
        compiled = numba.njit(**options)(function)
    return cast(Function, compiled)
