"""The scores of documents when a model's parameters move by steps along directions d.

    linear model, kernel machine, forest   s(step) = s + step X d: one product per direction, for any number of steps
    net                                    the sums of the first layer are z + step X d; other layers are computed anew

The parameters of a forest are its leaf values; its splits do not change. X then has 1 where a document is in a leaf.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.models.model import Model
from swaprank.models.products import inner_products

Chunks = Iterator[tuple[int, Floats]]
"""Groups of directions: the number of the first one, and one direction per row."""
ScoresAlong = Iterator[tuple[int, int, Floats]]
"""The numbers of a direction and of a step, and the scores there."""


@dataclass(eq=False)
class Perturbation(ABC):
    """The parameters of a model, and documents whose scores change with them."""

    description: str
    """The parameters in words, such as "10 weights"."""
    n_parameters: int
    start: Floats
    """The scores of the documents with the unchanged parameters."""

    @abstractmethod
    def moved(self, change: Floats) -> Model:
        """The model with `change` added to its parameters."""

    @abstractmethod
    def scores_along(self, first: int, last: int, chunks: Chunks, steps: Sequence[float]) -> ScoresAlong:
        """Scores of the documents from first to last, for every direction and step."""


@final
@dataclass(eq=False)
class LinearPerturbation(Perturbation):
    """Scores that are linear in the parameters."""

    move: Callable[[Floats], Model]
    slopes: Callable[[int, int], Callable[[Floats], AnyArray]]
    """slopes(first, last) prepares these documents and returns a function of directions: documents x directions."""

    def moved(self, change: Floats) -> Model:
        """See `Perturbation`."""
        return self.move(change)

    def scores_along(self, first: int, last: int, chunks: Chunks, steps: Sequence[float]) -> ScoresAlong:
        """See `Perturbation`."""
        slopes_of, start = self.slopes(first, last), self.start[first:last]
        for number, directions in chunks:
            for at, slope in enumerate(np.ascontiguousarray(slopes_of(directions).T, dtype=np.float64)):
                for k, step in enumerate(steps):
                    yield number + at, k, start + step * slope


def weight_slopes(inputs: Callable[[Ints], Features], rows: Ints) -> Callable[[int, int], Callable[[Floats], AnyArray]]:
    """The slopes of scores that are weighted sums of inputs: the products of the inputs and each direction."""

    def slopes(first: int, last: int) -> Callable[[Floats], AnyArray]:
        X = inputs(rows[first:last])

        def products(directions: Floats) -> AnyArray:
            matrix = directions.astype(np.float32)
            values = np.empty((len(X), len(matrix)), np.float32)
            inner_products(matrix, np.zeros(len(matrix), np.float32), X, values)
            return values

        return products

    return slopes
