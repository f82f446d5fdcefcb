"""A force that pulls every score towards 0, added to the lambdas of any objective [Burges2006, section 4].

grad_i += strength s_i        hess_i += strength

This adds `strength` to the diagonal of the lambdas' Jacobian. Where that is symmetric and strength is larger than minus
its smallest eigenvalue, the sum is positive definite: the lambdas are the gradient of a cost that is convex, and has
one minimum. The cost is that of the lambdas plus strength / 2 times the sum of the squared scores.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.objectives.objective import BoundKernelObjective
from swaprank.objectives.query_gradients import gradients_of, query_gradients


class DiagonalArrays(NamedTuple):
    """The arrays of an objective, and the strength of the pull."""

    lambdas: Any
    strength: float


@gradients_of(DiagonalArrays)
@kernel
def diagonal_queries(
    arrays: DiagonalArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last: those of the lambdas, and of the pull."""
    query_gradients(arrays.lambdas, indptr, scores, first, last, grad, hess)
    for r in range(indptr[first], indptr[last]):
        grad[r] += arrays.strength * scores[r]
        hess[r] += arrays.strength


def with_diagonal(bound: BoundKernelObjective, strength: float) -> BoundKernelObjective:
    """The same objective with a pull; itself if the strength is 0."""
    return bound if strength == 0.0 else replace(bound, arrays=DiagonalArrays(bound.arrays, float(strength)))


def without_diagonal(arrays: Any) -> Any:
    """The arrays of the lambdas alone."""
    return arrays.lambdas if isinstance(arrays, DiagonalArrays) else arrays
