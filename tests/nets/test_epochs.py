"""Epochs against gradients in NumPy, and the two trainings of RankNet against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.models.layers import count_weights, make_layers
from swaprank.models.net import Net
from swaprank.models.scaling import fit_scaling
from swaprank.nets.net_training import Trainer, Training, TrainingRules
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective import BoundKernelObjective
from swaprank.objectives.ranknet_objective import RankNetObjective
from tests.models.naive_net import naive_cost, naive_scores

LABELS = [2, 0, 1, 0, 0, 1, 1, 1, 3, 0, 0, 0]
QID = [1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 4, 4]
"""Lists of four, five, one and two documents; the last one has nothing to learn from."""


def made(**more: Any) -> sr.Dataset:
    X = np.random.default_rng(0).normal(size=(len(LABELS), 3))
    return sr.Dataset(X, LABELS, qid=QID, **more)


def random_net(data: sr.Dataset, hidden: tuple[int, ...] = (4,), seed: int = 0) -> Net:
    layers = make_layers(data.n_features, hidden, 0)
    weights = np.random.default_rng(seed).normal(size=count_weights(layers)).astype(np.float32) * np.float32(0.5)
    return Net(layers, fit_scaling(data.features, np.zeros(data.n_features, bool), True), weights)


def ranknet(data: sr.Dataset, sigma: float = 1.0, ties: bool = False) -> BoundKernelObjective:
    return RankNetObjective(sigma, ties).bind(data, random_state=0, n_threads=1)


def trained(
    data: sr.Dataset, bound: BoundKernelObjective, net: Net, *, batch: int = 1, training: Training = "factored",
    epochs: int = 1, rate: float = 0.01,
) -> Trainer:  # fmt: skip
    rules = TrainingRules("sgd", rate, 1.0, batch, None, training)
    trainer = Trainer(data, bound, net, rules, None, 0)
    for number in range(1, epochs + 1):
        trainer.epoch(number)
    return trainer


def naive_gradient(data: sr.Dataset, net: Net, ties: bool = False) -> Floats:
    """Of RankNet's cost over all queries, by differences."""
    X: Floats = (data.features - net.scaling.mean).astype(float) * net.scaling.factor.astype(float)

    def cost(weights: Floats) -> float:
        scores = naive_scores(net.layers, weights, X) + (0 if data.base_score is None else data.base_score)
        lists = [data.rows(q) for q in range(data.n_queries)]
        return sum(naive_cost(data.labels[rows], scores[rows], ties=ties) for rows in lists)

    weights, step = net.weights.astype(float), 1e-6
    each = np.eye(len(weights)) * step
    return np.array([(cost(weights + by) - cost(weights - by)) / (2 * step) for by in each])


