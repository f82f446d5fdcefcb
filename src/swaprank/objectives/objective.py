"""What every objective is: bound to data once, then asked for gradients each round, in place."""

from __future__ import annotations

from abc import ABC, abstractmethod

from swaprank.arrays import Bools, Floats
from swaprank.data.dataset import Dataset


class BoundObjective(ABC):
    """A cost of the scores of one data set's documents, query after query."""

    @abstractmethod
    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> None:
        """Write the cost's gradient and curvature by each document's score; learners step against the gradient.

        Where only some queries are `taken`, those of the others' documents need not be written.
        """


class Objective(ABC):
    """A cost of scores, not yet bound to data."""

    @abstractmethod
    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundObjective:
        """Prepare what does not change from round to round."""
