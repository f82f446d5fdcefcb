"""Forward and backward propagation compared with NumPy and numeric differences, for every activation and depth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from swaprank.arrays import Floats
from swaprank.models.layers import (
    ACTIVATIONS,
    Layers,
    activate,
    backward,
    count_units,
    count_weights,
    forward,
    layer_weights,
    make_layers,
    random_weights,
)
from tests.models.naive_net import FUNCTIONS, naive_cost, naive_scores

SHAPES = [(), (1,), (10,), (7,), (4, 3), (3, 6, 2)]


def random_net(hidden: tuple[int, ...], activation: int, n_features: int = 5, seed: int = 0) -> tuple[Layers, Floats]:
    layers = make_layers(n_features, hidden, activation)
    rng = np.random.default_rng(seed)
    return layers, rng.normal(size=count_weights(layers)) * 0.7


def scores_of(layers: Layers, weights: Any, X: Any) -> Any:
    units = np.empty(len(X) * count_units(layers), weights.dtype)
    forward(layers, weights, X, units)
    return units[len(units) - len(X) :]


def gradient_of(layers: Layers, weights: Any, X: Any, grad: Any) -> Any:
    """The gradient by the weights, from the gradient by the scores."""
    n = len(X)
    units = np.empty(n * count_units(layers), weights.dtype)
    deltas = np.full((2, n * int(layers.sizes[1:].max())), np.nan, weights.dtype)
    gradient = np.zeros_like(weights)
    forward(layers, weights, X, units)
    deltas[0, :n] = grad
    backward(layers, weights, X, units, deltas, gradient)
    return gradient


@pytest.mark.slow
@pytest.mark.parametrize("activation", range(len(ACTIVATIONS)))
def test_activations_are_those_of_numpy(activation: int) -> None:
    x = np.concatenate((np.linspace(-30, 30, 5001), [0.0, 1e-9, -1e-9, 700.0, -1e9]))
    values = x.copy()
    activate(activation, values)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(values, FUNCTIONS[ACTIVATIONS[activation]](x), rtol=2e-15, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("hidden", SHAPES)
@pytest.mark.parametrize("activation", range(len(ACTIVATIONS)))
def test_scores_are_those_of_numpy(hidden: tuple[int, ...], activation: int) -> None:
    layers, weights = random_net(hidden, activation)
    X = np.random.default_rng(1).normal(size=(9, 5))
    np.testing.assert_allclose(scores_of(layers, weights, X), naive_scores(layers, weights, X), rtol=1e-12)
    single = scores_of(layers, weights.astype(np.float32), X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, naive_scores(layers, weights, X), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("hidden", SHAPES)
@pytest.mark.parametrize("activation", range(len(ACTIVATIONS)))
def test_gradient_is_that_of_differences_for_every_weight(hidden: tuple[int, ...], activation: int) -> None:
    layers, weights = random_net(hidden, activation)
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(7, 5)), np.array([0, 2, 1, 0, 1, 2, 0.0])
    scores = scores_of(layers, weights, X)
    # dC/ds of RankNet's cost; a net gets dC/ds from any objective.
    difference = scores[:, None] - scores[None, :]
    better = (labels[:, None] > labels[None, :]).astype(float)
    lambdas = better / (1 + np.exp(difference))
    found = gradient_of(layers, weights, X, lambdas.sum(axis=0) - lambdas.sum(axis=1))
    step = 1e-6
    for w in range(len(weights)):
        up, down = weights.copy(), weights.copy()
        up[w] += step
        down[w] -= step
        cost_up, cost_down = (naive_cost(labels, naive_scores(layers, at, X)) for at in (up, down))
        assert found[w] == pytest.approx((cost_up - cost_down) / (2 * step), rel=1e-5, abs=1e-7)
    single = gradient_of(
        layers, weights.astype(np.float32), X.astype(np.float32), lambdas.sum(axis=0) - lambdas.sum(axis=1)
    )
    np.testing.assert_allclose(single, found, rtol=1e-3, atol=2e-5)


def test_a_documents_score_does_not_depend_on_its_neighbours() -> None:
    layers, weights = random_net((13, 6), 0, n_features=37)
    weights32 = weights.astype(np.float32)
    X = np.random.default_rng(3).normal(size=(101, 37)).astype(np.float32)
    together = scores_of(layers, weights32, X)
    for i in (0, 1, 50, 99, 100):
        assert scores_of(layers, weights32, X[i : i + 1])[0] == together[i]
        assert scores_of(layers, weights32, X[i:])[0] == together[i]


def test_gradients_of_blocks_add_up() -> None:
    layers, weights = random_net((5,), 0)
    rng = np.random.default_rng(4)
    X, grad = rng.normal(size=(11, 5)), rng.normal(size=11)
    parts = sum(gradient_of(layers, weights, X[a:b], grad[a:b]) for a, b in ((0, 4), (4, 5), (5, 11)))
    np.testing.assert_allclose(gradient_of(layers, weights, X, grad), parts, rtol=1e-12)


def test_weights_begin_small_and_random() -> None:
    layers = make_layers(100, (20,), 0)
    weights = random_weights(layers, np.random.default_rng(0))
    (first, biases), (second, none) = layer_weights(layers, weights)
    assert first.shape == (20, 100)
    assert second.shape == (1, 20)
    assert len(none) == 0
    assert (biases == 0).all()
    assert 0.09 < np.abs(first).max() <= 0.1
    assert len(np.unique(first)) > 1900
