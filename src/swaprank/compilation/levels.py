"""CPU levels: sets of instructions that machine code may use.

Numba compiles for the CPU it runs on, so its machine code differs from CPU to CPU. Kernels are compiled for a level
instead: the same code on every CPU of that level, old or new, Intel or AMD, and so for any machine that a model or a
compiled kernel is carried to.
"""

import os
from typing import NamedTuple

import llvmlite.binding as llvm

from swaprank.errors import SwaprankError

VARIABLE = "SWAPRANK_CPU_LEVEL"
"""The environment variable that chooses a lower level than the CPU has."""


class Level(NamedTuple):
    """A level, by the names that LLVM has for CPUs and their features."""

    name: str
    cpu: str
    needs: tuple[str, ...] = ()


_X86 = (
    # Intel since Haswell (2013), AMD since Excavator (2015).
    Level("x86-64-v3", "x86-64-v3", ("avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe")),
    Level("x86-64", "x86-64"),
)
_BY_ARCHITECTURE = {"x86_64": _X86, "aarch64": (Level("arm64", "generic"),), "arm64": (Level("arm64", "generic"),)}


def cpu_levels() -> tuple[Level, ...]:
    """The levels that this CPU has, best first.

    >>> from swaprank.compilation.levels import cpu_levels
    >>> cpu_levels()[-1].needs
    ()
    """
    architecture = llvm.get_process_triple().split("-")[0]
    features = llvm.get_host_cpu_features()
    levels = _BY_ARCHITECTURE.get(architecture, (Level(architecture, "generic"),))
    return tuple(level for level in levels if all(features.get(name, False) for name in level.needs))


def chosen_level() -> Level:
    """The best level of this CPU, or the one that the environment variable names."""
    levels = cpu_levels()
    name = os.environ.get(VARIABLE, levels[0].name)
    for level in levels:
        if level.name == name:
            return level
    raise SwaprankError(f"{VARIABLE} is {name!r}; this CPU has {' and '.join(level.name for level in levels)}.")


LEVEL = chosen_level()
"""The level of this process."""
