"""A ranker's parameters, and its documents' scores when they are moved along a direction.

    linear, kernel machine, forest   s(step) = s + step X d: one product a direction, whatever the steps
    net                              the sums of the first layer are z + step X d; from there on the net is gone through

A forest's parameters are its leaf values: what it splits on stays. X then says which leaf each document is in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.data.features import read_only
from swaprank.errors import ParameterError
from swaprank.kernels import kernel
from swaprank.models.activations import activate
from swaprank.models.forest import Forest
from swaprank.models.layers import layer_weights
from swaprank.models.linear import LinearModel
from swaprank.models.net import Net
from swaprank.models.propagation import outputs, sums
from swaprank.models.scaling import Scaling, fit_scaling, scale_rows
from swaprank.rankers.ranker import Ranker
from swaprank.smoothrank.architectures import KernelModel

Moved = Iterator[tuple[int, int, Floats]]
"""Direction, step (by their numbers) and the scores of a block's documents there."""


class Movable(ABC):
    """A ranker on a data set, with its parameters to be moved."""

    words: str
    """What the parameters are."""

    def __init__(self, ranker: Ranker, data: Dataset) -> None:
        self.ranker, self.data = ranker, data
        self.rows: Ints = np.arange(len(data)) if data.order is None else np.array(data.order)
        self.start: Floats = np.array(data.by_query(ranker.predict(data)))

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """How many parameters there are."""

    @abstractmethod
    def moved(self, way: Floats) -> Ranker:
        """The ranker with `way` added to its parameters."""

    @abstractmethod
    def along(self, first: int, last: int, chunks: Iterator[tuple[int, Floats]], steps: Sequence[float]) -> Moved:
        """Scores of the documents from first to last, query after query, for chunks of directions (number, rows)."""


class LinearlyMovable(Movable):
    """Scores are linear in the parameters."""

    @abstractmethod
    def slopes(self, first: int, last: int, chunks: Iterator[tuple[int, Floats]]) -> Iterator[tuple[int, AnyArray]]:
        """For each chunk, its first number and how fast each score changes: documents x directions."""

    def along(self, first: int, last: int, chunks: Iterator[tuple[int, Floats]], steps: Sequence[float]) -> Moved:
        """See `Movable`."""
        for number, slopes in self.slopes(first, last, chunks):
            for at, slope in enumerate(np.ascontiguousarray(slopes.T, dtype=np.float64)):
                for k, step in enumerate(steps):
                    yield number + at, k, self.start[first:last] + step * slope


@final
class MovableWeights(LinearlyMovable):
    """Weights of features, each in units of its deviation; or of what a kernel map gives."""

    def __init__(self, ranker: Ranker, data: Dataset, model: LinearModel | KernelModel | Net) -> None:
        super().__init__(ranker, data)
        self.model = model
        self.words = f"{len(model.weights):,} weights"
        self.scaling = None if isinstance(model, KernelModel) else _scaling_of(model, data)

    @property
    def n_parameters(self) -> int:
        """See `Movable`."""
        return len(self.model.weights)

    def moved(self, way: Floats) -> Ranker:
        """See `Movable`."""
        model: Any = self.model
        if isinstance(model, LinearModel) and self.scaling is not None:
            way = way * self.scaling.factor
        return _with(self.ranker, replace(model, weights=(model.weights + way).astype(model.weights.dtype)))

    def slopes(self, first: int, last: int, chunks: Iterator[tuple[int, Floats]]) -> Iterator[tuple[int, AnyArray]]:
        """See `LinearlyMovable`."""
        rows = self.rows[first:last]
        if self.scaling is None:
            assert isinstance(self.model, KernelModel)  # noqa: S101
            inputs = self.model.map(self.data.features[rows])
        else:
            inputs = _scaled(self.data.features, rows, self.scaling)
        for number, directions in chunks:
            matrix = directions.astype(np.float32)
            values = np.empty((len(rows), len(matrix)), np.float32)
            sums(matrix, np.zeros(len(matrix), np.float32), inputs, values)
            yield number, values


@final
class MovableNet(Movable):
    """Weights and biases of a net with hidden layers."""

    def __init__(self, ranker: Ranker, data: Dataset, net: Net) -> None:
        super().__init__(ranker, data)
        self.net = net
        self.base = np.zeros(len(data)) if data.base_score is None else np.array(data.by_query(data.base_score))
        self.words = f"{len(net.weights):,} weights and biases of a net"

    @property
    def n_parameters(self) -> int:
        """See `Movable`."""
        return len(self.net.weights)

    def moved(self, way: Floats) -> Ranker:
        """See `Movable`."""
        return _with(self.ranker, replace(self.net, weights=(self.net.weights + way).astype(np.float32)))

    def along(self, first: int, last: int, chunks: Iterator[tuple[int, Floats]], steps: Sequence[float]) -> Moved:
        """See `Movable`."""
        layers = self.net.layers
        inputs = _scaled(self.data.features, self.rows[first:last], self.net.scaling)
        here, speed, values = (np.empty((len(inputs), layers.sizes[1]), np.float32) for _ in range(3))
        sums(*layer_weights(layers, self.net.weights)[0], inputs, here)
        for number, directions in chunks:
            for at, direction in enumerate(directions.astype(np.float32)):
                sums(*layer_weights(layers, direction)[0], inputs, speed)
                for k, step in enumerate(steps):
                    np.multiply(speed, np.float32(step), out=values)
                    np.add(values, here, out=values)
                    weights = self.net.weights + np.float32(step) * direction
                    yield number + at, k, self._upwards(values, weights) + self.base[first:last]

    def _upwards(self, values: AnyArray, weights: AnyArray) -> Floats:
        """The scores from the sums of the first layer."""
        layers = self.net.layers
        for matrix, biases in layer_weights(layers, weights)[1:]:
            activate(layers.activation, values.reshape(-1))
            above = np.empty((len(values), len(matrix)), np.float32)
            if len(biases):
                sums(matrix, biases, values, above)
            else:
                outputs(matrix[0], values, above[:, 0])
            values = above
        return values[:, 0].astype(np.float64)


