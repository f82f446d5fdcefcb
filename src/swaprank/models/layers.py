"""The shape of a net, and its weights in one flat array.

    features ─► hidden units ─► … ─► one score         weights   [ W_1 (out x in) b_1 | W_2 b_2 | … | W_last (1 x in) ]

The last layer has no bias: it would add the same number to all scores, which changes no ranking.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import Ints

Reals: TypeAlias = NDArray[np.floating[Any]]
"""float32 to train and score nets, float64 to check gradients: kernels accept both."""


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
    """Activation of the hidden units: index in `activations.ACTIVATIONS`."""


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


def random_weights(layers: Layers, rng: np.random.Generator) -> NDArray[np.float32]:
    """Initial weights: uniform in ±1 / sqrt(inputs of the unit), so that no unit starts saturated; biases are 0."""
    weights = np.zeros(count_weights(layers), np.float32)
    for matrix, _ in layer_weights(layers, weights):
        matrix[:] = rng.uniform(-1.0, 1.0, matrix.shape) / np.sqrt(matrix.shape[1])
    return weights
