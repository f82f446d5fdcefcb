"""The scores of served models in plain NumPy, double precision, from the definitions in their docstrings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats
from swaprank.models.served import FeedForward, KernelSum, Mixture, ServedModel, Trees, WeightedSum
from tests.models.random_forests import naive_scores

ACTIVATIONS: dict[str, Callable[[AnyArray], AnyArray]] = {
    "tanh": np.tanh,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "relu": lambda z: np.maximum(z, 0),
}


def scores(model: ServedModel, X: Features) -> Floats:
    x = X.astype(np.float64)
    found: AnyArray
    match model:
        case Trees(forest):
            found = naive_scores(forest, X)
        case WeightedSum(weights, missing, bias):
            found = np.where(np.isnan(x), missing, x) @ weights + bias
        case FeedForward(logged, mean, factor, missing, layers, activation):
            x = np.where(logged, np.sign(x) * np.log1p(np.abs(x)), x)
            z = np.clip((x - mean) * factor.astype(np.float64), -1e9, 1e9)
            z = np.where(np.isnan(x), missing, z)
            for matrix, biases in layers[:-1]:
                z = ACTIVATIONS[activation](z @ matrix.T.astype(np.float64) + biases)
            found = (z @ layers[-1][0].T.astype(np.float64) + layers[-1][1])[:, 0]
        case KernelSum(kernel, gamma, degree, factor, missing, landmarks, coefficients):
            z = np.where(np.isnan(x), 0, (x - missing) * factor)
            if kernel == "rbf":
                values = np.exp(-gamma * ((z[:, None, :] - landmarks) ** 2).sum(axis=2))
            else:
                values = (gamma * z @ landmarks.T + 1) ** degree
            found = values @ coefficients
        case Mixture(members, center, spread, top):
            inner = np.stack([(scores(each, X) - c) / s for each, c, s in zip(members, center, spread, strict=True)])
            found = scores(top, inner.T)
    return found


def difference(found: Floats, expected: Floats) -> float:
    """The largest difference, relative to the largest score."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())
