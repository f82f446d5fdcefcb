"""The shape of a net, its weights in one flat array, the activations of its hidden units, and both passes through it.

    features ─► hidden units ─► … ─► one score         weights   [ W_1 (out x in) b_1 | W_2 b_2 | … | W_last (1 x in) ]

The last layer has no bias: it would add the same number to all scores, which changes no ranking.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import Ints, Reals
from swaprank.kernels import kernel
from swaprank.lanes import dot
from swaprank.models.products import add_outer_products, inner_products

Activation = Literal["tanh", "sigmoid", "relu"]
ACTIVATIONS: tuple[Activation, ...] = ("tanh", "sigmoid", "relu")
"""Kernels use the index in this tuple."""
TANH, SIGMOID, RELU = range(3)
InitialWeights = Literal["scaled", "zero_first"]
INITIAL_WEIGHTS: tuple[InitialWeights, ...] = ("scaled", "zero_first")


class Layers(NamedTuple):
    """The shape of a net, as the kernels use it.

    >>> from swaprank.models.layers import count_weights, make_layers
    >>> layers = make_layers(136, (10,), activation=0)
    >>> layers.sizes.tolist(), count_weights(layers)
    ([136, 10, 1], 1380)
    """

    sizes: Ints
    """Number of features, units of each hidden layer, and 1."""
    activation: int
    """Activation of the hidden units: index in `ACTIVATIONS`."""


def make_layers(n_features: int, hidden: Sequence[int], activation: int) -> Layers:
    """A net with the given hidden layers and one score; without hidden layers it is linear."""
    return Layers(np.array([n_features, *hidden, 1], dtype=np.int64), int(activation))


def count_weights(layers: Layers) -> int:
    """Number of weights and biases of all layers."""
    sizes: list[int] = layers.sizes.tolist()  # Python integers: sizes in a damaged file may overflow int64.
    return sum(below * above for below, above in zip(sizes[:-1], sizes[1:], strict=True)) + sum(sizes[1:-1])


def count_units(layers: Layers) -> int:
    """Number of hidden units, plus one for the score."""
    return int(layers.sizes[1:].sum())


def layer_weights(layers: Layers, weights: Reals) -> list[tuple[Reals, Reals]]:
    """Matrix (units x inputs) and biases of each layer, as views; the last layer has no biases.

    >>> import numpy as np
    >>> from swaprank.models.layers import layer_weights, make_layers
    >>> (W, b), (V, none) = layer_weights(make_layers(2, (3,), activation=0), np.arange(12.0))
    >>> W.tolist(), b.tolist(), V.tolist(), none.tolist()
    ([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [6.0, 7.0, 8.0], [[9.0, 10.0, 11.0]], [])
    """
    parts = []
    at, last = 0, len(layers.sizes) - 2
    for layer, (below, above) in enumerate(zip(layers.sizes[:-1].tolist(), layers.sizes[1:].tolist(), strict=True)):
        matrix = weights[at : at + above * below].reshape(above, below)
        at += above * below
        biases = weights[at : at + (above if layer < last else 0)]
        at += len(biases)
        parts.append((matrix, biases))
    return parts


def weight_generator(random_state: int) -> np.random.Generator:
    """The random generator of initial weights, independent of generated data sets with the same seed.

    >>> import numpy as np
    >>> from swaprank.models.layers import weight_generator
    >>> weight_generator(0).random() == np.random.default_rng(0).random()
    False
    """
    # NumPy ignores trailing zeros of a seed, so the last number must not be 0.
    return np.random.default_rng((random_state, 0, 1))


def random_weights(layers: Layers, rng: np.random.Generator, initial: InitialWeights = "scaled") -> NDArray[np.float32]:
    """Initial weights; biases are 0.

    "scaled": uniform in ±1 / sqrt(inputs of the unit), so that no unit starts saturated. "zero_first": 0 in the first
    layer, uniform in ±0.1 in the others [Burges2005, section 5.1]; all scores are equal at the start.
    """
    weights = np.zeros(count_weights(layers), np.float32)
    for layer, (matrix, _) in enumerate(layer_weights(layers, weights)):
        if initial == "scaled":
            matrix[:] = rng.uniform(-1.0, 1.0, matrix.shape) / np.sqrt(matrix.shape[1])
        elif layer > 0:
            matrix[:] = rng.uniform(-0.1, 0.1, matrix.shape)
    return weights


@kernel
def activate(activation: int, values: Reals) -> None:
    """Apply the activation function in place."""
    if activation == RELU:
        for i in range(len(values)):
            values[i] = max(values[i], values.dtype.type(0))
    elif activation == SIGMOID:
        _tanh(0.5, values)
        half = values.dtype.type(0.5)
        for i in range(len(values)):
            values[i] = half + half * values[i]
    else:
        _tanh(1.0, values)


@kernel
def _tanh(factor: float, values: Reals) -> None:
    """tanh(factor x) to nearly full precision, in a loop that vectorizes; a loop over the C library's tanh does not.

    With e = exp(2a) - 1, tanh(a) = e / (e + 2). Doubling a replaces e by e (e + 2): start with a short series for
    x / 128 and double it seven times.
    """
    for i in range(len(values)):
        x = factor * values[i]
        # From 20 on, tanh is 1 in double precision.
        a = (20.0 if x > 20.0 else (-20.0 if x < -20.0 else x)) / 64.0
        e = 1 / 720 + a * (1 / 5040 + a * (1 / 40320 + a * (1 / 362880 + a * (1 / 3628800))))
        e = a * (1.0 + a * (1 / 2 + a * (1 / 6 + a * (1 / 24 + a * (1 / 120 + a * e)))))
        e = _doubled(
            _doubled(_doubled(_doubled(_doubled(_doubled(_doubled(e))))))
        )  # An inner loop would not vectorize.
        values[i] = e / (e + 2.0)


@kernel
def _doubled(e: float) -> float:
    """exp(4a) - 1 from e = exp(2a) - 1."""
    return e * (e + 2.0)


@kernel
def multiply_by_derivative(activation: int, values: Reals, deltas: Reals) -> None:
    """Multiply the deltas of units by the derivative of the activation, computed from the units' values."""
    one = values.dtype.type(1)
    if activation == TANH:
        for i in range(len(values)):
            deltas[i] *= one - values[i] * values[i]
    elif activation == SIGMOID:
        for i in range(len(values)):
            deltas[i] *= values[i] * (one - values[i])
    else:
        for i in range(len(values)):
            deltas[i] = deltas[i] if values[i] > 0 else values.dtype.type(0)


_BLOCK_VALUES = 65_536
"""A block of scaled rows fits the L2 cache; a longer list is scaled twice, forward and backward."""


@kernel
def rows_in_block(n_features: int) -> int:
    """The number of documents in a block."""
    return max(4, _BLOCK_VALUES // n_features)


@kernel
def forward(layers: Layers, weights: Reals, X: Reals, units: Reals) -> None:
    """Compute all units of a block's documents; the last len(X) units are the scores."""
    n, last = len(X), len(layers.sizes) - 2
    below = X
    at, first = 0, 0
    for layer in range(last):
        n_in, n_out = layers.sizes[layer], layers.sizes[layer + 1]
        matrix = weights[at : at + n_out * n_in].reshape(n_out, n_in)
        at += n_out * n_in
        values = units[first : first + n * n_out]
        inner_products(matrix, weights[at : at + n_out], below, values.reshape(n, n_out))
        activate(layers.activation, values)
        at += n_out
        first += n * n_out
        below = values.reshape(n, n_out)
    outputs(weights[at:], below, units[first:])


@kernel
def outputs(weights: Reals, inputs: Reals, values: Reals) -> None:
    """values = inputs weights: the last layer, which has one unit and no bias."""
    for i in range(len(inputs)):
        values[i] = dot(weights, inputs[i])


@kernel
def backward(layers: Layers, weights: Reals, X: Reals, units: Reals, deltas: Reals, gradient: Reals) -> None:
    """Add a block's documents to the gradient by the weights.

    deltas: A work array of two rows, each of documents x widest layer; the first row starts with the documents' dC/ds.
    """
    n, last = len(X), len(layers.sizes) - 2
    at, first = len(weights), len(units)
    for layer in range(last, -1, -1):
        n_in, n_out = layers.sizes[layer], layers.sizes[layer + 1]
        above = deltas[(last - layer) % 2, : n * n_out].reshape(n, n_out)
        first -= n * n_out
        if layer < last:
            at -= n_out
            add_columns(above, gradient[at : at + n_out])
        at -= n_out * n_in
        weight_grad = gradient[at : at + n_out * n_in].reshape(n_out, n_in)
        if layer == 0:
            add_outer_products(above, X, weight_grad)
        else:
            values = units[first - n * n_in : first]
            add_outer_products(above, values.reshape(n, n_in), weight_grad)
            matrix = weights[at : at + n_out * n_in].reshape(n_out, n_in)
            below = deltas[(last - layer + 1) % 2, : n * n_in]
            propagate_back(above, matrix, below.reshape(n, n_in))
            multiply_by_derivative(layers.activation, values, below)


@kernel
def add_columns(deltas: Reals, total: Reals) -> None:
    """total += sum of the rows of deltas."""
    for i in range(len(deltas)):
        for unit in range(deltas.shape[1]):
            total[unit] += deltas[i, unit]


@kernel
def propagate_back(deltas: Reals, matrix: Reals, below: Reals) -> None:
    """below = deltas matrix."""
    for i in range(len(deltas)):
        for k in range(matrix.shape[1]):
            below[i, k] = deltas[i, 0] * matrix[0, k]
        for unit in range(1, len(matrix)):
            delta = deltas[i, unit]
            for k in range(matrix.shape[1]):
                below[i, k] += delta * matrix[unit, k]
