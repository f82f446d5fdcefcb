"""LambdaRank as in [Burges2006] and [Donmez2009] against nets that are written from their texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from tests.papers.naive_burges2006_lambdarank import (
    Lambdas,
    ndcg_lambda_of_a_pair,
    ndcg_lambdas,
    ranknet_lambdas,
    train,
)
from tests.papers.naive_donmez2009_lambdarank import (
    average_precision,
    change_of_average_precision,
    map_lambdas,
)
from tests.papers.small_queries import as_two_layers, flat, query_orders, small_data, trained_in_double_precision


def as_in_2006(metric: str = "ndcg@10", **changes: Any) -> sr.LambdaRank:
    """[Burges2006], section 6.3; the lambdas are those of all ranks, whatever the cut-off of the metric."""
    return sr.papers.lambdarank2006(metric, **changes)


def as_in_2009(metric: str = "map", **changes: Any) -> sr.LambdaRank:
    """[Donmez2009], section 7."""
    return sr.papers.lambdarank2009(metric, **changes)


CASES: dict[str, tuple[Callable[..., sr.LambdaRank], str, Lambdas, int]] = {
    "2006, ndcg@10": (as_in_2006, "ndcg@10", ndcg_lambdas(1000), 4),
    "2006, ndcg@3": (as_in_2006, "ndcg@3", ndcg_lambdas(1000), 4),
    "2009, ndcg@3": (as_in_2009, "ndcg@3", ndcg_lambdas(3), 4),
    "2009, ndcg": (as_in_2009, "ndcg", ndcg_lambdas(1000), 4),
    "2009, map": (as_in_2009, "map", map_lambdas, 2),
}


@pytest.mark.parametrize(("make", "metric", "lambdas", "levels"), CASES.values(), ids=CASES)
def test_the_net_has_the_weights_of_the_papers_net_after_epochs(
    make: Callable[..., sr.LambdaRank], metric: str, lambdas: Lambdas, levels: int
) -> None:
    data = small_data(levels)
    changes: dict[str, Any] = {"hidden": (4,), "learning_rate": 0.3, "random_state": 5, "decay": 1.0}
    ranker = make(metric, **changes, restart_rounds=None, restart_watch="train", n_epochs=0).fit(data)
    start, lists = as_two_layers(ranker), [data.rows(q) for q in range(data.n_queries)]
    queries = [(data.features[rows].astype(float), data.labels[rows]) for rows in lists]
    naive = train(start, queries, query_orders(ranker), 0.3, lambdas)
    trainer = trained_in_double_precision(ranker, data)
    assert np.abs(flat(naive) - flat(start)).max() > 0.05
    np.testing.assert_allclose(trainer.weights, flat(naive), rtol=1e-9, atol=1e-9)


def test_factored_training_is_ranknets() -> None:
    data = small_data()
    ranker = sr.RankNet(hidden=(4,), optimizer="sgd", learning_rate=0.1, decay=1.0, n_epochs=0, standardize=False)
    ranker.fit(data)
    start, lists = as_two_layers(ranker), [data.rows(q) for q in range(data.n_queries)]
    queries = [(data.features[rows].astype(float), data.labels[rows]) for rows in lists]
    naive = train(start, queries, query_orders(ranker), 0.1, ranknet_lambdas)
    np.testing.assert_allclose(trained_in_double_precision(ranker, data).weights, flat(naive), rtol=1e-9, atol=1e-9)


def test_the_closed_forms_are_the_changes_of_the_metrics() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(2, 12))
        scores, labels = rng.normal(size=n), rng.integers(0, 5, n).astype(float)
        labels[:2] = 0, 4
        total = ndcg_lambdas(1000)(labels, scores)
        for i in range(n):
            above = [ndcg_lambda_of_a_pair(labels, scores, i, j) for j in range(n) if labels[i] > labels[j]]
            below = [ndcg_lambda_of_a_pair(labels, scores, j, i) for j in range(n) if labels[j] > labels[i]]
            assert total[i] == pytest.approx(sum(above) - sum(below), abs=1e-12)
        relevant = (labels > 1).astype(int).tolist()
        for upper in range(1, n + 1):
            for lower in range(upper + 1, n + 1):
                if relevant[lower - 1] > relevant[upper - 1]:
                    swapped = list(relevant)
                    swapped[upper - 1], swapped[lower - 1] = 1, 0
                    change = average_precision(swapped) - average_precision(relevant)
                    assert change_of_average_precision(relevant, upper, lower) == pytest.approx(change, abs=1e-12)
