"""The contract of all objectives: bind to data once, then compute gradients each round, in place.

objective.bind(data) ─► bound.update(scores, grad, hess)      trees and SmoothRank: all queries, in threads
                        query_gradients(bound.kernel_arrays(), …)   nets: one query, inside a kernel
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.collective import Collective
from swaprank.data.dataset import Dataset
from swaprank.errors import MetricError, ParameterError
from swaprank.kernels import kernel
from swaprank.objectives.query_gradients import query_gradients, weigh_queries
from swaprank.threads import query_chunks, run_in_threads, thread_count

_PAIRS_PER_THREAD = 250_000.0
"""Fewer pairs are not worth starting a thread."""


class BoundObjective(ABC):
    """An objective of the scores of one data set's documents, which are numbered query after query.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> bound = sr.objectives.RankNetObjective().bind(data, random_state=0, n_threads=1)
    >>> isinstance(bound, sr.objectives.BoundObjective)
    True
    """

    indptr: Ints
    """Query q has the documents from indptr[q] to indptr[q + 1]."""
    weights: Floats
    """Factor of each document's gradient and hessian, see `weigh_queries`; empty if all are 1."""

    @abstractmethod
    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> Floats | None:
        """Write gradient and hessian of each document's score, times `weights`; learners step against the gradient.

        If only some queries are `taken`, the values of the other queries' documents are undefined. Returns the cost of
        each query if the kernel computes it along with the gradient, else None.
        """

    def begin_epoch(self, scores: Callable[[int | None], Floats]) -> None:
        """Called before every epoch of a net; scores(n_threads) computes the current score of each document."""
        return

    def kernel_arrays(self) -> Any:
        """The arrays that `query_gradients` takes; None if the gradient of a query depends on other queries."""
        return None

    def check(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Raise the error of a user's function that failed inside a kernel, where nothing can be raised."""
        return


class Objective(ABC):
    """The cost that a ranker minimizes: an immutable value that is bound to data when training begins.

    Rankers take one as `objective=`. See `CustomObjective` for an objective of your own.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> objective: sr.objectives.Objective = sr.objectives.RankNetObjective()
    >>> grad, hess = np.empty(2), np.empty(2)
    >>> objective.bind(data, random_state=0, n_threads=1).update(np.zeros(2), grad, hess)
    >>> grad.tolist(), hess.tolist()
    ([0.5, -0.5], [0.25, 0.25])
    """

    @abstractmethod
    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundObjective:
        """Prepare what does not change from round to round."""

    def bind_share(
        self, data: Dataset, *, random_state: int, n_threads: int | None, collective: Collective
    ) -> BoundObjective:
        """Bind to the queries that this worker has. An objective that needs to know the others adds up over workers."""
        bound = self.bind(data, random_state=random_state, n_threads=n_threads)
        if collective.size > 1 and bound.kernel_arrays() is None:
            raise ParameterError(
                f"{type(self).__name__}: the gradient of a query depends on the scores of other queries, so it cannot "
                "be trained on a cluster. Train in one process."
            )
        return bound


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
