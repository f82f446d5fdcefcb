"""Costs of one document at a time: the objectives of MART and of RankProp.

squared    (F - y)² / 2                   grad = F - y     hess = 1
logistic   log(1 + exp(-2 y sigma F))     grad = -y r      hess = r (2 sigma - r)

with r = 2 sigma / (1 + exp(2 y sigma F)). RankProp is the squared error of targets that follow the order which the
scores have already.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints, contiguous_floats
from swaprank.collective import ALONE, Collective
from swaprank.data.dataset import Dataset
from swaprank.elementary import exp
from swaprank.errors import DataError, ParameterError, did_you_mean
from swaprank.kernels import kernel
from swaprank.objectives.objective import BoundKernelObjective, BoundObjective, Objective, bind_kernel
from swaprank.objectives.query_gradients import gradients_of

Loss = Literal["squared", "logistic", "balanced_logistic"]
LOSSES: tuple[Loss, ...] = ("squared", "logistic", "balanced_logistic")


class SquaredArrays(NamedTuple):
    """Squared error of the labels."""

    labels: Floats


class LogisticArrays(NamedTuple):
    """Two-class logistic loss."""

    signs: Floats
    """y: 1 for labels above 0, -1 for the others."""
    sigma: float


@gradients_of(SquaredArrays)
@kernel
def squared_queries(
    arrays: SquaredArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last."""
    for r in range(indptr[first], indptr[last]):
        grad[r] = scores[r] - arrays.labels[r]
        hess[r] = 1.0


@gradients_of(LogisticArrays)
@kernel
def logistic_queries(
    arrays: LogisticArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last."""
    sigma = arrays.sigma
    for r in range(indptr[first], indptr[last]):
        sign = arrays.signs[r]
        response = 2 * sigma * (1.0 / (1.0 + exp(2 * sigma * sign * scores[r])))
        grad[r] = -sign * response
        hess[r] = response * (2 * sigma - response)


@final
@dataclass(frozen=True)
class PointwiseObjective(Objective):
    """Squared error of the labels, or two-class logistic loss of labels above 0 against the others.

    Args:
        loss: "squared"; "logistic", log(1 + exp(-2 y sigma F)) with y = 1 or -1 [Burges2010, section 6]; or
            "balanced_logistic", where both classes have the same total weight [section 6.1].
        sigma: Steepness of the logistic loss.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 3], qid=[1, 1])
    >>> grad, hess = np.empty(2), np.empty(2)
    >>> bound = sr.objectives.PointwiseObjective("squared").bind(data, random_state=0, n_threads=1)
    >>> bound.update(np.zeros(2), grad, hess)
    >>> grad.tolist(), hess.tolist()
    ([0.0, -3.0], [1.0, 1.0])
    """

    loss: Loss = "squared"
    sigma: float = 1.0

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise ParameterError(f"there is no loss '{self.loss}'; {did_you_mean(str(self.loss), LOSSES)}")

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundKernelObjective:
        """See `Objective`."""
        return self.bind_share(data, random_state=random_state, n_threads=n_threads, collective=ALONE)

    def bind_share(
        self, data: Dataset, *, random_state: int, n_threads: int | None, collective: Collective
    ) -> BoundKernelObjective:
        """See `Objective`; the two classes are counted over all workers."""
        labels, costs = contiguous_floats(data.by_query(data.labels)), np.zeros(data.n_queries)
        if self.loss == "squared":
            return bind_kernel(SquaredArrays(labels), data, costs, n_threads)
        positive = labels > 0
        counts = np.array([positive.sum(), (~positive).sum()])
        collective.add(counts)
        if counts.min() == 0:
            raise DataError(f"the {self.loss} loss needs labels above 0 and labels that are not; found only one kind.")
        arrays = LogisticArrays(np.where(positive, 1.0, -1.0), float(self.sigma))
        bound = bind_kernel(arrays, data, costs, n_threads)
        if self.loss == "logistic":
            return bound
        share = np.where(positive, 1.0 / counts[0], 1.0 / counts[1])
        weights = bound.weights if len(bound.weights) else np.ones(len(labels))
        # Scaled to a mean of 1, which changes no Newton step, so that l2 means the same for both losses.
        return replace(bound, weights=weights * share * counts.sum() / 2)


def rankprop_targets(labels: Floats, scores: Floats) -> Floats:
    """Evenly spaced from -1/2 to 1/2 over all documents, sorted by label, and by score where labels are equal.

    The scores of a net have no bias, so that the targets have a mean of 0.

    >>> import numpy as np
    >>> from swaprank.objectives.pointwise import rankprop_targets
    >>> rankprop_targets(np.array([1.0, 0.0, 0.0]), np.array([5.0, 9.0, 7.0])).tolist()
    [0.5, 0.0, -0.5]
    """
    targets = np.empty(len(labels))
    targets[np.lexsort((scores, labels))] = np.linspace(-0.5, 0.5, len(labels))
    return targets


@final
@dataclass(frozen=True, eq=False)
class BoundRankProp(BoundObjective):
    """RankProp bound to one data set."""

    labels: Floats
    squared: BoundKernelObjective
    """Squared error of the current targets."""
    indptr: Ints
    weights: Floats
    n_threads: int | None

    def begin_epoch(self, scores: Callable[[int | None], Floats]) -> None:
        """See `BoundObjective`."""
        self.squared.arrays.labels[:] = rankprop_targets(self.labels, scores(self.n_threads))

    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> None:
        """See `BoundObjective`."""
        self.begin_epoch(lambda n_threads: scores)
        self.squared.update(scores, grad, hess, taken)

    def kernel_arrays(self) -> Any:
        """See `BoundObjective`."""
        return self.squared.arrays


@final
@dataclass(frozen=True)
class RankPropObjective(Objective):
    """Squared error of `rankprop_targets`, which are taken anew before every epoch or round [Caruana1996]."""

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundRankProp:
        """See `Objective`."""
        labels, targets = contiguous_floats(data.by_query(data.labels)), np.zeros(len(data))
        squared = bind_kernel(SquaredArrays(targets), data, np.zeros(data.n_queries), n_threads)
        return BoundRankProp(labels, squared, squared.indptr, squared.weights, n_threads)
