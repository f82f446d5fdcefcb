"""A model's parameters, moved along directions, and what that does to the scores of some documents.

    linear model, kernel machine, forest   s(step) = s + step X d: one product per direction, whatever the steps
    net                                    the first layer's sums are z + step X d; the layers above are computed anew

The parameters of a forest are its leaf values; its splits stay. X then says which leaf each document falls into.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.models.model import Model
from swaprank.models.propagation import sums

Chunks = Iterator[tuple[int, Floats]]
"""Directions that are drawn together: the number of the first, and one direction per row."""
ScoresAlong = Iterator[tuple[int, int, Floats]]
"""The numbers of a direction and a step, and the documents' scores there."""


class Perturbation(ABC):
    """The parameters of a model, and documents whose scores follow them."""

    def __init__(self, model: Model, description: str, n_parameters: int, start: Floats) -> None:
        self.model = model
        self.description = description
        """What the parameters are, in words."""
        self.n_parameters = n_parameters
        self.start = start
        """The documents' scores where the model is."""

    @abstractmethod
    def moved(self, way: Floats) -> Model:
        """The model with `way` added to its parameters."""

    @abstractmethod
    def scores_along(self, first: int, last: int, chunks: Chunks, steps: Sequence[float]) -> ScoresAlong:
        """Scores of the documents from first to last, for every direction and step."""


@final
class LinearPerturbation(Perturbation):
    """Parameters in which the scores are linear."""

    def __init__(
        self,
        model: Model,
        description: str,
        n_parameters: int,
        start: Floats,
        *,
        moved: Callable[[Floats], Model],
        slopes: Callable[[int, int], Callable[[Floats], AnyArray]],
    ) -> None:
        """Slopes(first, last) prepares these documents and gives a function of directions: documents x directions."""
        super().__init__(model, description, n_parameters, start)
        self._moved, self._slopes = moved, slopes

    def moved(self, way: Floats) -> Model:
        """See `Perturbation`."""
        return self._moved(way)

    def scores_along(self, first: int, last: int, chunks: Chunks, steps: Sequence[float]) -> ScoresAlong:
        """See `Perturbation`."""
        slopes_of, start = self._slopes(first, last), self.start[first:last]
        for number, directions in chunks:
            for at, slope in enumerate(np.ascontiguousarray(slopes_of(directions).T, dtype=np.float64)):
                for k, step in enumerate(steps):
                    yield number + at, k, start + step * slope


def weight_slopes(inputs: Callable[[Ints], Features], rows: Ints) -> Callable[[int, int], Callable[[Floats], AnyArray]]:
    """Slopes of scores that are weighted sums of inputs: the products of the inputs with each direction."""

    def slopes(first: int, last: int) -> Callable[[Floats], AnyArray]:
        X = inputs(rows[first:last])

        def products(directions: Floats) -> AnyArray:
            matrix = directions.astype(np.float32)
            values = np.empty((len(X), len(matrix)), np.float32)
            sums(matrix, np.zeros(len(matrix), np.float32), X, values)
            return values

        return products

    return slopes
