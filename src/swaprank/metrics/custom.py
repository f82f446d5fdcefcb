"""A metric of any form: the user's function of the labels in rank order, compiled and called by its address.

The address is data like everything else in `MetricTerms`: the kernels that call it are compiled once and cached for
good, and only the user's few lines are compiled when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import takewhile
from threading import Lock
from types import FunctionType
from typing import Any, ClassVar, final

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit  # type: ignore[attr-defined]
from numba.core import types
from numba.extending import intrinsic

from swaprank.arrays import Floats, Ints
from swaprank.errors import MetricError
from swaprank.kernels import kernel
from swaprank.metrics.metric import Metric
from swaprank.metrics.ordering import GOLDEN, shuffle
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
def _evaluate(address: int, labels: Floats, handed: Floats) -> float:
    """f(labels), handed over as a copy: what the function does to its argument stays there."""
    n = len(labels)
    for r in range(n):  # not a slice: assigning one takes Numba a second to compile
        handed[r] = labels[r]
    return _call(address, handed[:n])


@kernel
def custom_value(evaluate: int, ranked: Floats, ends: Ints, query: int, work: Floats) -> float:
    """f(labels in rank order), averaged over seeded shuffles of the tied documents where there are any."""
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
    # Seeded by the query: the value depends neither on threads nor on what was measured before.
    state = np.uint64(query + 1) * GOLDEN
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
    """work[0] becomes a copy to swap in, work[1, 0] the value as it stands."""
    for r in range(len(ranked)):
        work[0, r] = ranked[r]
    work[1, 0] = _evaluate(evaluate, ranked, work[2])


@kernel
def custom_swaps(evaluate: int, norm: float, i: int, n: int, work: Floats, out: Floats) -> None:
    """Every swap of rank i evaluated anew: right for any function, n times the cost of one evaluation a row."""
    labels = work[0, :n]
    for j in range(i + 1, n):
        if labels[i] == labels[j]:
            out[j] = 0.0
        else:
            labels[i], labels[j] = labels[j], labels[i]
            out[j] = norm * (_evaluate(evaluate, labels, work[2]) - work[1, 0])
            labels[i], labels[j] = labels[j], labels[i]


def python_function(evaluate: Callable[[Floats], float]) -> FunctionType:
    """The function itself, also out of a compiled one; nothing else can be compiled."""
    python = getattr(evaluate, "py_func", evaluate)
    if not isinstance(python, FunctionType):
        raise MetricError(
            f"evaluate must be a function written with def or lambda, found {evaluate!r}; "
            "write for example evaluate=lambda labels: np.mean(labels)."
        )
    return python


@lru_cache(maxsize=128)
def compiled(python: FunctionType) -> Any:
    """The function as machine code with a fixed address; what it raises becomes NaN, which the caller reports."""
    try:
        # Indices are checked: one beyond the list must become an error, not someone else's memory.
        inner = njit(error_model="numpy", nogil=True, boundscheck=True)(python)

        @cfunc(_SIGNATURE, error_model="numpy")
        def call(pointer, n):  # type: ignore[no-untyped-def]
            labels = carray(pointer, (n,))
            try:
                return inner(labels) * 1.0  # float() does not take a bool
            except Exception:
                return np.nan

    except Exception as error:  # Numba lets out what it meets on the way: TypeError, NotImplementedError, its own.
        raise MetricError(
            "evaluate could not be compiled: it takes a float64 array of labels in rank order, gives a number, "
            f"and may use what Numba knows of Python and NumPy. Numba says: {_reason(error)}"
        ) from error
    return call


def _reason(error: Exception) -> str:
    """The beginning of Numba's message, as far as it tells a user something."""
    lines = [line.strip() for line in str(error).splitlines() if not line.startswith("Failed in")]
    told = list(
        takewhile(
            lambda line: line and not line.startswith(("There are", "During:", "def ", "<source", "File ")), lines
        )
    )
    return " ".join(told) or type(error).__name__


_ONE_AT_A_TIME = Lock()


@final
@dataclass(frozen=True, kw_only=True)
class CustomMetric(Metric):
    """Your own metric of any form: `evaluate(labels)` gets a list's labels in rank order and gives its value.

    The function is compiled by Numba when first used. Swap gains evaluate it anew for every pair, so a list of n
    documents costs n² evaluations; prefer CumulativeMetric or CascadeMetric where your metric has their form.
    Ties are averaged over 64 seeded shuffles, for no closed form can be known. The function gets a copy of the labels;
    if it raises, reads beyond them or gives no finite number, that is a MetricError.

    >>> import swaprank as sr
    >>> def first_hit(labels):
    ...     return 1.0 if labels[0] > 0 else 0.0
    >>> sr.CustomMetric(evaluate=first_hit, name="first_hit").mean([0, 1], [0.1, 0.9], [0, 2])
    1.0
    """

    functions: ClassVar = ("evaluate",)
    takes_k: ClassVar = False
    title: ClassVar = "own metric"
    needs: ClassVar = "documents"
    expectation: ClassVar = f"mean over {SHUFFLES} seeded shuffles"
    evaluate: Callable[[Floats], float]
    name: str = "custom"

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        # A list without documents is never shown to the function.
        is_empty = np.diff(lists.indptr) == 0
        address = int(self.code.address)
        return make_terms(CUSTOM, lists.labels, lists, is_empty=is_empty, empty=self.empty, evaluate=address)

    @property
    def code(self) -> Any:
        """The compiled function, kept here: who holds the metric may call its address."""
        with _ONE_AT_A_TIME:
            if "_code" not in self.__dict__:
                self.__dict__["_code"] = compiled(python_function(self.evaluate))
            return self.__dict__["_code"]

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}
