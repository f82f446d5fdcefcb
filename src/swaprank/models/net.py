"""A feed-forward net: layers, feature scaling and weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Features, Floats, Ints, Reals, read_only
from swaprank.errors import ModelFileError, ParameterError
from swaprank.kernels import kernel
from swaprank.models.layers import (
    ACTIVATIONS,
    Layers,
    activate,
    count_units,
    count_weights,
    forward,
    layer_weights,
    make_layers,
    outputs,
    rows_in_block,
)
from swaprank.models.model import Model, ModelParts, array_part
from swaprank.models.perturbation import Chunks, LinearPerturbation, Perturbation, ScoresAlong, weight_slopes
from swaprank.models.products import inner_products
from swaprank.models.scaling import MAX_SCALED, Scaling, scale_rows, scaled_rows
from swaprank.models.served import FeedForward, WeightedSum
from swaprank.threads import row_chunks, run_in_threads, thread_count

_MIN_ROWS_PER_THREAD = 8192


@final
@dataclass(frozen=True, eq=False)
class Net(Model):
    """A feed-forward net that scores documents.

    >>> import numpy as np
    >>> from swaprank.models.layers import make_layers
    >>> from swaprank.models.net import Net
    >>> from swaprank.models.scaling import fit_scaling
    >>> X = np.array([[1.0, 0.0], [3.0, 0.0]], dtype=np.float32)
    >>> scaling = fit_scaling(X, np.zeros(2, bool), standardize=True)
    >>> net = Net(make_layers(2, (), activation=0), scaling, np.array([0.5, 1.0], dtype=np.float32))
    >>> net.score(X).tolist(), net.describe()
    ([-0.5, 0.5], 'a net 2-1 of 2 weights')
    """

    kind: ClassVar[str] = "net"
    layers: Layers
    scaling: Scaling
    weights: NDArray[np.float32]

    @property
    def n_features(self) -> int:
        """See `Model`."""
        return int(self.layers.sizes[0])

    @property
    def hidden(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return tuple(self.layers.sizes[1:-1].tolist())

    @property
    def activation(self) -> str:
        """The name of the activation function of the hidden units."""
        return ACTIVATIONS[self.layers.activation]

    def score(self, features: Features, n_threads: int | None = None) -> Floats:
        """See `Model`."""
        rows = np.arange(len(features))
        single = features.astype(np.float32, copy=False)
        return score_matrix(single, rows, self.scaling, self.layers, self.weights, n_threads)

    def describe(self) -> str:
        """See `Model`."""
        sizes = "-".join(str(n) for n in self.layers.sizes)
        return f"a net {sizes} of {len(self.weights):,} weights"

    def feature_weights(self) -> Floats:
        """See `Model`; only a net without hidden layers has them."""
        if self.hidden or self.scaling.logged.any():
            why = f"hidden layers {self.hidden}" if self.hidden else "logarithms of features"
            raise ParameterError(f"the model is not linear in the features, but a net with {why}.")
        return self.weights.astype(np.float64) * self.scaling.factor

    @property
    def has_contributions(self) -> bool:
        """See `Model`: only without hidden layers."""
        return not self.hidden

    def contributions(self, features: Features, n_threads: int | None = None) -> Floats:
        """See `Model`; without hidden layers, those of a linear model of the scaled features.

        A missing value contributes nothing. They are sums in double precision; scores are in single precision.
        """
        if self.hidden:
            return super().contributions(features, n_threads)
        scaled = scaled_rows(features.astype(np.float32, copy=False), np.arange(len(features)), self.scaling)
        weights, usual = self.weights.astype(np.float64), self.scaling.missing.astype(np.float64)
        shares = np.empty((len(features), self.n_features + 1))
        shares[:, :-1] = (scaled - usual) * weights
        shares[:, -1] = np.sum(usual * weights)
        return shares

    def perturb(self, features: Features, rows: Ints, base: Floats) -> Perturbation:
        """See `Model`; the parameters are the weights of the scaled features."""
        start = self.score(features)[rows] + base
        if self.hidden:
            return NetPerturbation(self, features, rows, base, start)
        return LinearPerturbation(
            f"{len(self.weights):,} weights",
            len(self.weights),
            start,
            move=lambda change: replace(self, weights=(self.weights + change).astype(np.float32)),
            slopes=weight_slopes(lambda chosen: scaled_rows(features, chosen, self.scaling), rows),
        )

    def for_export(self) -> WeightedSum | FeedForward:
        """See `Model`; a net without hidden layers is a weighted sum."""
        if self.hidden or self.scaling.logged.any():
            matrices = layer_weights(self.layers, self.weights)
            layers = tuple((matrix, biases if len(biases) else np.zeros(1, np.float32)) for matrix, biases in matrices)
            return FeedForward(*self.scaling, layers, self.activation)
        mean, factor, missing = (array.astype(np.float64) for array in self.scaling[1:])
        weights = self.weights * factor
        # A constant feature has factor 0, and its missing value does not count; the others are scaled back.
        filled = np.divide(missing, factor, out=np.zeros_like(factor), where=factor != 0) + mean
        return WeightedSum(weights, filled.astype(np.float32), -float(np.sum(weights * mean)))

    def to_parts(self) -> ModelParts:
        """See `Model`."""
        meta = {"kind": self.kind, "sizes": self.layers.sizes.tolist(), "activation": self.activation}
        return ModelParts(meta, {"weights": self.weights, **self.scaling._asdict()})

    @classmethod
    def from_parts(cls, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """See `Model`."""
        sizes = meta["sizes"]
        if not isinstance(sizes, list) or len(sizes) < 2 or not all(type(n) is int and n > 0 for n in sizes):
            raise ModelFileError(f"the layers of its net have invalid sizes: {sizes!r}.")
        if sizes[-1] != 1:
            raise ModelFileError(f"its net has {sizes[-1]} outputs instead of one.")
        if meta["activation"] not in ACTIVATIONS:
            raise ModelFileError(f"its activation {meta['activation']!r} is not known to this version of swaprank.")
        layers = make_layers(sizes[0], sizes[1:-1], ACTIVATIONS.index(meta["activation"]))
        weights = array_part("its net", arrays, "weights", np.float32, (count_weights(layers),))
        dtypes = {"logged": np.bool_} | dict.fromkeys(("mean", "factor", "missing"), np.float32)
        scaling = Scaling(*(array_part("its net", arrays, name, dtypes[name], (sizes[0],)) for name in Scaling._fields))
        if (np.abs(scaling.missing) > MAX_SCALED).any():
            raise ModelFileError(f"its net replaces missing values by others than ±{MAX_SCALED:g} or less.")
        return cls(layers, scaling, weights)


@kernel
def score_rows(
    features: Features, rows: Ints, scaling: Scaling, layers: Layers, weights: Reals, units: Reals, scores: Floats
) -> None:
    """Score the given rows block by block; `units` has room for one block."""
    n_units, n_block = layers.sizes[1:].sum(), rows_in_block(layers.sizes[0])
    scaled = np.empty((min(n_block, len(rows)), layers.sizes[0]), weights.dtype)
    for a in range(0, len(rows), n_block):
        n = min(n_block, len(rows) - a)
        values = units[: n * n_units]
        scale_rows(features, rows[a : a + n], scaling, scaled[:n])
        forward(layers, weights, scaled[:n], values)
        for i in range(n):
            scores[a + i] = values[len(values) - n + i]


def score_matrix(
    features: Features, rows: Ints, scaling: Scaling, layers: Layers, weights: Reals, n_threads: int | None = None
) -> Floats:
    """Scores of the given rows, in the precision of the weights."""
    scores = np.empty(len(rows))
    n_block = min(rows_in_block(int(layers.sizes[0])), len(rows))

    def work(first: int, last: int) -> None:
        units = np.empty(n_block * count_units(layers), weights.dtype)
        score_rows(read_only(features), rows[first:last], scaling, layers, weights, units, scores[first:last])

    run_in_threads(work, row_chunks(len(rows), thread_count(n_threads), least_rows=_MIN_ROWS_PER_THREAD))
    return scores


@final
class NetPerturbation(Perturbation):
    """Weights and biases of a net with hidden layers."""

    def __init__(self, net: Net, features: Features, rows: Ints, base: Floats, start: Floats) -> None:
        super().__init__(f"{len(net.weights):,} weights and biases of a net", len(net.weights), start)
        self.net, self.features, self.rows, self.base = net, features, rows, base

    def moved(self, change: Floats) -> Net:
        """See `Perturbation`."""
        return replace(self.net, weights=(self.net.weights + change).astype(np.float32))

    def scores_along(self, first: int, last: int, chunks: Chunks, steps: Sequence[float]) -> ScoresAlong:
        """See `Perturbation`. Only the units of the first layer that a direction moves are computed anew."""
        layers = self.net.layers
        inputs = scaled_rows(self.features, self.rows[first:last], self.net.scaling)
        sums_here = np.empty((len(inputs), layers.sizes[1]), np.float32)
        inner_products(*layer_weights(layers, self.net.weights)[0], inputs, sums_here)
        units_here = sums_here.copy()
        activate(layers.activation, units_here.reshape(-1))
        for number, directions in chunks:
            for at, direction in enumerate(directions.astype(np.float32)):
                moved, slopes = _first_slopes(*layer_weights(layers, direction)[0], inputs)
                start, values = sums_here[:, moved], np.empty_like(slopes)
                for k, step in enumerate(steps):
                    np.multiply(slopes, np.float32(step), out=values)
                    np.add(values, start, out=values)
                    activate(layers.activation, values.reshape(-1))
                    units = units_here.copy()
                    units[:, moved] = values
                    weights = self.net.weights + np.float32(step) * direction
                    yield number + at, k, self._layers_above(units, weights) + self.base[first:last]

    def _layers_above(self, values: AnyArray, weights: AnyArray) -> Floats:
        """The scores, computed from the units of the first layer."""
        layers = self.net.layers
        for matrix, biases in layer_weights(layers, weights)[1:]:
            above = np.empty((len(values), len(matrix)), np.float32)
            if len(biases):
                inner_products(matrix, biases, values, above)
                activate(layers.activation, above.reshape(-1))
            else:
                outputs(matrix[0], values, above[:, 0])
            values = above
        return values[:, 0].astype(np.float64)


def _first_slopes(matrix: Reals, biases: Reals, inputs: AnyArray) -> tuple[slice, AnyArray]:
    """The units of the first layer that a direction moves, and how fast their sums change, documents x units."""
    units, features = np.nonzero(matrix)
    if len(units) > 1 or (len(units) == 0 and np.count_nonzero(biases) > 1) or (len(units) and biases.any()):
        slopes = np.empty((len(inputs), len(matrix)), np.float32)
        inner_products(matrix, biases, inputs, slopes)
        return slice(None), slopes
    # One weight alone, or one bias, or neither: a product of all inputs would take a hundred times as long.
    if len(units):
        return slice(units[0], units[0] + 1), inputs[:, features] * matrix[units, features]
    (at,) = np.nonzero(biases)
    return slice(at[0], at[0] + 1) if len(at) else slice(0), np.full((len(inputs), len(at)), biases[at])
