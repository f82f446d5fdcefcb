"""An objective that is one kernel over queries, bound to a data set: its arrays, and the threads that call it."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.errors import MetricError
from swaprank.kernels import kernel
from swaprank.objectives.objective import BoundObjective
from swaprank.objectives.query_gradients import query_gradients, weigh_queries
from swaprank.threads import query_chunks, run_in_threads, thread_count

_PAIRS_PER_THREAD = 250_000.0
"""Fewer pairs are not worth starting a thread."""


def objective_chunks(indptr: Ints, costs: Floats, n_threads: int | None) -> list[tuple[int, int]]:
    """Ranges of queries of about equal cost, one per thread; `costs` counts in pairs."""
    return query_chunks(indptr, thread_count(n_threads), costs=costs, least_cost=_PAIRS_PER_THREAD)


def document_weights(data: Dataset) -> Floats:
    """The sample weights, query after query; empty if there are none."""
    return np.empty(0) if data.sample_weight is None else np.array(data.by_query(data.sample_weight))


def write_gradients(
    arrays: Any, bound: BoundObjective, chunks: list[tuple[int, int]], scores: Floats, grad: Floats, hess: Floats,
    taken: Bools | None,
) -> None:  # fmt: skip
    """Write weighted gradients and hessians of all queries, or of those taken, one chunk per thread."""

    def work(first: int, last: int) -> None:
        if taken is not None:
            taken_gradients(arrays, bound.weights, bound.indptr, scores, first, last, taken, grad, hess)
            return
        query_gradients(arrays, bound.indptr, scores, first, last, grad, hess)
        if len(bound.weights) > 0:
            weigh_queries(bound.weights, bound.indptr, first, last, grad, hess)

    run_in_threads(work, chunks)


@kernel
def taken_gradients(
    arrays: Any, weights: Floats, indptr: Ints, scores: Floats, first: int, last: int, taken: Bools, grad: Floats,
    hess: Floats,
) -> None:  # fmt: skip
    """Write weighted gradients and hessians of the queries that are taken, among those from first to last."""
    for query in range(first, last):
        if taken[query]:
            query_gradients(arrays, indptr, scores, query, query + 1, grad, hess)
            weigh_queries(weights, indptr, query, query + 1, grad, hess)


@final
@dataclass(frozen=True, eq=False)
class BoundKernelObjective(BoundObjective):
    """The arrays of one objective on one data set."""

    arrays: Any
    """A NamedTuple whose class has a kernel, see `gradients_of`."""
    indptr: Ints
    weights: Floats
    chunks: list[tuple[int, int]]
    own_metric: str = ""
    """The name of the user's own metric that the kernel evaluates, if any."""

    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> None:
        """See `BoundObjective`."""
        write_gradients(self.arrays, self, self.chunks, scores, grad, hess, taken)
        self.check(scores, grad, hess)

    def kernel_arrays(self) -> Any:
        """See `BoundObjective`."""
        return self.arrays

    def check(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """See `BoundObjective`: an own metric that fails leaves NaN in the gradient."""
        if self.own_metric and not np.isfinite(grad.sum()):
            raise MetricError(
                f"{self.own_metric}: evaluate failed or gave no finite number for a list with two documents swapped."
            )


def bind_kernel(
    arrays: Any, data: Dataset, costs: Floats, n_threads: int | None, own_metric: str = ""
) -> BoundKernelObjective:
    """Arrays with the queries of a data set cut into chunks; `costs` has the pairs of each query."""
    lengths = np.diff(data.indptr).astype(np.float64)
    chunks = objective_chunks(data.indptr, costs + 30.0 * lengths, n_threads)
    return BoundKernelObjective(arrays, np.array(data.indptr), document_weights(data), chunks, own_metric)
