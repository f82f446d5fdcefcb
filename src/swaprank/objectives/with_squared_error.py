"""Any objective, and the squared error of the labels beside it, both centred in each query.

grad_i = (s_i - y_i) - the mean of the query's s - y        hess_i = 1        both times c, see beside.py

Swap gains say which documents matter, and little of most others; labels say something of every document, but not what
matters. On few queries trees learn more from both than from either. Centred scores and labels leave the mean score of a
query free, because it changes no order [QueryRMSE of CatBoost].
"""

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.collective import ALONE, Collective, add_with_largest
from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError
from swaprank.kernels import kernel
from swaprank.objectives.beside import beside
from swaprank.objectives.objective import BoundKernelObjective, Objective
from swaprank.objectives.query_gradients import gradients_of
from swaprank.parameters import Bounds, check_parameter

_TARGET_RANGE = 3.0
"""Labels are scaled to this range, near that of trained scores, so that their unit does not matter."""


class SquaredErrorArrays(NamedTuple):
    """The targets y of the centred squared error."""

    targets: Floats


@gradients_of(SquaredErrorArrays)
@kernel
def squared_error_queries(
    arrays: SquaredErrorArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last."""
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        error = 0.0
        for r in range(start, stop):
            error += scores[r] - arrays.targets[r]
        mean = error / max(stop - start, 1)
        for r in range(start, stop):
            grad[r] = scores[r] - arrays.targets[r] - mean
            hess[r] = 1.0


@final
@dataclass(frozen=True)
class WithSquaredError(Objective):
    """An objective plus the squared error of the labels, scores and labels centred in each query.

    Args:
        objective: The objective to add to: LambdaRank's, RankNet's, or another one with gradients query by query.
        weight: The hessian of the squared error, relative to the mean hessian of the objective in each query.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> objective = sr.objectives.WithSquaredError(sr.objectives.RankNetObjective(), weight=1.0)
    >>> bound, grad, hess = objective.bind(data, random_state=0, n_threads=1), np.empty(2), np.empty(2)
    >>> bound.update(np.zeros(2), grad, hess)
    >>> grad.tolist(), hess.tolist()  # RankNet's 0.5 and 0.25, and with the targets 0 and 3 another 0.25 x 1.5 and 0.25
    ([0.875, -0.875], [0.5, 0.5])
    """

    objective: Objective
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_parameter("weight", self.weight, Bounds(False, 0, np.inf))

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundKernelObjective:
        """See `Objective`."""
        return self.bind_share(data, random_state=random_state, n_threads=n_threads, collective=ALONE)

    def bind_share(
        self, data: Dataset, *, random_state: int, n_threads: int | None, collective: Collective
    ) -> BoundKernelObjective:
        """See `Objective`; the range of the labels is that of all workers."""
        bound = self.objective.bind_share(data, random_state=random_state, n_threads=n_threads, collective=collective)
        if not isinstance(bound, BoundKernelObjective):
            raise ParameterError(
                f"a squared error cannot be added to {type(self.objective).__name__}: gradients of a query depend on "
                "other queries."
            )
        labels = np.array(data.by_query(data.labels), np.float64)
        ends = np.array([labels.max(initial=-np.inf), -labels.min(initial=np.inf)])
        _, (highest, minus_lowest) = add_with_largest(collective, np.zeros(0, np.int64), ends)
        width = float(highest + minus_lowest)
        targets = labels * (_TARGET_RANGE / width) if 0 < width < np.inf else np.zeros(len(labels))
        return beside(bound, SquaredErrorArrays(targets), self.weight)
