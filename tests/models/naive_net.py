"""A net in plain NumPy, which the kernels are compared with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from swaprank.arrays import Floats
from swaprank.models.activations import ACTIVATIONS
from swaprank.models.layers import Layers, layer_weights

FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0.0),
}


def naive_scores(layers: Layers, weights: Floats, X: Floats) -> Floats:
    values = X
    *inner, (output, _) = layer_weights(layers, weights)
    for matrix, biases in inner:
        values = FUNCTIONS[ACTIVATIONS[layers.activation]](values @ matrix.T + biases)
    scores: Floats = (values @ output.T)[:, 0]
    return scores


def naive_cost(labels: Floats, scores: Floats, sigma: float = 1.0, ties: bool = False) -> float:
    """RankNet's cost of one list, summed over its pairs [Burges2005, Eq. 3]."""
    total = 0.0
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] > labels[j] or (ties and labels[i] == labels[j] and i < j):
                target = 1.0 if labels[i] > labels[j] else 0.5
                ahead = sigma * (scores[i] - scores[j])
                total += float(np.logaddexp(0.0, ahead) - target * ahead)
    return total
