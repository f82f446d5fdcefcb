"""Costs of one document at a time: what MART learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.objectives.objective import BoundObjective, Objective

Loss = Literal["squared", "logistic", "balanced_logistic"]


@final
@dataclass(frozen=True)
class PointwiseObjective(Objective):
    """Squared error of the labels; or two-class logistic loss of labels above 0 against the others.

    With y = 1 or -1 the logistic loss is log(1 + exp(-2 y sigma F)) [Burges2010, section 6]; balanced, each class
    counts as much as the other, whatever its size [section 6.1].

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.objectives.pointwise import PointwiseObjective
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 3], qid=[1, 1])
    >>> grad, hess = np.empty(2), np.empty(2)
    >>> PointwiseObjective("squared").bind(data, random_state=0, n_threads=1).update(np.zeros(2), grad, hess)
    >>> grad.tolist(), hess.tolist()
    ([0.0, -3.0], [1.0, 1.0])
    """

    loss: Loss
    sigma: float = 1.0

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundObjective:
        """See `Objective`."""
        labels = np.array(data.by_query(data.labels))
        weights = np.ones(len(labels)) if data.sample_weight is None else np.array(data.by_query(data.sample_weight))
        if self.loss == "squared":
            return BoundSquared(labels, weights)
        positive = labels > 0
        if positive.all() or not positive.any():
            raise DataError(f"the {self.loss} loss needs labels above 0 and labels that are not; found only one kind.")
        if self.loss == "balanced_logistic":
            share = np.where(positive, 1.0 / positive.sum(), 1.0 / (~positive).sum())
            # Scaled to a mean of 1, which changes no Newton step, so that l2 means the same for both losses.
            weights = weights * share * len(labels) / 2
        return BoundLogistic(np.where(positive, 1.0, -1.0), weights, self.sigma)


@final
@dataclass(frozen=True, eq=False)
class BoundSquared(BoundObjective):
    """(F - y)² / 2."""

    labels: Floats
    weights: Floats

    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> None:
        """See `BoundObjective`."""
        np.subtract(scores, self.labels, out=grad)
        grad *= self.weights
        hess[:] = self.weights


@final
@dataclass(frozen=True, eq=False)
class BoundLogistic(BoundObjective):
    """log(1 + exp(-2 y sigma F))."""

    signs: Floats
    weights: Floats
    sigma: float

    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> None:
        """See `BoundObjective`; with r = 2 sigma / (1 + exp(2 y sigma F)): grad = -y r, hess = r (2 sigma - r)."""
        from scipy.special import expit

        response = 2 * self.sigma * expit(-2 * self.sigma * self.signs * scores)
        grad[:] = -self.signs * response * self.weights
        hess[:] = response * (2 * self.sigma - response) * self.weights
