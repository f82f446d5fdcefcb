"""An objective beside another one: both in each query, the second one scaled to the curvature of the first.

c = weight x the sum of the query's hessians / the sum of its hessians of the second objective
grad_i += c grad_i of the second                         hess_i += c hess_i of the second

Neither the number of documents and pairs nor the unit of a metric then changes what the weight means.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.objectives.objective import BoundKernelObjective
from swaprank.objectives.query_gradients import gradients_of, query_gradients


class BesideArrays(NamedTuple):
    """The arrays of two objectives, and room for the gradients of the second one."""

    first: Any
    second: Any
    weight: float
    grad: Floats
    hess: Floats


@gradients_of(BesideArrays)
@kernel
def beside_queries(
    arrays: BesideArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last."""
    other_grad, other_hess = arrays.grad, arrays.hess
    query_gradients(arrays.first, indptr, scores, first, last, grad, hess)
    query_gradients(arrays.second, indptr, scores, first, last, other_grad, other_hess)
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        hessian, other = 0.0, 0.0
        for r in range(start, stop):
            hessian += hess[r]
            other += other_hess[r]
        scale = arrays.weight * hessian / other if other > 0.0 else 0.0
        for r in range(start, stop):
            grad[r] += scale * other_grad[r]
            hess[r] += scale * other_hess[r]


def beside(bound: BoundKernelObjective, second: Any, weight: float) -> BoundKernelObjective:
    """An objective, and beside it the one of the arrays `second`, whose hessians are `weight` times those of it."""
    n_documents = int(bound.indptr[-1])
    arrays = BesideArrays(bound.arrays, second, float(weight), np.empty(n_documents), np.empty(n_documents))
    return replace(bound, arrays=arrays)
