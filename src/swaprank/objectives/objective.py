"""The contract of all objectives: bind to data once, then compute gradients each round, in place.

objective.bind(data) ─► bound.update(scores, grad, hess)      trees and SmoothRank: all queries, in threads
                        query_gradients(bound.kernel_arrays(), …)   nets: one query, inside a kernel
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from swaprank.arrays import Bools, Floats, Ints
from swaprank.collective import Collective
from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError


class BoundObjective(ABC):
    """An objective of the scores of one data set's documents, which are numbered query after query.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> isinstance(sr.objectives.RankNetObjective().bind(data, random_state=0, n_threads=1), sr.objectives.BoundObjective)
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
    """What a ranker minimizes: an immutable value that is bound to data when training begins.

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
