"""Kernels for custom metrics: call the user's compiled function by its address."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.ordering import GOLDEN, MIXER, shuffle

SHUFFLES = 64
"""A custom metric has no closed form for ties: it is averaged over this many seeded orders of the tied documents."""


@intrinsic
def _call_at(typingctx: Any, address: Any, labels: Any) -> Any:
    """Call the function double f(double *labels, int64 n) at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double, int64 = ir.DoubleType(), ir.IntType(64)
        array = context.make_array(signature.args[1])(context, builder, arguments[1])
        pointer_type = ir.FunctionType(double, [double.as_pointer(), int64]).as_pointer()
        function = builder.inttoptr(arguments[0], pointer_type)
        length = builder.extract_value(array.shape, 0)
        return builder.call(function, [array.data, length])

    return types.float64(types.int64, labels), generate


_call: Callable[[int, Floats], float] = _call_at  # type: ignore[assignment]


@kernel
def _evaluate(address: int, labels: Floats, copied: Floats) -> float:
    """f(labels), called with a copy, because the function may change its argument."""
    n = len(labels)
    for r in range(n):  # a slice assignment takes Numba a second to compile
        copied[r] = labels[r]
    return _call(address, copied[:n])


@kernel
def custom_value(evaluate: int, ranked: Floats, ends: Ints, work: Floats) -> float:
    """f(labels in rank order); if documents are tied, averaged over seeded shuffles of them."""
    n = len(ranked)
    tied = False
    start = 0
    while start < n:
        tied |= ends[start] > start + 1
        start = ends[start]
    labels = work[0, :n]
    for r in range(n):
        labels[r] = ranked[r]
    rounds = SHUFFLES if tied else 1
    # Seeded by the list, so the value depends neither on threads nor on other queries.
    state = GOLDEN
    for r in range(n):
        state = (state ^ np.uint64(np.float64(labels[r]).view(np.int64))) * MIXER
    total = 0.0
    for _ in range(rounds):
        start = 0
        while start < n:
            state = shuffle(labels[start : ends[start]], state)
            start = ends[start]
        total += _evaluate(evaluate, labels, work[1])
    return total / rounds


@kernel
def prepare_custom(evaluate: int, ranked: Floats, work: Floats) -> None:
    """work[0]: a copy in which to swap; work[1, 0]: the value without a swap."""
    for r in range(len(ranked)):
        work[0, r] = ranked[r]
    work[1, 0] = _evaluate(evaluate, ranked, work[2])


@kernel
def custom_swaps(evaluate: int, norm: float, i: int, n: int, work: Floats, out: Floats) -> None:
    """Evaluate the list after every swap with rank i: correct for any function, n evaluations per rank."""
    labels = work[0, :n]
    for j in range(i + 1, n):
        if labels[i] == labels[j]:
            out[j] = 0.0
        else:
            labels[i], labels[j] = labels[j], labels[i]
            out[j] = norm * (_evaluate(evaluate, labels, work[2]) - work[1, 0])
            labels[i], labels[j] = labels[j], labels[i]
