"""An objective of the user's own: a Python function of whole queries, or a compiled function of one query.

Trees call a Python function directly, once per round. Otherwise kernels call the function by its address, which is data
like everything else in `OwnArrays`: the kernels are compiled once and cached, and only the user's few lines are
compiled when first used.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple, final

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit  # type: ignore[attr-defined]
from numba.core import types
from numba.extending import intrinsic

from swaprank.arrays import AnyArray, Bools, Floats, Ints, contiguous_floats
from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError
from swaprank.kernels import kernel, numba_reason
from swaprank.objectives.objective import BoundObjective, Objective, document_weights, objective_chunks, write_gradients
from swaprank.objectives.query_gradients import gradients_of, longest_of, weigh_queries

Gradients = Callable[..., tuple[Any, Any]]
"""(labels, scores, indptr) -> (grad, hess)"""

_DOUBLES = types.CPointer(types.float64)  # type: ignore[no-untyped-call]
_SIGNATURE = types.int64(_DOUBLES, _DOUBLES, _DOUBLES, _DOUBLES, types.int64)
_POINTER = ctypes.POINTER(ctypes.c_double)
_C_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, _POINTER, _POINTER, _POINTER, _POINTER, ctypes.c_int64)


class OwnArrays(NamedTuple):
    """A user's own objective on one data set."""

    labels: Floats
    address: int
    """The address of int64 f(double *labels, *scores, *grad, *hess, int64 n), which is not 0 on failure."""


@intrinsic
def _call_at(typingctx: Any, address: Any, labels: Any, scores: Any, grad: Any, hess: Any) -> Any:
    """Call the function at an address with the data of four arrays of the same length."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, int64 = ir.DoubleType().as_pointer(), ir.IntType(64)
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[1:], arguments[1:], strict=True)
        ]
        function = builder.inttoptr(arguments[0], ir.FunctionType(int64, [pointer] * 4 + [int64]).as_pointer())
        length = builder.extract_value(arrays[0].shape, 0)
        return builder.call(function, [*(array.data for array in arrays), length])

    return types.int64(types.int64, labels, scores, grad, hess), generate


_call: Callable[[int, Floats, Floats, Floats, Floats], int] = _call_at  # type: ignore[assignment]


@gradients_of(OwnArrays)
@kernel
def own_queries(
    arrays: OwnArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last; the gradient of a query whose function failed is NaN."""
    longest = longest_of(indptr, first, last)
    labels, own_scores = np.empty(longest), np.empty(longest)
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        # The function gets copies: it may write into them.
        for r in range(stop - start):
            labels[r], own_scores[r] = arrays.labels[start + r], scores[start + r]
            grad[start + r], hess[start + r] = 0.0, 0.0
        n, g, h = stop - start, grad[start:stop], hess[start:stop]
        if n > 0 and _call(arrays.address, labels[:n], own_scores[:n], g, h) != 0:
            g[:] = np.nan


@lru_cache(maxsize=128)
def compiled_query_kernel(python: FunctionType) -> Any:
    """The function as machine code with a fixed address; it returns 1 if the function raised."""
    try:
        # Indices are checked: one out of range must become an error, and not touch other memory.
        inner = njit(error_model="numpy", nogil=True, boundscheck=True)(python)

        @cfunc(_SIGNATURE, error_model="numpy")
        def call(labels, scores, grad, hess, n):  # type: ignore[no-untyped-def]
            try:
                inner(carray(labels, (n,)), carray(scores, (n,)), carray(grad, (n,)), carray(hess, (n,)))
            except Exception:
                return 1
            return 0

    except Exception as error:  # Numba raises many types: TypeError, NotImplementedError, its own.
        raise ParameterError(
            "query_kernel could not be compiled: it takes the float64 arrays labels, scores, grad and hess of one "
            f"query, and may use the Python and NumPy that Numba knows. Numba says: {numba_reason(error)}"
        ) from error
    return call


def python_callback(gradients: Gradients, errors: list[BaseException]) -> Any:
    """The Python function as a C function of one query, which takes the GIL; what it raises goes into `errors`."""

    def call(labels: Any, scores: Any, grad: Any, hess: Any, n: int) -> int:
        try:
            lists = [np.ctypeslib.as_array(pointer, (n,)) for pointer in (labels, scores)]
            found = call_gradients(gradients, lists[0], lists[1], np.array([0, n]))
            for pointer, values in zip((grad, hess), found, strict=True):
                np.ctypeslib.as_array(pointer, (n,))[:] = values
        except BaseException as error:
            errors.append(error)
        return len(errors)

    return _C_SIGNATURE(call)


def call_gradients(gradients: Gradients, labels: Floats, scores: Floats, indptr: Ints) -> tuple[Floats, Floats]:
    """Gradient and hessian from the user's function, with their shapes checked."""
    handed = tuple(array.view() for array in (labels, scores, indptr))
    for array in handed:
        array.flags.writeable = False
    found: Any = gradients(*handed)
    if not isinstance(found, tuple | list) or len(found) != 2:
        kind = f"{len(found)} values" if isinstance(found, tuple | list) else type(found).__name__
        raise ParameterError(f"gradients must return the pair (grad, hess), found {kind}.")
    try:
        grad, hess = (np.asarray(values, dtype=np.float64) for values in found)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"gradients must return two arrays of numbers: {error}.") from None
    if grad.shape != scores.shape or hess.shape != scores.shape:
        raise ParameterError(
            f"gradients must return two arrays of shape {scores.shape}, one value per document; found grad of shape "
            f"{grad.shape} and hess of shape {hess.shape}."
        )
    return grad, hess


