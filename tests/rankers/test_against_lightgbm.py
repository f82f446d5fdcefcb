"""With our lambdas as its objective and the same bins, LightGBM must grow the same trees as we do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.lambdarank_objective import LambdaRankObjective

lgb = pytest.importorskip("lightgbm")


def splits_of(node: dict[str, Any]) -> list[tuple[int, float]]:
    """(feature, threshold) of every split below a node of LightGBM's dump."""
    if "leaf_value" in node:
        return []
    here = (int(node["split_feature"]), float(node["threshold"]))
    return [here, *splits_of(node["left_child"]), *splits_of(node["right_child"])]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ndcg@10", "map", "err"])
def test_first_trees_are_lightgbms(metric: str) -> None:
    (made,) = sr.datasets.random_net((300,), n_features=6, n_documents=20, levels=5, random_state=1)
    # Whole numbers: both libraries have the same bins, one per value.
    X = np.round(made.features * 20).astype(np.float32)
    qid = np.repeat(made.qids, np.diff(made.indptr))
    data = sr.Dataset(X, made.labels, qid=qid)
    ours = sr.LambdaMART(
        metric=metric, objective=LambdaRankObjective(sr.metric(metric)), n_trees=3, n_leaves=7, min_docs_in_leaf=20
    ).fit(data)
    bound = LambdaRankObjective(sr.metric(metric)).bind(data, random_state=0, n_threads=1)

    def objective(scores: Floats, _: Any) -> tuple[Floats, Floats]:
        grad, hess = np.empty(len(data)), np.empty(len(data))
        bound.update(np.array(scores, dtype=np.float64), grad, hess)
        return grad, hess

    booster = lgb.train(
        {"objective": objective, "num_leaves": 7, "learning_rate": 0.1, "min_data_in_leaf": 20, "verbose": -1,
         "min_sum_hessian_in_leaf": 1e-9, "max_bin": 255, "min_data_in_bin": 1, "num_threads": 2},
        lgb.Dataset(X, made.labels, params={"min_data_in_bin": 1}),
        num_boost_round=3,
    )  # fmt: skip
    for number, tree in enumerate(booster.dump_model()["tree_info"]):
        theirs = sorted((f, np.floor(t)) for f, t in splits_of(tree["tree_structure"]))
        nodes = slice(*ours.model_.tree_nodes[number : number + 2])
        mine = sorted(zip(ours.model_.feature[nodes], np.floor(ours.model_.threshold[nodes]), strict=True))
        assert mine == theirs
    np.testing.assert_allclose(ours.predict(X), booster.predict(X), atol=1e-5)


@pytest.mark.slow
def test_leaves_refitted_values_and_rates_by_round_are_lightgbms() -> None:
    old, new = sr.datasets.random_net((200, 100), n_features=4, n_documents=20, levels=5, random_state=2)
    X, others = (np.round(made.features * 20).astype(np.float32) for made in (old, new))
    data, more = (
        sr.Dataset(rows, made.labels, qid=np.repeat(made.qids, np.diff(made.indptr)))
        for rows, made in ((X, old), (others, new))
    )
    rates = [0.4, 0.3, 0.2, 0.1, 0.1]
    ours = sr.MART(n_trees=5, n_leaves=7, learning_rate=rates[:4]).fit(data)
    options = {"objective": "regression", "num_leaves": 7, "min_data_in_leaf": 20, "verbose": -1, "max_bin": 255,
               "min_sum_hessian_in_leaf": 1e-9, "boost_from_average": False, "num_threads": 2}  # fmt: skip
    theirs = lgb.train(
        options,
        lgb.Dataset(X, old.labels, params={"min_data_in_bin": 1}),
        num_boost_round=5,
        callbacks=[lgb.reset_parameter(learning_rate=rates)],
    )
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)

    leaves, their_leaves = ours.apply(more), theirs.predict(others, pred_leaf=True)
    assert leaves.shape == their_leaves.shape == (len(more), 5)
    for tree in range(5):
        pairs = set(zip(leaves[:, tree].tolist(), their_leaves[:, tree].tolist(), strict=True))
        assert len(pairs) == len(set(leaves[:, tree].tolist())) == 7

    for decay_rate in (0.0, 0.9):
        refitted = theirs.refit(others, new.labels, decay_rate=decay_rate)
        np.testing.assert_allclose(ours.refit(more, decay_rate=decay_rate).predict(X), refitted.predict(X), atol=1e-5)
