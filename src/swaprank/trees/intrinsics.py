"""Instructions that Numba does not offer: atomics, a barrier between threads, prefetch, and calls back to Python.

Growing a tree takes about two hundred steps that all threads make together. Handing each step to a thread pool would
cost more than the step itself, so every thread runs the whole growing kernel and waits for the others at barriers.
"""

import sys
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from swaprank.arrays import AnyArray, Ints
from swaprank.kernels import kernel
from swaprank.lanes import element_pointer

_SPINS = 4000
"""A waiting thread checks the barrier so often before it yields its core: a few microseconds."""


def _declare(builder: Any, signature: Any, name: str) -> Any:
    return cgutils.get_or_insert_function(builder.module, signature, name)  # type: ignore[no-untyped-call]


@intrinsic
def _atomic_add(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = element_pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@intrinsic
def _atomic_load(typingctx: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = element_pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        return builder.load_atomic(pointer, "seq_cst", 8)

    return types.int64(array, types.int64), generate


@intrinsic
def _yield_core(typingctx: Any) -> Any:
    """Call sched_yield() of the C library. Windows has none: the thread keeps spinning there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if sys.platform == "win32":
            return context.get_dummy_value()
        function = _declare(builder, ir.FunctionType(ir.IntType(32), []), "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Load the cache line of the array's element at a flat index, which will be read soon, into the L2 cache.

    The L1 cache is as large as the histogram of a block.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = element_pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        byte_pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        int32 = ir.IntType(32)
        declaration = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), int32, int32, int32])
        function = _declare(builder, declaration, "llvm.prefetch.p0")
        builder.call(function, [byte_pointer, int32(0), int32(2), int32(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic
def _call_back(typingctx: Any, address: Any, what: Any, where: Any) -> Any:
    """Call a function of the C calling convention, given its address, with two integers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        int64 = ir.IntType(64)
        function = builder.inttoptr(arguments[0], ir.FunctionType(ir.VoidType(), [int64, int64]).as_pointer())
        builder.call(function, [arguments[1], arguments[2]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


atomic_add: Callable[[Ints, int, int], int] = _atomic_add  # type: ignore[assignment]
atomic_load: Callable[[Ints, int], int] = _atomic_load  # type: ignore[assignment]
yield_core: Callable[[], None] = _yield_core  # type: ignore[assignment]
prefetch: Callable[[AnyArray, Any], None] = _prefetch  # type: ignore[assignment]
call_back: Callable[[int, int, int], None] = _call_back  # type: ignore[assignment]


@kernel
def barrier(state: Ints, n_threads: int) -> None:
    """Wait until all threads arrive.

    state: Two numbers, 0 at first: how many threads have arrived, and how often all of them have.
    """
    if n_threads == 1:
        return
    completed = atomic_load(state, 1)
    if atomic_add(state, 0, 1) == n_threads - 1:
        atomic_add(state, 0, -n_threads)
        atomic_add(state, 1, 1)
        return
    spins = 0
    while atomic_load(state, 1) == completed:
        spins += 1
        if spins > _SPINS:
            yield_core()
