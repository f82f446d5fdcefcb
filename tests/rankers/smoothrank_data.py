"""The training data of the tests of SmoothRank."""

from __future__ import annotations

from typing import Any

import numpy as np

import swaprank as sr

TRAIN, VALI, TEST = sr.datasets.random_polynomial(
    (60, 30, 30), n_features=6, n_documents=20, levels=4, random_state=0
)  # fmt: skip
SHORT = (8.0, 1.0, 0.125)


def small(**parameters: Any) -> sr.SmoothRank:
    chosen: dict[str, Any] = {"metric": "ndcg", "regularization": 0.01, "annealing": SHORT, "n_folds": 3} | parameters
    return sr.SmoothRank(**chosen)


def ndcg(ranker: Any, data: sr.Dataset = TEST) -> float:
    return sr.evaluate(data, ranker.predict(data), "ndcg")["ndcg"].mean


def qid_of(data: sr.Dataset) -> Any:
    return np.repeat(data.qids, np.diff(data.indptr))
