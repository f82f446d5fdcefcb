"""A net in plain NumPy, which the kernels are compared with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from swaprank.arrays import Floats
from swaprank.models.layers import Layers

FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0.0),
}
"""In the order of their numbers."""


def naive_scores(layers: Layers, weights: Floats, X: Floats) -> Floats:
    """The weights are, layer by layer, a row of inputs for each unit, then the biases; the score has no bias."""
    values, at = X, 0
    activation = list(FUNCTIONS.values())[layers.activation]
    for below, units in zip(layers.sizes[:-2], layers.sizes[1:-1], strict=True):
        matrix = weights[at : at + units * below].reshape(units, below)
        at += units * below
        values = activation(values @ matrix.T + weights[at : at + units])
        at += units
    scores: Floats = values @ weights[at:]
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
