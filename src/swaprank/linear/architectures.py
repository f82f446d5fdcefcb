"""The kinds of models that SmoothRank fits: linear, kernel machine, or net.

While training, the scores of the documents are a function of a parameter vector, in double precision, with a gradient
with respect to the parameters. At the end, the parameters become a model.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np

from swaprank.arrays import Features, Floats, Ints, Reals, read_only
from swaprank.data.dataset import Dataset
from swaprank.kernels import kernel
from swaprank.models.kernel_machine import KernelMachine, KernelMap
from swaprank.models.layers import (
    Layers,
    backward,
    count_weights,
    forward,
    random_weights,
    rows_in_block,
    weight_generator,
)
from swaprank.models.linear import LinearModel
from swaprank.models.model import Model
from swaprank.models.net import Net, score_matrix
from swaprank.models.products import project, pull_back
from swaprank.models.scaling import Scaling, Units, fill_missing, scale_rows
from swaprank.threads import row_chunks, run_in_threads, thread_count


class ScoreFunction(ABC):
    """The scores of the documents of one data set, grouped by query, as a function of the parameters of a model."""

    @abstractmethod
    def __call__(self, parameters: Floats, n_threads: int | None = None) -> Floats:
        """Return one score per document."""

    @abstractmethod
    def take(self, rows: Ints) -> Self:
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
    >>> from swaprank.linear.architectures import LinearScoreFunction
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

    def take(self, rows: Ints) -> Self:
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

    def take(self, rows: Ints) -> Self:
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


class Architecture(ABC):
    """A kind of model whose parameters are not fitted yet."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """The number of parameters."""

    @abstractmethod
    def score_function(self, data: Dataset) -> ScoreFunction:
        """Return the scores of a data set's documents as a function of the parameters; base scores are included."""

    @abstractmethod
    def model(self, parameters: Floats) -> Model:
        """Return the model with these parameters."""

    def initial_parameters(self, random_state: int) -> Floats:
        """Return the parameters at which the fit of the start begins."""
        return np.zeros(self.n_parameters)


@final
@dataclass(frozen=True, eq=False)
class LinearArchitecture(Architecture):
    """One weight per standardized feature."""

    units: Units

    @property
    def n_parameters(self) -> int:
        """See `Architecture`."""
        return len(self.units.factor)

    def score_function(self, data: Dataset) -> LinearScoreFunction:
        """See `Architecture`."""
        return LinearScoreFunction(rows_by_query(data, self.units.missing), self.units.factor, base_scores(data))

    def model(self, parameters: Floats) -> LinearModel:
        """See `Architecture`."""
        return LinearModel(parameters * self.units.factor, self.units.missing)


@final
@dataclass(frozen=True, eq=False)
class KernelArchitecture(Architecture):
    """One weight per output of a kernel map."""

    map: KernelMap

    @property
    def units(self) -> Units:
        """The units of the features."""
        return self.map.units

    @property
    def n_parameters(self) -> int:
        """See `Architecture`."""
        return int(self.map.projection.shape[1])

    def score_function(self, data: Dataset) -> LinearScoreFunction:
        """See `Architecture`."""
        mapped = self.map(data.by_query(data.features))
        return LinearScoreFunction(mapped, np.ones(self.n_parameters), base_scores(data))

    def model(self, parameters: Floats) -> KernelMachine:
        """See `Architecture`."""
        return KernelMachine(self.map, parameters)


@final
@dataclass(frozen=True, eq=False)
class NetArchitecture(Architecture):
    """The weights of a net."""

    layers: Layers
    scaling: Scaling

    @property
    def n_parameters(self) -> int:
        """See `Architecture`."""
        return count_weights(self.layers)

    def score_function(self, data: Dataset) -> ScoreFunction:
        """See `Architecture`."""
        rows = np.arange(len(data)) if data.order is None else np.array(data.order)
        return NetScoreFunction(self.layers, self.scaling, data.features, rows, base_scores(data))

    def model(self, parameters: Floats) -> Net:
        """See `Architecture`; nets score in single precision."""
        return Net(self.layers, self.scaling, parameters.astype(np.float32))

    def initial_parameters(self, random_state: int) -> Floats:
        """See `Architecture`; the weights are random, because units with equal weights stay equal."""
        return random_weights(self.layers, weight_generator(random_state)).astype(np.float64)


def base_scores(data: Dataset) -> Floats | float:
    """Return the base scores of a data set, grouped by query; 0 if it has none."""
    return 0.0 if data.base_score is None else np.array(data.by_query(data.base_score))


def rows_by_query(data: Dataset, missing: Features) -> Features:
    """Return the features grouped by query, with missing values filled in; a copy only if one is needed."""
    features = data.features if data.order is None else data.features[data.order]
    return fill_missing(features, missing)
