"""RankProp: squared error of targets that follow the order which the scores have already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints, contiguous_floats
from swaprank.data.dataset import Dataset
from swaprank.objectives.kernel_objective import BoundKernelObjective, bind_kernel
from swaprank.objectives.objective import BoundObjective, Objective
from swaprank.objectives.pointwise import SquaredArrays


def rankprop_targets(labels: Floats, scores: Floats) -> Floats:
    """Evenly spaced from -1/2 to 1/2 over all documents, sorted by label, and by score where labels are equal.

    The scores of a net have no bias, so that the targets have a mean of 0.

    >>> import numpy as np
    >>> from swaprank.objectives.rankprop_objective import rankprop_targets
    >>> rankprop_targets(np.array([1.0, 0.0, 0.0]), np.array([5.0, 9.0, 7.0])).tolist()
    [0.5, 0.0, -0.5]
    """
    targets = np.empty(len(labels))
    targets[np.lexsort((scores, labels))] = np.linspace(-0.5, 0.5, len(labels))
    return targets


@final
@dataclass(frozen=True)
class RankPropObjective(Objective):
    """Squared error of `rankprop_targets`, which are taken anew before every epoch or round [Caruana1996]."""

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundRankProp:
        """See `Objective`."""
        labels, targets = contiguous_floats(data.by_query(data.labels)), np.zeros(len(data))
        squared = bind_kernel(SquaredArrays(targets), data, np.zeros(data.n_queries), n_threads)
        return BoundRankProp(labels, squared, squared.indptr, squared.weights, n_threads)


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
