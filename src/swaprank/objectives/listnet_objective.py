"""ListNet: the cross entropy of two distributions over a query's documents, one from the labels, one from the scores.

P(d) = exp(s_d) / sum of exp(s)      the probability that d is at the top [Cao2007]; T(d) is the same of the labels
C    = -sum over d of T(d) log P(d)
grad = P - T                         hess = P (1 - P)
"""

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Floats, Ints, contiguous_floats
from swaprank.data.dataset import Dataset
from swaprank.elementary import exp
from swaprank.kernels import kernel
from swaprank.objectives.kernel_objective import BoundKernelObjective, bind_kernel
from swaprank.objectives.objective import Objective
from swaprank.objectives.pair_limits import LONGEST_STEP
from swaprank.objectives.query_gradients import gradients_of


class ListNetArrays(NamedTuple):
    """ListNet on one data set."""

    targets: Floats
    """T of each document."""


@kernel
def write_top_probabilities(values: Floats, indptr: Ints, first: int, last: int, probabilities: Floats) -> None:
    """The share of exp(value) of each document in the sum over its query."""
    for query in range(first, last):
        start, stop, highest, total = indptr[query], indptr[query + 1], -np.inf, 0.0
        for r in range(start, stop):
            highest = max(highest, values[r])
        for r in range(start, stop):
            probabilities[r] = exp(values[r] - highest)  # Without the highest, large values would overflow.
            total += probabilities[r]
        for r in range(start, stop):
            probabilities[r] /= total


@gradients_of(ListNetArrays)
@kernel
def listnet_queries(
    arrays: ListNetArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last."""
    write_top_probabilities(scores, indptr, first, last, hess)
    for r in range(indptr[first], indptr[last]):
        p = hess[r]
        grad[r] = p - arrays.targets[r]
        hess[r] = max(p * (1.0 - p), abs(grad[r]) / LONGEST_STEP)


@final
@dataclass(frozen=True)
class ListNetObjective(Objective):
    """The cross entropy of the top-one probabilities softmax(labels) and softmax(scores) of every query [Cao2007].

    The hessian of a document that should be at the top and is far below, where it vanishes, has a lower bound, so that
    Newton steps have an upper one.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> grad, hess = np.empty(2), np.empty(2)
    >>> sr.objectives.ListNetObjective().bind(data, random_state=0, n_threads=1).update(np.zeros(2), grad, hess)
    >>> grad.round(3).tolist(), hess.tolist()
    ([0.231, -0.231], [0.25, 0.25])
    >>> train, vali = sr.datasets.random_net((50, 20), n_features=5, random_state=0)
    >>> sr.LambdaMART(n_trees=20, objective=sr.objectives.ListNetObjective()).fit(train, valid=vali).score(vali) > 0.8
    True
    """

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundKernelObjective:
        """See `Objective`; ListNet draws nothing at random."""
        targets = np.empty(len(data))
        write_top_probabilities(contiguous_floats(data.by_query(data.labels)), data.indptr, 0, data.n_queries, targets)
        return bind_kernel(ListNetArrays(targets), data, np.zeros(data.n_queries), n_threads)
