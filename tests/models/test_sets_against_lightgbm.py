"""Trees with sets of categories score and explain as those of LightGBM, which they are taken from."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest

from swaprank.arrays import Features
from swaprank.models.contributions import contributions
from swaprank.models.forest import ARRAYS, Forest, check_forest
from swaprank.models.forest_scoring import score

N_CATEGORIES = 300


def documents(rng: np.random.Generator, n: int) -> Features:
    """A number and two categorical features with few and many categories; some values are missing."""
    columns = (rng.normal(size=n), rng.integers(5, size=n), rng.integers(N_CATEGORIES, size=n))
    X = np.stack(columns, axis=1).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def words_of(categories: list[int]) -> list[int]:
    words = [0] * (max(categories) // 32 + 1)
    for category in categories:
        words[category // 32] |= 1 << category % 32
    return words


def forest_of(booster: lightgbm.Booster) -> Forest:
    columns: dict[str, list[Any]] = {name: [] for name in ARRAYS}
    tree_nodes, tree_leaves = [0], [0]

    def add(part: dict[str, Any]) -> int:
        if "split_index" not in part:
            columns["leaf_value"].append(part["leaf_value"])
            columns["leaf_count"].append(part["leaf_count"])
            return ~(len(columns["leaf_value"]) - 1 - tree_leaves[-1])
        node = len(columns["feature"])
        is_set = part["decision_type"] == "=="
        words = words_of([int(category) for category in part["threshold"].split("||")]) if is_set else []
        limit = 0.0 if is_set else min(part["threshold"], 3e38)
        columns["words"] += words
        values = {
            "feature": part["split_feature"],
            "threshold": np.nextafter(np.float32(limit), np.float32(-np.inf)) if np.float32(limit) > limit else limit,
            # LightGBM sends missing and unknown categories right.
            "missing_left": not is_set and part["default_left"],
            "gain": part["split_gain"],
            "node_count": part["internal_count"],
            "n_words": len(words),
            "left": 0,
            "right": 0,
        }
        for name, value in values.items():
            columns[name].append(value)
        columns["left"][node] = add(part["left_child"])
        columns["right"][node] = add(part["right_child"])
        return node - tree_nodes[-1]

    for tree in booster.dump_model()["tree_info"]:
        add(tree["tree_structure"])
        tree_nodes.append(len(columns["feature"]))
        tree_leaves.append(len(columns["leaf_value"]))
    columns |= {"tree_nodes": tree_nodes, "tree_leaves": tree_leaves}
    arrays = {name: np.array(columns[name], dtype) for name, (dtype, _) in ARRAYS.items()}
    return check_forest(Forest(n_features=3, base_score=0.0, **arrays))


@pytest.fixture(scope="module")
def booster() -> lightgbm.Booster:
    rng = np.random.default_rng(0)
    X = documents(rng, 4000)
    few, many = rng.normal(size=6), rng.normal(size=N_CATEGORIES + 1)
    known = np.nan_to_num(X, nan=-1).astype(int)
    y = np.nan_to_num(X[:, 0]) * few[known[:, 1]] + many[known[:, 2]] + rng.normal(size=len(X)) / 10
    options = {
        "objective": "regression", "num_leaves": 40, "verbose": -1, "num_threads": 1, "cat_smooth": 1.0,
        "min_data_per_group": 5, "min_data_in_leaf": 5, "max_cat_to_onehot": 3, "max_cat_threshold": 200,
        "boost_from_average": False,
    }  # fmt: skip
    return lightgbm.train(options, lightgbm.Dataset(X, y, categorical_feature=[1, 2]), 30)


def test_scores_and_contributions_equal_those_of_lightgbm(booster: lightgbm.Booster) -> None:
    forest = forest_of(booster)
    assert 0.3 < (forest.n_words > 0).mean() < 1
    assert forest.n_words.max() == 10
    X = documents(np.random.default_rng(1), 500)
    X[:20, 1] = [5, 31, 32, 63, 64, 100, 10**6, -1, -5, 2**24] * 2
    X[:20, 2] = [300, 319, 320, 321, 351, 500, 10**6, -1, -5, 2**24] * 2
    np.testing.assert_array_equal(score(forest, X), booster.predict(X))
    expected = booster.predict(X[:100], pred_contrib=True)
    np.testing.assert_allclose(contributions(forest, X[:100]), expected, atol=1e-9)
