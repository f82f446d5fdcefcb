"""How hot loops are compiled.

Kernels are serial, release the GIL and are called from ordinary threads (threads.py). Numba's own `parallel=True` is
not used: with its default threading layer the process aborts when two Python threads enter such kernels at once, and a
ranker that serves requests must never do that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile on first call, keep the machine code on disk, release the GIL, divide as IEEE 754 does."""
    return _compiled(function, fastmath=False)


def vector_kernel(function: Function) -> Function:
    """A kernel whose sums may be added up in another order, the same in every run, so that its loops vectorise."""
    return _compiled(function, fastmath={"reassoc", "nsz", "nnan"})


def _compiled(function: Function, fastmath: bool | set[str]) -> Function:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba finds no folder that it may write to, as in a container without a home.
        compiled = numba.njit(**options)(function)
    return cast(Function, compiled)
