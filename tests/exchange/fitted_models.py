"""Small fitted rankers of every kind, made once per process, and documents at which formats go wrong."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import swaprank as sr
from swaprank.arrays import Features
from swaprank.models.forest import Forest

NAMES = ("bm25", "title match", "age", "clicks", "price")
N_CATEGORIES = 40


@cache
def data() -> tuple[sr.Dataset, sr.Dataset, sr.Dataset]:
    """Training, validation and test data without missing values or categories."""
    sets = sr.datasets.random_net((60, 30, 30), n_features=len(NAMES), n_documents=15, random_state=0)
    train, vali, test = (_dataset(each.features * 3, each) for each in sets)
    return train, vali, test


@cache
def data_with_missing() -> tuple[sr.Dataset, sr.Dataset, sr.Dataset]:
    """The same with missing values, which mean something: small values are missing."""
    train, vali, test = (_dataset(np.where(each.features < -1, np.nan, each.features), each) for each in data())
    return train, vali, test


@cache
def data_with_categories() -> tuple[sr.Dataset, sr.Dataset, sr.Dataset]:
    """The last two features are categories, one of few and one of many values; some are missing."""
    train, vali, test = (_with_categories(each, seed) for seed, each in enumerate(data()))
    return train, vali, test


def _dataset(features: Features, like: sr.Dataset) -> sr.Dataset:
    qid = np.repeat(np.arange(like.n_queries), np.diff(like.indptr))
    return sr.Dataset(np.asarray(features, np.float32), like.labels, qid=qid, feature_names=list(NAMES))


def _with_categories(like: sr.Dataset, seed: int) -> sr.Dataset:
    rng = np.random.default_rng(seed)
    features = np.array(like.features)
    features[:, 3] = (like.labels + rng.integers(0, 2, len(like))) % 6
    features[:, 4] = (7 * like.labels + rng.integers(0, 12, len(like))) % N_CATEGORIES
    features[rng.random(len(like)) < 0.1, 3:] = np.nan
    qid = np.repeat(np.arange(like.n_queries), np.diff(like.indptr))
    declared = [NAMES[3], NAMES[4]]
    return sr.Dataset(features, like.labels, qid=qid, feature_names=list(NAMES), categorical_features=declared)


TREE_RANKERS = ("trees", "one leaf", "trees of missing values", "trees of categories", "sum of trees")
LINEAR_RANKERS = ("linear", "smoothrank", "linear net", "sum of linear models")
NET_RANKERS = ("net", "sigmoid net", "relu net with logarithms")
OTHER_RANKERS = (
    "kernel machine", "polynomial machine", "trees and linear", "trees on a net", "stack of everything",
    "other columns",
)  # fmt: skip
RANKERS = (*TREE_RANKERS, *LINEAR_RANKERS, *NET_RANKERS, *OTHER_RANKERS)


@cache
def fitted(name: str) -> sr.Ranker:
    """A fitted ranker by its name in RANKERS."""
    train, vali, _ = data()
    shape: dict[str, Any] = {"n_trees": 12, "n_leaves": 9, "min_docs_in_leaf": 5}
    match name:
        case "trees":
            return sr.LambdaMART("ndcg@10", **shape).fit(train)
        case "one leaf":
            return sr.MART(n_trees=2, min_docs_in_leaf=len(train)).fit(train)
        case "trees of missing values":
            return sr.LambdaMART("ndcg@10", **shape).fit(data_with_missing()[0])
        case "trees of categories":
            return sr.LambdaMART("ndcg@10", **shape).fit(data_with_categories()[0])
        case "sum of trees":
            return sr.combine(fitted("trees"), sr.MART(**shape).fit(train), vali)
        case "linear":
            return sr.LinearRegressionRanker().fit(data_with_missing()[0])
        case "smoothrank":
            return sr.SmoothRank(max_iterations=5).fit(train)
        case "linear net":
            return sr.LambdaRank(hidden=(), n_epochs=2).fit(train)
        case "sum of linear models":
            return sr.combine(sr.LinearRegressionRanker().fit(train), fitted("smoothrank"), vali)
        case "net":
            return sr.RankNet(hidden=(6, 4), n_epochs=3).fit(data_with_missing()[0])
        case "sigmoid net":
            return sr.LambdaRank(hidden=(5,), activation="sigmoid", n_epochs=3).fit(train)
        case "relu net with logarithms":
            return sr.RankNet(hidden=(6,), activation="relu", log_features=["age"], n_epochs=3).fit(train)
        case "kernel machine":
            return sr.SmoothRank(features="kernel_pca", n_landmarks=30, max_iterations=3).fit(train)
        case "polynomial machine":
            return sr.SmoothRank(features="kernel_pca", kernel="polynomial", n_landmarks=30, max_iterations=3).fit(
                train
            )
        case "trees and linear":
            return sr.combine(fitted("trees"), fitted("linear"), vali)
        case "trees on a net":
            return sr.LambdaMART("ndcg@10", **shape, base_ranker=fitted("sigmoid net")).fit(train)
        case "stack of everything":
            members = [fitted(each) for each in ("trees", "linear", "net", "kernel machine")]
            return sr.stack(members, vali, hidden=(3,), n_epochs=3)
        case "other columns":
            order = [3, 0, 4]
            qid = np.repeat(np.arange(train.n_queries), np.diff(train.indptr))
            few = sr.Dataset(
                train.features[:, order], train.labels, qid=qid, feature_names=[NAMES[column] for column in order]
            )
            net = sr.RankNet(hidden=(3,), n_epochs=2).fit(few)
            return sr.combine(sr.combine(fitted("trees"), sr.MART(**shape).fit(few), vali), net, vali)
    raise KeyError(name)


def documents(name: str) -> Features:
    """Test documents of a ranker: real ones, some with missing values, and values at and next to its thresholds."""
    sets = data_with_categories() if name == "trees of categories" else data()
    rows = [np.array(sets[2].features)]
    rng = np.random.default_rng(0)
    holes = rows[0].copy()
    holes[rng.random(holes.shape) < 0.3] = np.nan
    rows.append(holes)
    for forest in forests(fitted(name)):
        rows.append(at_thresholds(forest, rows[0], rng))
    return np.concatenate(rows)


def without_missing(features: Features) -> Features:
    """The rows that have all values, for targets that know no missing ones."""
    return features[~np.isnan(features).any(axis=1)]


def forests(ranker: sr.Ranker) -> list[Forest]:
    """The forest of a ranker; none if its model is something else."""
    model = ranker.model_
    return [model] if isinstance(model, Forest) else []


def at_thresholds(forest: Forest, like: Features, rng: np.random.Generator) -> Features:
    """Rows in which one value is a threshold of the forest, or the next number above or below."""
    nodes = np.flatnonzero(forest.n_words == 0)
    rows = like[rng.integers(len(like), size=3 * len(nodes))].copy()
    for at, node in enumerate(np.repeat(nodes, 3)):
        # The largest number is a threshold: it separates known values from missing ones.
        largest = np.finfo(np.float32).max
        towards = (-largest, forest.threshold[node], largest)[at % 3]
        rows[at, forest.feature[node]] = np.nextafter(forest.threshold[node], towards)
    return rows
