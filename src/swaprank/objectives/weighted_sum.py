"""The weighted sum of objectives, each of the labels in a column of its own.

grad_i = sum of w_k u_k grad_i of objective k               hess_i = sum of w_k u_k hess_i of objective k
u_k = the sum of all hessians of the first objective / that of objective k, both at equal scores; 1 if not balanced

Neither the unit of labels nor that of a metric then changes what a weight means; queries with more at stake in a goal,
such as those with more revenue, count more in it. Weights may change between rounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.collective import ALONE, Collective
from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError
from swaprank.exact_sums import exact_limbs, rounded_sums
from swaprank.kernels import kernel
from swaprank.objectives.goals import column_values
from swaprank.objectives.objective import BoundKernelObjective, BoundObjective, Objective
from swaprank.objectives.query_gradients import gradients_of, query_gradients
from swaprank.parameters import Bounds, check_parameter


class WeightedSumArrays(NamedTuple):
    """The arrays of two objectives, of which the first may be a sum, and room for the gradients of the second one."""

    first: Any
    second: Any
    at: int
    """The second one's position among the weights."""
    weights: Floats
    """Of all objectives in the sum, times their units."""
    grad: Floats
    hess: Floats


@gradients_of(WeightedSumArrays)
@kernel
def weighted_sum_queries(
    arrays: WeightedSumArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last."""
    other_grad, other_hess, at = arrays.grad, arrays.hess, arrays.at
    query_gradients(arrays.first, indptr, scores, first, last, grad, hess)
    query_gradients(arrays.second, indptr, scores, first, last, other_grad, other_hess)
    mine = arrays.weights[0] if at == 1 else 1.0
    factor = arrays.weights[at]
    for r in range(indptr[first], indptr[last]):
        grad[r] = mine * grad[r] + factor * other_grad[r]
        hess[r] = mine * hess[r] + factor * other_hess[r]


@final
@dataclass(frozen=True)
class WeightedSum(Objective):
    """The weighted sum of objectives of different labels: one model for several goals, for trees and nets.

    Args:
        objectives: Two or more objectives with gradients query by query, such as LambdaRank's for a metric each.
        weights: The weight of each. One of weight 0 is left out; alone, an objective is what it is without a sum.
        labels: The side column or feature with the labels of each; None for the labels of the data.
        balanced: Measure weights relative to the hessians of the first objective at equal scores, so that units of
            labels do not matter. False: the plain sum.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0, 5.0], [2.0, 3.0]], [0, 1], qid=[1, 1], feature_names=["bm25", "margin"])
    >>> ranknet = sr.objectives.RankNetObjective()
    >>> objective = sr.objectives.WeightedSum([ranknet, ranknet], weights=[1.0, 0.4], labels=[None, "margin"])
    >>> bound, grad, hess = objective.bind(data, random_state=0, n_threads=1), np.empty(2), np.empty(2)
    >>> bound.update(np.zeros(2), grad, hess)
    >>> grad.round(2).tolist(), hess.round(2).tolist()  # 0.5 by the labels, and 0.4 times -0.5 by the margin
    ([0.3, -0.3], [0.35, 0.35])
    """

    objectives: Sequence[Objective]
    weights: Sequence[float]
    labels: Sequence[str | None]
    balanced: bool = True

    def __post_init__(self) -> None:
        for name in ("objectives", "weights", "labels"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not len(self.objectives) == len(self.weights) == len(self.labels) > 0:
            raise ParameterError(
                f"a weighted sum needs a weight and labels for each objective; found {len(self.objectives)} "
                f"objectives, {len(self.weights)} weights and {len(self.labels)} labels."
            )
        for weight in self.weights:
            check_parameter("weights", weight, Bounds(False, 0, 1e9))
        if not any(self.weights):
            raise ParameterError("all weights of a weighted sum are 0: one must be larger.")

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundObjective:
        """See `Objective`."""
        return self.bind_share(data, random_state=random_state, n_threads=n_threads, collective=ALONE)

    def bind_share(
        self, data: Dataset, *, random_state: int, n_threads: int | None, collective: Collective
    ) -> BoundObjective:
        """See `Objective`; the hessians are summed over all workers."""
        bound, weights = [], []
        for objective, weight, labels in zip(self.objectives, self.weights, self.labels, strict=True):
            if weight == 0:
                continue
            of = data if labels is None else data.replace(labels=column_values(data, labels, f"labels='{labels}'"))
            each = objective.bind_share(of, random_state=random_state, n_threads=n_threads, collective=collective)
            if not isinstance(each, BoundKernelObjective):
                raise ParameterError(
                    f"{type(objective).__name__} cannot be part of a sum: gradients of a query depend on other queries."
                )
            bound.append(each)
            weights.append(float(weight))
        if len(bound) == 1:
            return bound[0]
        units = _units(bound, collective) if self.balanced else np.ones(len(bound))
        return BoundWeightedSum(bound, units, np.array(weights) * units, bound[0].indptr, bound[0].weights)


@final
@dataclass(frozen=True, eq=False)
class BoundWeightedSum(BoundObjective):
    """A sum of objectives on one data set.

    Trees call the kernels of its parts one after the other: a kernel of the sum is compiled for nets only.
    """

    parts: Sequence[BoundKernelObjective]
    units: Floats
    factors: Floats
    """Weights times units; they may change between rounds."""
    indptr: Ints
    weights: Floats

    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> None:
        """See `BoundObjective`."""
        self.parts[0].update(scores, grad, hess, taken)
        grad *= self.factors[0]
        hess *= self.factors[0]
        part_grad, part_hess = np.zeros(len(grad)), np.zeros(len(hess))
        for factor, part in zip(self.factors[1:], self.parts[1:], strict=True):
            part.update(scores, part_grad, part_hess, taken)
            grad += factor * part_grad
            hess += factor * part_hess

    def kernel_arrays(self) -> Any:
        """See `BoundObjective`."""
        arrays, n_documents = self.parts[0].arrays, int(self.indptr[-1])
        for at in range(1, len(self.parts)):
            grad, hess = np.empty(n_documents), np.empty(n_documents)
            arrays = WeightedSumArrays(arrays, self.parts[at].arrays, at, self.factors, grad, hess)
        return arrays

    def check(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """See `BoundObjective`."""
        for part in self.parts:
            part.check(scores, grad, hess)


def set_weights(bound: BoundObjective, weights: Sequence[float]) -> None:
    """Change the weights of the objectives in a sum, for the rounds to come; those of weight 0 are not in it."""
    if isinstance(bound, BoundWeightedSum):
        bound.factors[:] = [weight for weight in weights if weight > 0] * bound.units


def _units(bound: Sequence[BoundKernelObjective], collective: Collective) -> Floats:
    """The sum of the first one's hessians at equal scores, relative to that of each; 1 where a sum is 0."""
    n_documents = int(bound[0].indptr[-1])
    scores, grad, hess = np.zeros(n_documents), np.empty(n_documents), np.empty(n_documents)
    limbs = []
    for each in bound:
        each.update(scores, grad, hess)
        limbs.append(exact_limbs(hess))
    sums = np.array(limbs)
    collective.add(sums)
    curvature = rounded_sums(sums)
    usable = (curvature > 0) & (curvature[0] > 0)
    return np.where(usable, curvature[0] / np.where(usable, curvature, 1.0), 1.0)
