"""A metric of any form: the user's function of the labels in rank order, compiled and called by its address.

The address is data like everything else in `MetricTerms`: the kernels that call it are compiled once and cached for
good, and only the user's few lines are compiled when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, final

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit  # type: ignore[attr-defined]
from numba.core import types
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from swaprank.arrays import Floats, Ints
from swaprank.errors import MetricError
from swaprank.kernels import kernel
from swaprank.metrics.metric import Metric
from swaprank.metrics.terms import CUSTOM, Lists, MetricTerms, make_terms

SHUFFLES = 64
"""Seeded orders of tied documents over which a custom metric is averaged: no closed form can be known for it."""

_SIGNATURE = types.float64(types.CPointer(types.float64), types.int64)  # type: ignore[no-untyped-call]


@intrinsic
def _call_at(typingctx: Any, address: Any, labels: Any) -> Any:
    """Call double f(double *labels, int64 n) at an address."""

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
def custom_value(evaluate: int, ranked: Floats, ends: Ints, query: int, work: Floats) -> float:
    """f(labels in rank order), averaged over seeded shuffles of the tied documents where there are any."""
    n = len(ranked)
    tied = False
    start = 0
    while start < n:
        tied |= ends[start] > start + 1
        start = ends[start]
    if not tied:
        return _call(evaluate, ranked)
    labels = work[0, :n]
    labels[:] = ranked
    # splitmix64, seeded by the query: the value depends neither on threads nor on what was measured before.
    state = np.uint64(query + 1) * np.uint64(0x9E3779B97F4A7C15)
    total = 0.0
    for _ in range(SHUFFLES):
        start = 0
        while start < n:
            end = ends[start]
            for r in range(end - 1, start, -1):
                state += np.uint64(0x9E3779B97F4A7C15)
                z = state
                z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                other = start + np.int64((z ^ (z >> np.uint64(31))) % np.uint64(r - start + 1))
                labels[r], labels[other] = labels[other], labels[r]
            start = end
        total += _call(evaluate, labels)
    return total / SHUFFLES


@kernel
def prepare_custom(evaluate: int, ranked: Floats, work: Floats) -> None:
    """work[0] becomes a copy to swap in, work[1, 0] the value as it stands."""
    n = len(ranked)
    work[0, :n] = ranked
    work[1, 0] = _call(evaluate, work[0, :n])


@kernel
def custom_swaps(evaluate: int, norm: float, i: int, n: int, work: Floats, out: Floats) -> None:
    """Every swap of rank i evaluated anew: right for any function, n times the cost of one evaluation a row."""
    labels = work[0, :n]
    for j in range(i + 1, n):
        if labels[i] == labels[j]:
            out[j] = 0.0
        else:
            labels[i], labels[j] = labels[j], labels[i]
            out[j] = norm * (_call(evaluate, labels) - work[1, 0])
            labels[i], labels[j] = labels[j], labels[i]


@lru_cache(maxsize=128)
def compiled(evaluate: Callable[[Floats], float]) -> Any:
    """The function as machine code with a fixed address; what it raises becomes NaN, which the caller reports."""
    try:
        inner = njit(error_model="numpy", nogil=True)(evaluate)

        @cfunc(_SIGNATURE, error_model="numpy")
        def call(pointer, n):  # type: ignore[no-untyped-def]
            labels = carray(pointer, (n,))
            try:
                return float(inner(labels))
            except Exception:
                return np.nan

    except NumbaError as error:
        reason = str(error).strip().splitlines()
        raise MetricError(
            "evaluate could not be compiled: it takes a float64 array of labels in rank order, gives a number, "
            f"and may use what Numba knows of Python and NumPy. Numba says: {' '.join(reason[:6])}"
        ) from error
    return call


@final
@dataclass(frozen=True, kw_only=True)
class CustomMetric(Metric):
    """Your own metric of any form: `evaluate(labels)` gets a list's labels in rank order and gives its value.

    The function is compiled by Numba when first used. Swap gains evaluate it anew for every pair, so a list of n
    documents costs n² evaluations; prefer CumulativeMetric or CascadeMetric where your metric has their form.
    Ties are averaged over 64 seeded shuffles, for no closed form can be known.

    >>> import swaprank as sr
    >>> def first_hit(labels):
    ...     return 1.0 if labels[0] > 0 else 0.0
    >>> sr.CustomMetric(evaluate=first_hit, name="first_hit").mean([0, 1], [0.1, 0.9], [0, 2])
    1.0
    """

    takes_functions: ClassVar = True
    takes_k: ClassVar = False
    title: ClassVar = "own metric"
    evaluate: Callable[[Floats], float]
    name: str = "custom"

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        # A list without documents is never shown to the function.
        hopeless = np.diff(lists.indptr) == 0
        address = int(compiled(self.evaluate).address)
        return make_terms(CUSTOM, lists.labels, lists, hopeless=hopeless, empty=self.empty, evaluate=address)
