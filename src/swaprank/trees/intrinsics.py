"""What Python has no word for: a barrier between kernels that run in several threads, and a prefetch.

A tree takes some two hundred steps that threads must make together. Handing each step to a thread pool would cost more
than the steps themselves, so every thread runs the whole growing kernel and meets the others at barriers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from swaprank.arrays import AnyArray, Ints
from swaprank.kernels import kernel

_SPINS = 4000
"""Looks at the flag before the core is offered to somebody else: some microseconds."""


def _element(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


def _declared(builder: Any, shape: Any, name: str) -> Any:
    return cgutils.get_or_insert_function(builder.module, shape, name)  # type: ignore[no-untyped-call]


@intrinsic
def _atomic_add(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], arguments[0], arguments[1])
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@intrinsic
def _atomic_load(typingctx: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], arguments[0], arguments[1])
        return builder.load_atomic(pointer, "seq_cst", 8)

    return types.int64(array, types.int64), generate


@intrinsic
def _offer_core(typingctx: Any) -> Any:
    """sched_yield() of the C library; Windows has none, and goes on looking."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if sys.platform == "win32":
            return context.get_dummy_value()
        function = _declared(builder, ir.FunctionType(ir.IntType(32), []), "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of a flat element that will be read soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], arguments[0], arguments[1])
        byte_pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        int32 = ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), int32, int32, int32])
        function = _declared(builder, shape, "llvm.prefetch.p0")
        builder.call(function, [byte_pointer, int32(0), int32(3), int32(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


atomic_add: Callable[[Ints, int, int], int] = _atomic_add  # type: ignore[assignment]
atomic_load: Callable[[Ints, int], int] = _atomic_load  # type: ignore[assignment]
offer_core: Callable[[], None] = _offer_core  # type: ignore[assignment]
prefetch: Callable[[AnyArray, Any], None] = _prefetch  # type: ignore[assignment]


@kernel
def barrier(meeting: Ints, n_threads: int) -> None:
    """Wait until all threads are here; `meeting` is two zeros at first: who has arrived, and how often all have met."""
    if n_threads == 1:
        return
    met = atomic_load(meeting, 1)
    if atomic_add(meeting, 0, 1) == n_threads - 1:
        atomic_add(meeting, 0, -n_threads)
        atomic_add(meeting, 1, 1)
        return
    spins = 0
    while atomic_load(meeting, 1) == met:
        spins += 1
        if spins > _SPINS:
            offer_core()
