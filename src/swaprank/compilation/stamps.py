"""Stamps: digests of all that the machine code of a kernel depends on.

Numba looks at the file of a kernel, and so misses edits of the kernels that it calls, and recompiles after edits of a
comment. A stamp is made of the bytecode of a kernel and of everything that the bytecode names: constants, types, and
other kernels with all that they name in turn. Comments, docstrings and times of files do not matter.
"""

import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

from swaprank.compilation import target
from swaprank.compilation.levels import LEVEL


@cache
def stamp(function: FunctionType) -> str:
    """The stamp of a kernel's Python function.

    >>> from swaprank.compilation.stamps import stamp
    >>> def two():
    ...     '''A docstring.'''
    ...     return 2
    >>> def also_two():
    ...     '''Another one.'''
    ...     return 2
    >>> stamp(two) == stamp(also_two)
    True
    """
    return digest_of(_parts(function, set()))


def digest_of(parts: Iterable[str]) -> str:
    """One digest of several texts.

    >>> from swaprank.compilation.stamps import digest_of
    >>> digest_of(["ab", "c"]) == digest_of(["a", "bc"])
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def _parts(function: FunctionType, seen: set[Any]) -> Iterator[str]:
    """Everything that a function's code depends on, each function once."""
    if function in seen:
        return
    seen.add(function)
    names: set[str] = set()
    yield from _code_parts(function.__code__, function.__doc__, names)
    named = {name: function.__globals__[name] for name in sorted(names) if name in function.__globals__}
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in [*named.values(), *(function.__defaults__ or ()), *cells]:
        yield from _value_parts(value, seen)


def _code_parts(code: CodeType, docstring: str | None, names: set[str]) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount))
    names.update(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant, None, names)
        elif constant != docstring:
            yield repr(constant)


def _value_parts(value: Any, seen: set[Any]) -> Iterator[str]:
    if isinstance(value, Dispatcher):
        yield repr(sorted(value.targetoptions.items(), key=str))
        yield from _parts(value.py_func, seen)
    elif isinstance(value, FunctionType | _Intrinsic):
        # What an @overload or an intrinsic generates is not in the bytecode of the function, but in its file.
        definition = value._defn if isinstance(value, _Intrinsic) else value
        yield _file_contents(inspect.getfile(definition))
        yield from _parts(definition, seen)
    elif isinstance(value, type):
        fields = inspect.get_annotations(value) if hasattr(value, "_fields") else {}
        yield f"{value.__module__}.{value.__qualname__} {fields}"
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    elif isinstance(value, ModuleType):
        yield value.__name__
    else:
        yield repr(value)


@cache
def _file_contents(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def compiler_stamp() -> str:
    """The stamp of the compiler: versions of Python, Numba and LLVM, the CPU level, and our own part of it."""
    versions = f"{sys.version_info[:2]} {numba.__version__} {llvmlite.__version__} {np.__version__.split('.')[0]}"
    return digest_of((versions, llvm.get_process_triple(), str(LEVEL), _file_contents(target.__file__)))
