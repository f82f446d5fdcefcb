"""The `@kernel` decorator: compiled on the first call, for a CPU level (compilation/levels.py), and cached on disk.

Kernels are serial, release the GIL and are called from ordinary threads (threads.py). Numba's own `parallel=True` is
not used: with its default threading layer, the process aborts if two Python threads enter such kernels at once, as
the threads of a server may.

Our compiler (compilation/target.py, cache.py) is derived from inner classes of Numba. If they changed, kernels are
compiled by Numba itself.
"""

from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile
from typing import Any, TypeVar, cast

import numba
import numpy as np

from swaprank.compilation.storage import STORAGE
from swaprank.errors import CompilerWarning, SwaprankError, warn_user

Function = TypeVar("Function", bound=Callable[..., Any])

NEWEST_TRIED = (0, 68)
"""The newest version of Numba that all tests ran with. On a newer one, our compiler is tried before it is used."""


def _with_numba(function: Any, **options: Any) -> Any:
    """Compile for this CPU with Numba's own compiler and cache; `options` are of our compiler."""
    compiled = numba.njit(nogil=True, error_model="numpy", fastmath=False)(function)
    with suppress(RuntimeError):  # There is no folder to save to.
        compiled.enable_caching()
    return compiled


def _try_out(compile_kernel: Callable[..., Any]) -> None:
    """Compile, save or load a kernel that calls a kernel and allocates memory: it takes all that we take from Numba."""
    half = compile_kernel(lambda x: x / 2)

    def total_of_halves(values: Any) -> Any:
        halves = np.empty(len(values))
        for i in range(len(values)):
            halves[i] = half(values[i])
        return halves.sum()

    if compile_kernel(total_of_halves)(np.array([1.0, 2.0])) != 1.5:
        raise ArithmeticError("a kernel returns another number than Python")


def _chosen_compiler() -> Callable[..., Any]:
    """Our compiler; Numba's, with one warning, if ours does not fit the installed version."""
    try:
        from swaprank.compilation.cache import compile_kernel

        if numba.version_info[:2] > NEWEST_TRIED:
            _try_out(compile_kernel)
    except SwaprankError:
        raise
    except Exception as error:  # Changed classes may fail in any way.
        reason = f"swaprank's compiler does not fit Numba {numba.__version__} ({type(error).__name__}: {error})"
    else:
        return compile_kernel
    STORAGE.problem = f"{reason}; Numba compiles and caches kernels itself"
    warn_user(
        CompilerWarning(
            f"{reason}, so Numba compiles the kernels itself: the first fit takes longer, and the last digits of a "
            f"model may differ from those on other CPUs. Tried were versions up to {'.'.join(map(str, NEWEST_TRIED))}."
        )
    )
    return _with_numba


_compiled = _chosen_compiler()


def kernel(function: Function) -> Function:
    """Compile on first call, cache on disk, release the GIL, divide as in IEEE 754."""
    return cast(Function, _compiled(function))


def inlined_kernel(function: Function) -> Function:
    """A kernel that becomes a part of its callers: a tuple returned through memory would delay the next step."""
    return cast(Function, _compiled(function, forceinline=True))


def numba_reason(error: Exception) -> str:
    r"""The first lines of the message of a failed compilation, up to Numba's own traceback, without colors.

    >>> from swaprank.kernels import numba_reason
    >>> numba_reason(TypeError("Failed in nopython mode\n\x1b[1mUntyped name 'x'\x1b[0m\nDuring: typing of call"))
    "Untyped name 'x'"
    """
    first, *colored = str(error).split("\x1b[")
    plain = first + "".join(text.partition("m")[2] for text in colored)
    lines = [line.strip() for line in plain.splitlines()]
    lines = [line for line in lines if not line.startswith("Failed in")]
    traceback = ("There are", "During:", "def ", "<source", "File ")
    return " ".join(takewhile(lambda line: line and not line.startswith(traceback), lines)) or type(error).__name__
