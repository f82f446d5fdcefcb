"""The one place that chooses an objective's kernel: by the type of its arrays, at compile time inside kernels.

    LambdaArrays ─► lambda_queries      RankNetArrays ─► ranknet_queries      SquaredArrays ─► squared_queries      …

Each objective has a NamedTuple class for what its kernel reads, and one kernel

    (arrays, indptr, scores, first, last, grad, hess)

that writes gradient and hessian of the documents of the queries from first to last, registered with `gradients_of`. A
kernel that calls `query_gradients` is compiled with that one kernel only; all of them would take a minute. The bounds
keep the gradients of pairs inside double precision, in all kernels of pairs.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

from numba.extending import overload

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel

HESSIAN_FLOOR = 0.01
"""A document's hessian is at least this times sigma |grad|. Where all its pairs are wrong by far, their cost is nearly
linear, and a Newton step, gradient over hessian, would have no bound."""
WIDEST_RANGE = 300.0
"""Beyond this range of sigma * score, the product of two exp leaves double precision, and pairs take the slower way."""
LEAST_DISTANCE = 0.01
"""Added to the score difference that a pair's weight is divided by when lambdas are normalized."""

Kernel = TypeVar("Kernel", bound=Callable[..., None])


def longest_step(hessian_floor: float) -> float:
    """The longest Newton step of a single document, times sigma: what its sigma |grad| is divided by for its floor.

    >>> from swaprank.objectives.query_gradients import longest_step
    >>> longest_step(0.01), longest_step(0.0)
    (100.0, inf)
    """
    return 1.0 / hessian_floor if hessian_floor > 0 else math.inf


LONGEST_STEP = longest_step(HESSIAN_FLOOR)


def gradients_of(arrays: type) -> Callable[[Kernel], Kernel]:
    """Make a kernel the one that computes gradients from this class of arrays: an attribute of the class."""

    def register(kernel: Kernel) -> Kernel:
        arrays.gradients = kernel  # type: ignore[attr-defined]
        return kernel

    return register


def query_gradients(
    arrays: Any, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write gradient and hessian of the queries from first to last; `scores` has all documents."""
    type(arrays).gradients(arrays, indptr, scores, first, last, grad, hess)


@overload(query_gradients)
def _query_gradients(
    arrays: Any, indptr: Any, scores: Any, first: Any, last: Any, grad: Any, hess: Any
) -> Callable[..., None]:
    """`query_gradients` as kernels call it."""
    chosen = arrays.instance_class.gradients

    # Numba wants the same parameters as above, with the same annotations.
    def call(arrays: Any, indptr: Any, scores: Any, first: Any, last: Any, grad: Any, hess: Any) -> None:
        chosen(arrays, indptr, scores, first, last, grad, hess)

    return call


@kernel
def weigh_queries(weights: Floats, indptr: Ints, first: int, last: int, grad: Floats, hess: Floats) -> None:
    """Multiply gradient and hessian by the documents' weights, for the queries from first to last."""
    if len(weights) > 0:
        for r in range(indptr[first], indptr[last]):
            grad[r] *= weights[r]
            hess[r] *= weights[r]


@kernel
def longest_of(indptr: Ints, first: int, last: int) -> int:
    """Documents in the longest list of the queries from first to last."""
    longest = 0
    for query in range(first, last):
        longest = max(longest, indptr[query + 1] - indptr[query])
    return longest
