"""Scores of documents as a function of a parameter vector, and gradients with respect to the parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from swaprank.arrays import Features, Floats, Ints, read_only
from swaprank.kernels import kernel
from swaprank.models.layers import Layers, Reals
from swaprank.models.net import score_matrix
from swaprank.models.products import project, pull_back
from swaprank.models.propagation import backward, forward, rows_in_block
from swaprank.models.scaling import Scaling, scale_rows
from swaprank.threads import row_chunks, run_in_threads, thread_count


class ScoreFunction(ABC):
    """The scores of the documents of one data set, grouped by query, as a function of the parameters of a model."""

    @abstractmethod
    def __call__(self, parameters: Floats, n_threads: int | None = None) -> Floats:
        """Return one score per document."""

    @abstractmethod
    def take(self, rows: Ints) -> ScoreFunction:
        """Return the same function for some of the documents."""

    @abstractmethod
    def pull_back(self, parameters: Floats, grad: Floats, n_threads: int | None = None) -> Floats:
        """Return the gradient with respect to the parameters, given that with respect to the scores."""


def _at(base: Floats | float, rows: Ints) -> Floats | float:
    return base if isinstance(base, float) else base[rows]


@final
@dataclass(frozen=True, eq=False)
class LinearScoreFunction(ScoreFunction):
    """Weighted sums of features.

    >>> import numpy as np
    >>> from swaprank.linear.score_functions import LinearScoreFunction
    >>> features = np.array([[1.0, 20.0], [3.0, 10.0]], dtype=np.float32)
    >>> score_function = LinearScoreFunction(features, factor=np.array([1.0, 0.1]))
    >>> score_function(np.array([1.0, 1.0])).tolist()
    [3.0, 4.0]
    """

    features: Features
    factor: Floats
    """Factor on each weight: 1 / standard deviation if the parameters are weights of standardized features."""
    base: Floats | float = 0.0
    """Added to the scores."""

    def __call__(self, parameters: Floats, n_threads: int | None = None) -> Floats:
        """See `ScoreFunction`."""
        return project(self.features, parameters * self.factor, n_threads) + self.base

    def take(self, rows: Ints) -> LinearScoreFunction:
        """See `ScoreFunction`."""
        return replace(self, features=self.features[rows], base=_at(self.base, rows))

    def pull_back(self, parameters: Floats, grad: Floats, n_threads: int | None = None) -> Floats:
        """See `ScoreFunction`."""
        return pull_back(self.features, grad, n_threads) * self.factor


@kernel
def pull_back_net(
    features: Features,
    rows: Ints,
    scaling: Scaling,
    layers: Layers,
    weights: Reals,
    grad: Floats,
    first: int,
    last: int,
    sums: Reals,
) -> None:
    """sums[b]: the gradient with respect to the weights, summed over the rows of block b, for blocks first to last."""
    n_features, n_units, widest = layers.sizes[0], layers.sizes[1:].sum(), layers.sizes[1:].max()
    n_block = rows_in_block(n_features)
    scaled, units = np.empty((n_block, n_features), weights.dtype), np.empty(n_block * n_units, weights.dtype)
    deltas = np.empty((2, n_block * widest), weights.dtype)
    for block in range(first, last):
        a, b = block * n_block, min((block + 1) * n_block, len(rows))
        X, values = scaled[: b - a], units[: (b - a) * n_units]
        scale_rows(features, rows[a:b], scaling, X)
        forward(layers, weights, X, values)
        for r in range(a, b):
            deltas[0, r - a] = grad[r]
        sums[block] = 0.0
        backward(layers, weights, X, values, deltas, sums[block])


@final
@dataclass(frozen=True, eq=False)
class NetScoreFunction(ScoreFunction):
    """A net in double precision, which line searches need."""

    layers: Layers
    scaling: Scaling
    features: Features
    rows: Ints
    """The rows of `features`, grouped by query."""
    base: Floats | float = 0.0

    def __call__(self, parameters: Floats, n_threads: int | None = None) -> Floats:
        """See `ScoreFunction`."""
        return score_matrix(self.features, self.rows, self.scaling, self.layers, parameters, n_threads) + self.base

    def take(self, rows: Ints) -> NetScoreFunction:
        """See `ScoreFunction`."""
        return replace(self, rows=self.rows[rows], base=_at(self.base, rows))

    def pull_back(self, parameters: Floats, grad: Floats, n_threads: int | None = None) -> Floats:
        """See `ScoreFunction`."""
        n_blocks = -(-len(self.rows) // rows_in_block(int(self.layers.sizes[0])))
        sums = np.empty((n_blocks, len(parameters)))

        def work(first: int, last: int) -> None:
            pull_back_net(
                read_only(self.features), self.rows, self.scaling, self.layers, parameters, grad, first, last, sums
            )

        run_in_threads(work, row_chunks(n_blocks, min(thread_count(n_threads), max(1, len(self.rows) // 4096))))
        total: Floats = sums.sum(axis=0)
        return total