@kernel
def find_leaves(forest_arrays: Any, X: Features, rows: Ints, leaves: AnyArray) -> None:
    """leaves[i, t]: the leaf that the i-th of these rows falls into in tree t, counted over all trees."""
    tree_nodes, tree_leaves, feature, threshold, missing_left, left, right = forest_arrays
    for i in range(len(rows)):
        row = X[rows[i]]
        for tree in range(len(tree_nodes) - 1):
            nodes, at = tree_nodes[tree], 0
            if tree_nodes[tree + 1] == nodes:
                at = -1
            while at >= 0:
                value = row[feature[nodes + at]]
                goes_left = missing_left[nodes + at] if value != value else value <= threshold[nodes + at]
                at = left[nodes + at] if goes_left else right[nodes + at]
            leaves[i, tree] = tree_leaves[tree] + ~at


@kernel
def add_leaf_values(leaves: AnyArray, values: Floats, totals: Floats) -> None:
    """totals[i, d] = the sum of values[leaf, d] over the leaves of document i; a row of values a leaf."""
    for i in range(len(leaves)):
        total = totals[i]
        total[:] = 0.0
        for tree in range(leaves.shape[1]):
            row = values[leaves[i, tree]]
            for d in range(len(total)):
                total[d] += row[d]


@final
class MovableLeaves(LinearlyMovable):
    """The leaf values of a forest."""

    def __init__(self, ranker: Ranker, data: Dataset, forest: Forest) -> None:
        super().__init__(ranker, data)
        self.forest = forest
        self.words = (
            f"{len(forest.leaf_value):,} leaf values of {forest.n_trees:,} trees, whose splits stay as they are"
        )

    @property
    def n_parameters(self) -> int:
        """See `Movable`."""
        return len(self.forest.leaf_value)

    def moved(self, way: Floats) -> Ranker:
        """See `Movable`."""
        return _with(self.ranker, replace(self.forest, leaf_value=self.forest.leaf_value + way))

    def slopes(self, first: int, last: int, chunks: Iterator[tuple[int, Floats]]) -> Iterator[tuple[int, AnyArray]]:
        """See `LinearlyMovable`."""
        f, rows = self.forest, self.rows[first:last]
        leaves = np.empty((len(rows), f.n_trees), np.int32)
        arrays = (f.tree_nodes, f.tree_leaves, f.feature, f.threshold, f.missing_left, f.left, f.right)
        find_leaves(arrays, read_only(self.data.features), rows, leaves)
        for number, directions in chunks:
            totals = np.empty((len(rows), len(directions)))
            add_leaf_values(leaves, np.ascontiguousarray(directions.T), totals)
            yield number, totals


@dataclass(frozen=True)
class _Place:
    """Where a ranker keeps what it has learned."""

    name: str
    model: Any


def _place(ranker: Ranker) -> _Place:
    for name, kinds in (("net_", Net), ("model_", (LinearModel, KernelModel, Net)), ("forest_", Forest)):
        model = getattr(ranker, name, None)
        if isinstance(model, kinds):
            return _Place(name, model)
    raise ParameterError(
        f"a {type(ranker).__name__} has no weights or leaf values to move; take a net, a linear ranker, SmoothRank or "
        "a forest (of a combination, one of its rankers)."
    )


def movable(ranker: Ranker, data: Dataset) -> Movable:
    """The parameters of a fitted ranker: weights, a net's weights and biases, or leaf values.

    >>> import swaprank as sr
    >>> from swaprank.models.movable import movable
    >>> (data,) = sr.datasets.random_net((10,), n_features=4, random_state=0)
    >>> movable(sr.LambdaRank(hidden=(3,), n_epochs=1).fit(data), data).words
    '18 weights and biases of a net'
    """
    ranker._check_fitted()
    model = _place(ranker).model
    if isinstance(model, Forest):
        if len(model.leaf_value) == 0:
            raise ParameterError("the ranker has no trees, and so no leaf values that could be moved.")
        return MovableLeaves(ranker, data, model)
    if isinstance(model, Net) and model.hidden:
        return MovableNet(ranker, data, model)
    return MovableWeights(ranker, data, model)


def _with(ranker: Ranker, model: Any) -> Ranker:
    """A copy of the ranker that has learned another model."""
    other = copy(ranker)
    setattr(other, _place(ranker).name, model)
    return other


def _scaling_of(model: LinearModel | Net, data: Dataset) -> Scaling:
    if isinstance(model, Net):
        return model.scaling
    scaling = fit_scaling(data.features, np.zeros(data.n_features, np.bool_), standardize=True)
    return scaling._replace(missing=(model.missing - scaling.mean) * scaling.factor)


def _scaled(features: Features, rows: Ints, scaling: Scaling) -> Features:
    scaled = np.empty((len(rows), features.shape[1]), np.float32)
    scale_rows(read_only(features), rows, scaling, scaled)
    return scaled
