"""The rankers whose scores the engines are asked for, with their documents."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.exchange.fitted_models import (
    NAMES,
    at_thresholds,
    data,
    data_with_categories,
    data_with_missing,
    fitted,
)

import swaprank as sr
from swaprank.arrays import Features
from swaprank.models.served import Trees

OF_THE_TESTS = (
    "trees", "one leaf", "trees of missing values", "trees of categories", "sum of trees",
    "linear", "smoothrank", "linear net", "sum of linear models", "net", "sigmoid net",
)  # fmt: skip
TINY = "trees of tiny values"
"""Their thresholds are so near to 0 that Solr's 1e-6 matters."""
N_ROWS, N_AT = 50, 180


def rankers() -> dict[str, sr.Ranker]:
    """The rankers by name."""
    train = data()[0]
    shape: dict[str, Any] = {"n_trees": 12, "min_docs_in_leaf": 5}
    qid = np.repeat(np.arange(train.n_queries), np.diff(train.indptr))
    tiny = np.array(data_with_missing()[0].features)
    # Only whether it is missing means something here; there, that its large values are.
    tiny[:, 3] = np.where(np.isnan(tiny[:, 3]), np.nan, np.random.default_rng(0).normal(size=len(tiny)))
    tiny[:, 4] = np.where(tiny[:, 4] > 1, np.nan, train.features[:, 4])
    others: dict[str, sr.Ranker] = {
        "symmetric trees": sr.LambdaMART(grow_policy="symmetric", max_depth=3, **shape).fit(data_with_missing()[0]),
        "random forest": sr.baselines.RandomForest(n_leaves=9, **shape).fit(train),
        TINY: sr.LambdaMART(n_leaves=9, **shape).fit(
            sr.Dataset(tiny * np.float32(1e-7), train.labels, qid=qid, feature_names=list(NAMES))
        ),
        "relu net": sr.RankNet(hidden=(6,), activation="relu", n_epochs=3).fit(train),
    }
    return {name: fitted(name) for name in OF_THE_TESTS} | others


def documents(name: str, ranker: sr.Ranker) -> Features:
    """Test documents, the same with missing values, and some with a value at and next to a threshold."""
    sets = data_with_categories() if name == "trees of categories" else data()
    rows = sets[2].features * np.float32(1e-7 if name == TINY else 1)
    rng = np.random.default_rng(0)
    holes = rows[:N_ROWS].copy()
    holes[rng.random(holes.shape) < 0.3] = np.nan
    served = ranker.model_.for_export()
    at = rng.permutation(at_thresholds(served.forest, rows, rng))[:N_AT] if isinstance(served, Trees) else rows[:0]
    return np.concatenate([rows[:N_ROWS], holes, at])
