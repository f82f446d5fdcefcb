"""A metric of any form: a user's function of the labels in rank order, compiled and called by its address.

The address is a plain integer in `MetricTerms`. So the kernels that call it are compiled once and cached, and only the
user's function is compiled on first use.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from threading import Lock
from types import FunctionType
from typing import Any, ClassVar, final

import numpy as np
from numba import carray, cfunc, njit  # type: ignore[attr-defined]
from numba.core import types

from swaprank.arrays import Floats
from swaprank.errors import MetricError
from swaprank.kernels import numba_reason
from swaprank.metrics.custom_kernels import SHUFFLES
from swaprank.metrics.metric import Metric
from swaprank.metrics.terms import CUSTOM, Lists, MetricTerms, make_terms

_SIGNATURE = types.float64(types.CPointer(types.float64), types.int64)  # type: ignore[no-untyped-call]


def python_function(evaluate: Callable[[Floats], float]) -> FunctionType:
    """The Python function, unwrapped if it was compiled; raises MetricError for any other callable."""
    python = getattr(evaluate, "py_func", evaluate)
    if not isinstance(python, FunctionType):
        raise MetricError(
            f"evaluate must be a function written with def or lambda, found {evaluate!r}; "
            "write for example evaluate=lambda labels: labels.mean()."
        )
    return python


@lru_cache(maxsize=128)
def compiled(python: FunctionType) -> Any:
    """The function as machine code at a fixed address; it returns NaN if the function raises."""
    try:
        # With bounds checks, an index beyond the list raises instead of reading foreign memory.
        inner = njit(error_model="numpy", nogil=True, boundscheck=True)(python)

        @cfunc(_SIGNATURE, error_model="numpy")
        def call(pointer, n):  # type: ignore[no-untyped-def]
            labels = carray(pointer, (n,))
            try:
                return inner(labels) * 1.0  # float() does not accept a bool
            except Exception:
                return np.nan

    except Exception as error:  # Numba raises many kinds: TypeError, NotImplementedError, its own.
        raise MetricError(
            "evaluate could not be compiled: it must take a float64 array of labels in rank order, return a number, "
            f"and use only what Numba supports of Python and NumPy. Numba says: {numba_reason(error)}"
        ) from error
    return call


_COMPILING = Lock()


@final
@dataclass(frozen=True, kw_only=True)
class CustomMetric(Metric):
    """Your own metric of any form: `evaluate(labels)` takes a list's labels in rank order and returns its value.

    Numba compiles the function on first use. Swap gains evaluate it once per pair, so a list of n documents costs n²
    evaluations; prefer CumulativeMetric or CascadeMetric if your metric has their form. Ties are averaged over 64
    seeded shuffles. The function is called with a copy of the labels. If it raises, reads beyond the list or does not
    return a finite number, a MetricError is raised.

    >>> import swaprank as sr
    >>> def first_hit(labels):
    ...     return 1.0 if labels[0] > 0 else 0.0
    >>> sr.metrics.CustomMetric(evaluate=first_hit, name="first_hit").mean([0, 1], [0.1, 0.9], [0, 2])
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
        # The function is never called with an empty list.
        is_empty = np.diff(lists.indptr) == 0
        address = int(self.code.address)
        return make_terms(CUSTOM, lists.labels, lists, is_empty=is_empty, empty=self.empty, evaluate=address)

    @property
    def code(self) -> Any:
        """The compiled function; the metric keeps it alive, so its address stays valid."""
        with _COMPILING:
            if "_code" not in self.__dict__:
                self.__dict__["_code"] = compiled(python_function(self.evaluate))
            return self.__dict__["_code"]

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}
