"""Small data, and small nets for it."""

from __future__ import annotations

from typing import Any

import numpy as np

import swaprank as sr

TRAIN, VALI, TEST = sr.datasets.random_net((100, 40, 40), n_features=8, n_documents=20, levels=5, random_state=0)
QID = np.repeat(TRAIN.qids, np.diff(TRAIN.indptr))
KINDS = [sr.LambdaRank, sr.RankNet]


def small(**parameters: Any) -> sr.LambdaRank:
    usual: dict[str, Any] = {"n_epochs": 10, "hidden": (5,), "learning_rate": 0.003}
    return sr.LambdaRank(**(usual | parameters))


def measured(ranker: Any, metric: str | sr.metrics.Metric = "ndcg@10", data: sr.Dataset = TEST) -> float:
    return sr.evaluate(data, ranker.predict(data), metric).results[0].mean
