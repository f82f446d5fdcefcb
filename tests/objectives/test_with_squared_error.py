"""The squared error beside an objective, compared with plain Python and with numeric derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats


def gradients(objective: sr.objectives.Objective, data: sr.Dataset, scores: Floats) -> tuple[Floats, Floats]:
    grad, hess = np.empty(len(data)), np.empty(len(data))
    objective.bind(data, random_state=0, n_threads=1).update(scores, grad, hess)
    return grad, hess


def problem(labels_times: float = 1.0) -> tuple[sr.Dataset, Floats]:
    rng = np.random.default_rng(0)
    sizes = [1, 2, 7, 30]
    labels = rng.integers(0, 4, sum(sizes)) * labels_times
    return sr.Dataset(rng.random((sum(sizes), 2)), labels, group=sizes), rng.normal(size=sum(sizes))


@pytest.mark.parametrize("weight", [0.5, 3.0])
@pytest.mark.parametrize("name", ["lambdas", "ranknet"])
def test_the_squared_error_is_centred_and_as_curved_as_the_objective(weight: float, name: str) -> None:
    data, scores = problem()
    base = {
        "lambdas": sr.objectives.LambdaRankObjective(sr.metric("ndcg@10")),
        "ranknet": sr.objectives.RankNetObjective(),
    }[name]
    grad, hess = gradients(sr.objectives.WithSquaredError(base, weight), data, scores)
    grad_before, hess_before = gradients(base, data, scores)
    for first, last in zip(data.indptr[:-1], data.indptr[1:], strict=True):
        query, curvature = slice(first, last), weight * hess_before[first:last].mean()
        targets = data.labels[query] * 3 / 3  # labels from 0 to 3 have the range 3 already

        def cost(s: Floats, targets: Floats = targets, curvature: float = curvature) -> float:
            error = s - targets
            return float(curvature / 2 * ((error - error.mean()) ** 2).sum())

        for i in range(last - first):
            step = np.zeros(last - first)
            step[i] = 1e-5
            numeric = (cost(scores[query] + step) - cost(scores[query] - step)) / 2e-5
            assert grad[first + i] - grad_before[first + i] == pytest.approx(numeric, abs=1e-8)
        np.testing.assert_allclose(hess[query], hess_before[query] + curvature, rtol=1e-12)
        assert grad[query].sum() == pytest.approx(0, abs=1e-12)


def test_the_unit_of_the_labels_does_not_matter() -> None:
    (data, scores), (larger, _) = problem(), problem(labels_times=10.0)
    objective = sr.objectives.WithSquaredError(sr.objectives.RankNetObjective(), 1.0)
    np.testing.assert_allclose(gradients(objective, data, scores), gradients(objective, larger, scores), rtol=1e-12)


def test_labels_that_are_all_equal_add_nothing_to_learn() -> None:
    data = sr.Dataset(np.ones((4, 1)), np.full(4, 2.0), group=[4])
    objective = sr.objectives.WithSquaredError(sr.objectives.RankNetObjective(), 1.0)
    np.testing.assert_array_equal(gradients(objective, data, np.arange(4.0))[0], np.zeros(4))


def test_an_objective_across_queries_is_refused() -> None:
    data, _ = problem()
    objective = sr.objectives.WithSquaredError(sr.objectives.SmoothBoostingObjective(sr.metric("ndcg@10")), 1.0)
    with pytest.raises(sr.errors.ParameterError, match="cannot be added to SmoothBoostingObjective"):
        objective.bind(data, random_state=0, n_threads=1)


def test_trees_learn_labels_where_the_metric_says_nothing() -> None:
    (train, test) = sr.datasets.random_net((60, 40), n_features=5, random_state=0)
    with_labels, without = (
        sr.LambdaMART("p@1", n_trees=30, n_leaves=7, squared_error=weight).fit(train) for weight in (1.0, 0.0)
    )
    assert with_labels.score(test) > 0.5
    assert sr.evaluate(test, with_labels.predict(test), "ndcg")["ndcg"].mean > (
        sr.evaluate(test, without.predict(test), "ndcg")["ndcg"].mean
    )