@final
@dataclass(frozen=True, kw_only=True)
class CustomObjective(Objective):
    """An objective of your own, for trees and nets: give either `gradients` or `query_kernel`.

    Sample weights multiply what your function computes. The result does not depend on the number of threads. A value
    that is not finite, a negative hessian, a wrong shape or an exception raises a ParameterError. It names the query,
    unless the function was called with all queries.
    A model file holds only the name of the objective, not its code.

    Args:
        gradients: A Python function (labels, scores, indptr) -> (grad, hess) of whole queries. Query q has the
            documents from indptr[q] to indptr[q + 1]. Trees call it once per round with all queries, nets once per
            query. Arrays are read-only. The gradient is that of a cost: learners step against it.
        query_kernel: A function (labels, scores, grad, hess) of one query that writes into grad and hess, which are
            zeros before. Numba compiles it; it runs at native speed and in threads.
        name: How errors and model files call it.

    >>> import numpy as np, swaprank as sr
    >>> def squared(labels, scores, indptr):
    ...     return scores - labels, np.ones(len(labels))
    >>> train, test = sr.datasets.random_net((50, 20), n_features=5, random_state=0)
    >>> own = sr.LambdaMART(objective=sr.objectives.CustomObjective(gradients=squared), n_trees=5).fit(train)
    >>> bool((own.predict(test) == sr.MART(objective="squared", n_trees=5).fit(train).predict(test)).all())
    True
    """

    gradients: Gradients | None = field(default=None, repr=False)
    query_kernel: Any = field(default=None, repr=False)
    name: str = "custom"

    def __post_init__(self) -> None:
        if (self.gradients is None) == (self.query_kernel is None):
            raise ParameterError("CustomObjective takes either gradients or query_kernel, one of the two.")
        if self.gradients is not None and not callable(self.gradients):
            raise ParameterError(f"gradients must be a function, found {self.gradients!r}.")
        if self.query_kernel is not None and not isinstance(self._query_function(), FunctionType):
            raise ParameterError(f"query_kernel must be a function written with def, found {self.query_kernel!r}.")
        if not isinstance(self.name, str) or not self.name.strip():
            raise ParameterError(f"name must be a text that is not empty, found {self.name!r}.")

    def __str__(self) -> str:
        return self.name

    def _query_function(self) -> Any:
        """The Python function of the query kernel, also if it is compiled already."""
        return getattr(self.query_kernel, "py_func", self.query_kernel)

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> "BoundCustom":
        """See `Objective`."""
        errors: list[BaseException] = []
        if self.gradients is None:
            code: Any = compiled_query_kernel(self._query_function())
            address = int(code.address)
        else:
            code = python_callback(self.gradients, errors)
            address = int(ctypes.cast(code, ctypes.c_void_p).value or 0)
        arrays = OwnArrays(contiguous_floats(data.by_query(data.labels)), address)
        indptr, lengths = np.array(data.indptr), np.diff(data.indptr).astype(np.float64)
        chunks = objective_chunks(indptr, lengths**2, n_threads)
        return BoundCustom(self, arrays, indptr, document_weights(data), chunks, data.qids, code, errors)


@final
@dataclass(frozen=True, eq=False)
class BoundCustom(BoundObjective):
    """A user's own objective bound to one data set."""

    objective: CustomObjective
    arrays: OwnArrays
    indptr: Ints
    weights: Floats
    chunks: list[tuple[int, int]]
    qids: AnyArray
    code: Any
    """Keeps the function at the address alive."""
    errors: list[BaseException]
    """Errors that the Python function raised inside a kernel."""

    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> None:
        """See `BoundObjective`."""
        if self.objective.gradients is None:
            write_gradients(self.arrays, self, self.chunks, scores, grad, hess, taken)
        else:
            try:
                grad[:], hess[:] = call_gradients(self.objective.gradients, self.arrays.labels, scores, self.indptr)
            except Exception as error:
                raise self._error(error) from error
            weigh_queries(self.weights, self.indptr, 0, len(self.indptr) - 1, grad, hess)
        self.check(scores, grad, hess)

    def kernel_arrays(self) -> Any:
        """See `BoundObjective`."""
        return self.arrays

    def check(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """See `BoundObjective`; the first query that failed is reported."""
        bad = np.flatnonzero(~(np.isfinite(grad) & np.isfinite(hess) & (hess >= 0.0)))
        if len(bad) == 0:
            return
        query = int(np.searchsorted(self.indptr, bad[0], side="right")) - 1
        error = self.errors[0] if self.errors else self._raised(query, scores)
        self.errors.clear()
        if error is None and np.isfinite(grad[bad[0]]):
            error = ParameterError(f"a hessian is {hess[bad[0]]:g}; it must be a finite number of 0 or more.")
        elif error is None:
            error = ParameterError(f"a gradient is {grad[bad[0]]:g}; it must be a finite number.")
        raise (self._error(error, query) if isinstance(error, Exception) else error) from error  # else Ctrl-C

    def _raised(self, query: int, scores: Floats) -> Exception | None:
        """The exception of the query kernel, from calling it again without compilation."""
        rows = slice(self.indptr[query], self.indptr[query + 1])
        lists = [values[rows].copy() for values in (self.arrays.labels, scores)]
        try:
            if self.objective.gradients is None:
                self.objective._query_function()(*lists, *(np.zeros(len(lists[0])) for _ in range(2)))
        except Exception as error:
            return error
        return None

    def _error(self, error: BaseException, query: int | None = None) -> ParameterError:
        what = str(error) if isinstance(error, ParameterError) else f"it raised {type(error).__name__}: {error}"
        where = "" if query is None else f" in query {self.qids[query]}"
        return ParameterError(f"the objective '{self.objective}' failed{where}: {what}")
