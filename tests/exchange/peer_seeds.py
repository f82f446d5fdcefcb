"""Data to train LightGBM and XGBoost with, and small valid model files of theirs."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Features, Ints

N_QUERIES, N_DOCUMENTS = 60, 15
CATEGORICAL = [4, 5]


class PeerData(NamedTuple):
    """Four features with missing values and zeros, then two that are numbers of categories."""

    X: Features
    y: Ints
    qid: Ints


@cache
def peer_data() -> PeerData:
    """Documents of 60 queries with grades from 0 to 4."""
    rng = np.random.default_rng(0)
    n = N_QUERIES * N_DOCUMENTS
    X = np.round(rng.normal(size=(n, 6)), 2).astype(np.float32)
    X[:, 4], X[:, 5] = rng.integers(0, 40, n), rng.integers(0, 6, n)
    y = np.clip(X[:, 0] + X[:, 1] + X[:, 4] % 3 + rng.normal(size=n), 0, 4).astype(np.int64)
    X[:, :2][rng.random((n, 2)) < 0.3] = 0
    X[rng.random(X.shape) < 0.1] = np.nan
    return PeerData(X, y, np.repeat(np.arange(N_QUERIES), N_DOCUMENTS))


def train_lightgbm(
    n_trees: int = 8, *, categorical: bool = False, data: Any = None, y: Any = None, **options: Any
) -> Any:
    """A Booster of LightGBM."""
    import lightgbm

    train = lightgbm.Dataset(
        peer_data().X if data is None else data,
        peer_data().y if y is None else y,
        group=[N_DOCUMENTS] * N_QUERIES,
        categorical_feature=CATEGORICAL if categorical else "auto",
    )
    shape = {"num_leaves": 15, "min_data_in_leaf": 5, "min_data_per_group": 5, "cat_smooth": 1.0}
    return lightgbm.train({"objective": "lambdarank", "verbosity": -1, **shape, **options}, train, n_trees)


def train_xgboost(
    n_trees: int = 8, *, categorical: bool = False, data: Any = None, y: Any = None, **options: Any
) -> Any:
    """A Booster of XGBoost."""
    import xgboost

    objective = options.get("objective", "rank:ndcg")
    groups = {"qid": peer_data().qid} if objective.startswith("rank:") else {}
    types = {"feature_types": ["q"] * 4 + ["c"] * 2} if categorical else {}
    X = peer_data().X if data is None else data
    train = xgboost.DMatrix(X, peer_data().y if y is None else y, enable_categorical=True, **groups, **types)
    options = {"max_depth": 4, "verbosity": 0, "nthread": 1, **options, "objective": objective}
    return xgboost.train(options, train, n_trees)


@cache
def shop_frame(third_brand: str) -> tuple[Any, Ints]:
    """A data frame with text and numbers as pandas categories, and labels."""
    import pandas

    rng = np.random.default_rng(1)
    n = N_QUERIES * N_DOCUMENTS
    frame = pandas.DataFrame(
        {
            "bm25": rng.normal(size=n).astype(np.float32),
            "brand": pandas.Categorical(rng.choice(["nike", "puma", third_brand], n)),
            "shop": pandas.Categorical(rng.choice([3, 7, 90], n)),
        }
    )
    y = ((frame.brand == "nike").astype(int) + (frame.shop == 90) + (frame.bm25 > 0)).to_numpy()
    return frame, y


def lightgbm_seeds() -> list[bytes]:
    """Model texts: thresholds, sets of categories, names of categories, averaged trees."""
    import pandas

    brands = pandas.Categorical(np.where(peer_data().X[:, 5] > 2, "nike", "puma"))
    frame = pandas.DataFrame({"bm25": peer_data().X[:, 0], "brand": brands})
    forest: dict[str, Any] = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5, "objective": "regression"}
    models = (
        train_lightgbm(2, num_leaves=4),
        train_lightgbm(2, num_leaves=6, categorical=True),
        train_lightgbm(2, num_leaves=4, data=frame),
        train_lightgbm(2, num_leaves=4, **forest),
    )
    return [model.model_to_string().encode() for model in models]


def xgboost_seeds() -> list[bytes]:
    """Models in JSON and UBJ: thresholds, sets of categories, names of categories, weights of trees."""
    import pandas

    brands = pandas.Categorical(np.where(peer_data().X[:, 5] > 2, "nike", "puma"))
    frame = pandas.DataFrame({"bm25": peer_data().X[:, 0], "brand": brands})
    models = (
        train_xgboost(2, max_depth=2),
        train_xgboost(2, max_depth=2, categorical=True, max_cat_to_onehot=1),
        train_xgboost(2, max_depth=2, data=frame),
        train_xgboost(2, max_depth=2, booster="dart", rate_drop=0.5),
    )
    return [bytes(model.save_raw(form)) for model in models for form in ("json", "ubj")]
