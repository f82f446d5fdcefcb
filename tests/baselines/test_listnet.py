"""ListNet, linear and as a net, and its objective on trees."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats
from tests.objectives.naive_listnet import listnet_cost

TRAIN, VALI, TEST = sr.datasets.random_net((60, 30, 30), n_features=6, n_documents=10, levels=4, random_state=0)


def test_a_linear_listnet_finds_the_least_cost() -> None:
    # The cost is convex in the weights: where its slopes vanish, it is least.
    X = (TRAIN.features - TRAIN.features.mean(axis=0)) / TRAIN.features.std(axis=0)
    ranker = sr.baselines.ListNet(n_epochs=300, learning_rate=0.02, decay=0.98, batch_queries=60).fit(TRAIN)

    def slopes(weights: Floats) -> Floats:
        moves = 1e-4 * np.eye(6)
        costs = [[listnet_cost(TRAIN.labels, X @ (weights + way), TRAIN.indptr) for way in (m, -m)] for m in moves]
        return np.array([(up - down) / 2e-4 for up, down in costs])

    assert np.linalg.norm(slopes(ranker.model_.weights.astype(float))) < 0.01 * np.linalg.norm(slopes(np.zeros(6)))


def test_it_is_a_ranker_like_the_others(tmp_path: Path) -> None:
    ranker = sr.baselines.ListNet(hidden=(5,), n_epochs=30, n_threads=1).fit(TRAIN, valid=VALI)
    assert ranker.score(VALI) == max(ranker.history_["valid"]["ndcg@10"])
    assert ranker.score(TEST) > sr.baselines.ListNet(n_epochs=1, learning_rate=1e-9).fit(TRAIN).score(TEST) + 0.1
    ranker.save(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(sr.load(tmp_path / "model.swaprank").predict(TEST), ranker.predict(TEST))
    again = sr.baselines.ListNet(hidden=(5,), n_epochs=30, n_threads=3).fit(TRAIN, valid=VALI)
    np.testing.assert_array_equal(again.predict(TEST), ranker.predict(TEST))
    result = sr.cross_validate(TRAIN, {"listnet": sr.baselines.ListNet(n_epochs=3)}, n_folds=3)
    assert result.mean("listnet", "ndcg@10") > 0.5


def test_trees_take_its_objective() -> None:
    ranker = sr.LambdaMART(n_trees=30, n_leaves=8, min_docs_in_leaf=5, objective=sr.objectives.ListNetObjective()).fit(
        TRAIN
    )
    costs = [
        listnet_cost(TRAIN.labels, ranker.predict_stage(TRAIN, n_trees), TRAIN.indptr) for n_trees in (0, 1, 5, 30)
    ]
    assert costs == sorted(costs, reverse=True)
    assert ranker.score(TEST) > 0.75