@pytest.mark.parametrize("training", ["factored", "pairs"])
@pytest.mark.parametrize("ties", [False, True])
def test_one_batch_is_one_step_down_the_gradient(training: Training, ties: bool) -> None:
    data = made(base_score=np.linspace(-1, 1, len(LABELS)))
    net = random_net(data)
    after = trained(data, ranknet(data, ties=ties), net, batch=100, training=training)
    # The query of one document has no pair, and the last one only a tie: they do not count in the mean.
    n_queries = 3 if ties else 2
    expected = naive_gradient(data, net, ties)
    np.testing.assert_allclose((net.weights - after.weights) * n_queries / 0.01, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("hidden", [(), (6,), (5, 3)])
@pytest.mark.parametrize("options", [{}, {"sigma": 2.0}, {"ties": True}])
@pytest.mark.parametrize("batch", [1, 2])
def test_both_trainings_of_ranknet_take_the_same_steps(
    hidden: tuple[int, ...], options: dict[str, Any], batch: int
) -> None:
    data = made(sample_weight=np.linspace(0.5, 2.0, len(LABELS)), base_score=np.linspace(-1, 1, len(LABELS)))
    net = random_net(data, hidden)
    first, second = (
        trained(data, ranknet(data, **options), net, batch=batch, training=training, epochs=5, rate=0.1)
        for training in ("factored", "pairs")
    )
    assert not np.allclose(first.weights, net.weights, atol=0.01)
    np.testing.assert_allclose(first.weights, second.weights, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(first.scores, second.scores, rtol=1e-4, atol=1e-5)


def test_both_trainings_pass_by_queries_without_a_force() -> None:
    (data,) = sr.datasets.random_net((12,), n_features=3, n_documents=6, random_state=0)
    X, labels = np.array(data.features), np.array(data.labels)
    X[:36], labels[:36] = X[0], 0
    alike = sr.Dataset(X, labels, qid=np.repeat(np.arange(12), 6))
    first, second = (
        sr.RankNet(hidden=(3,), ties=True, n_epochs=3, decay=1.0, training=training).fit(alike).predict(alike)
        for training in ("factored", "pairs")
    )
    np.testing.assert_allclose(first, second, atol=1e-5)


def test_both_trainings_take_given_pairs_also_inconsistent_ones() -> None:
    data = made(pairs=[(0, 1, 0.9), (1, 2, 0.8), (2, 0, 0.7), (5, 4, 0.0), (10, 11, 0.5)])
    net = random_net(data)
    first, second = (
        trained(data, ranknet(data), net, training=training, epochs=5, rate=0.1) for training in ("factored", "pairs")
    )
    assert not np.allclose(first.weights, net.weights, atol=0.01)
    np.testing.assert_allclose(first.weights, second.weights, rtol=1e-4, atol=1e-5)


def test_a_pair_of_weight_two_is_learned_as_the_same_pair_twice() -> None:
    once, twice = (
        made(pairs=[(0, 1, 0.9, 2.0), (5, 4, 0.2, 1.0), (10, 11, 0.5, 0.0)]),
        made(pairs=[(0, 1, 0.9), (0, 1, 0.9), (5, 4, 0.2)]),
    )
    net = random_net(once)
    for training in ("factored", "pairs"):
        first, second = (
            trained(data, ranknet(data), net, training=training, epochs=5, rate=0.1) for data in (once, twice)
        )
        np.testing.assert_allclose(first.weights, second.weights, rtol=1e-5, atol=1e-6)


def test_a_step_of_a_pair_is_as_large_as_its_weight() -> None:
    pairs = [(0, 1, 1.0, 2.0), (2, 0, 0.3, 0.5)]
    data = sr.Dataset([[1.0], [2.0], [4.0]], [0, 0, 0], qid=[1, 1, 1], pairs=pairs)
    net = random_net(data, ())
    after = trained(data, ranknet(data), net, training="online", rate=0.5)
    x, w = (data.features[:, 0] - net.scaling.mean[0]) * net.scaling.factor[0], float(net.weights[0])
    for i, j, p, weight in pairs:
        w -= 0.5 * weight * (1 / (1 + np.exp(-w * (x[i] - x[j]))) - p) * (x[i] - x[j])
    assert after.weights[0] == pytest.approx(w, rel=1e-5)


def test_a_step_a_pair_is_gone_pair_by_pair() -> None:
    data = sr.Dataset([[1.0], [2.0], [4.0]], [2, 1, 0], qid=[1, 1, 1])
    net = random_net(data, ())
    after = trained(data, ranknet(data), net, training="online", rate=0.5)
    x, w = (data.features[:, 0] - net.scaling.mean[0]) * net.scaling.factor[0], float(net.weights[0])
    for i, j in ((0, 1), (0, 2), (1, 2)):
        w += 0.5 / (1 + np.exp(w * (x[i] - x[j]))) * (x[i] - x[j])
    assert after.weights[0] == pytest.approx(w, rel=1e-5)


@pytest.mark.parametrize("training", ["factored", "pairs", "online"])
def test_scattered_rows_learn_as_grouped_ones(training: Training) -> None:
    grouped = made(sample_weight=np.arange(12) + 1.0, base_score=np.arange(12) / 5)
    # Queries first appear in the same order, so that epochs go through them in the same one.
    order = np.argsort([0, 4, 5, 6, 1, 7, 8, 9, 10, 2, 3, 11])
    scattered = sr.Dataset(
        grouped.features[order], grouped.labels[order], qid=np.array(QID)[order], sample_weight=order + 1.0,
        base_score=order / 5,
    )  # fmt: skip
    assert scattered.order is not None
    net = random_net(grouped)
    weights = [trained(data, ranknet(data), net, training=training, epochs=3).weights for data in (grouped, scattered)]
    np.testing.assert_array_equal(weights[0], weights[1])


def test_lists_longer_than_a_block_learn_the_same() -> None:
    rng = np.random.default_rng(0)
    # 500 features: 131 rows a block.
    X = rng.normal(size=(400, 500)).astype(np.float32)
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    data = sr.Dataset(X, labels, qid=np.zeros(400, int))
    net = random_net(data, (3,), seed=1)
    first, second = (trained(data, ranknet(data), net, training=way, rate=1e-4) for way in ("factored", "pairs"))
    np.testing.assert_array_equal(first.scores, second.scores)
    np.testing.assert_array_equal(first.scores, net.score(data.features))
    np.testing.assert_allclose(net.weights - first.weights, net.weights - second.weights, rtol=1e-2, atol=2e-6)


def test_lambdarank_steps_are_its_lambdas_through_the_net() -> None:
    data = made()
    net = random_net(data)
    bound = LambdaRankObjective(sr.metric("ndcg@3"), 1.0, False).bind(data, random_state=0, n_threads=1)
    after = trained(data, bound, net, batch=100)
    grad, hess = np.empty(len(data)), np.empty(len(data))
    X: Floats = (data.features - net.scaling.mean).astype(float) * net.scaling.factor.astype(float)
    bound.update(naive_scores(net.layers, net.weights.astype(float), X), grad, hess)

    def pushed(weights: Floats) -> float:
        return float(grad @ naive_scores(net.layers, weights, X))

    weights, step = net.weights.astype(float), 1e-6
    slope = np.array([(pushed(weights + by) - pushed(weights - by)) / (2 * step) for by in np.eye(len(weights)) * step])
    np.testing.assert_allclose((net.weights - after.weights) * 2 / 0.01, slope, rtol=1e-3, atol=1e-3)


def test_moving_all_scores_alike_changes_nothing() -> None:
    net = random_net(made())
    weights = []
    for shift in (0.0, 3.0):
        data = made(base_score=np.full(len(LABELS), shift))
        weights.append(trained(data, ranknet(data), net, epochs=3).weights)
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-5, atol=1e-6)


def test_weights_that_grow_beyond_all_bounds_are_refused() -> None:
    data = made()
    with pytest.raises(sr.errors.ParameterError, match="the weights diverged in epoch 1: learning_rate=1e\\+38"):
        trained(data, ranknet(data), random_net(data, (4, 4)), rate=1e38, epochs=3)
