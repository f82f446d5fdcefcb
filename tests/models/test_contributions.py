"""Contributions equal Shapley values computed from their definition, over all subsets of the features."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import lightgbm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swaprank.arrays import Features
from swaprank.errors import DataError
from swaprank.models.contributions import contributions, expected_score
from swaprank.models.forest import Forest
from swaprank.models.forest_scoring import score
from tests.models.random_forests import goes_left, random_documents, random_forest


def expected_tree_value(forest: Forest, tree: int, x: Features, known: set[int]) -> float:
    """A tree's expected value if only some features are known; unknown ones follow the training documents."""
    nodes, leaves = forest.tree_nodes[tree], forest.tree_leaves[tree]

    def count(child: int) -> int:
        return int(forest.node_count[nodes + child] if child >= 0 else forest.leaf_count[leaves + ~child])

    def value(child: int) -> float:
        if child < 0:
            return float(forest.leaf_value[leaves + ~child])
        node = nodes + child
        feature, left, right = int(forest.feature[node]), int(forest.left[node]), int(forest.right[node])
        if feature in known:
            return value(left if goes_left(forest, int(node), float(x[feature])) else right)
        return (count(left) * value(left) + count(right) * value(right)) / count(child)

    return value(0 if forest.tree_nodes[tree + 1] > nodes else ~0)


def shapley_values(forest: Forest, x: Features) -> list[float]:
    n = forest.n_features

    def total(known: set[int]) -> float:
        return sum(expected_tree_value(forest, tree, x, known) for tree in range(forest.n_trees))

    values = []
    for feature in range(n):
        others = [f for f in range(n) if f != feature]
        values.append(0.0)
        for size in range(n):
            weight = factorial(size) * factorial(n - size - 1) / factorial(n)
            for subset in combinations(others, size):
                values[-1] += weight * (total({*subset, feature}) - total(set(subset)))
    return [*values, forest.base_score + total(set())]


@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.lists(st.integers(1, 12), max_size=3),
    n_features=st.integers(1, 4),
    set_share=st.sampled_from([0, 0.5]),
)
def test_contributions_equal_shapley_values(seed: int, n_leaves: list[int], n_features: int, set_share: float) -> None:
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, n_leaves, n_features, set_share=set_share)
    X = random_documents(rng, 3, n_features)
    np.testing.assert_allclose(contributions(forest, X), [shapley_values(forest, x) for x in X], atol=1e-9)


@given(seed=st.integers(0, 10**6))
def test_rows_sum_to_the_scores(seed: int) -> None:
    rng = np.random.default_rng(seed)
    forest, X = random_forest(rng, [1, 31, 64], n_features=12), random_documents(rng, 9, n_features=12)
    explained = contributions(forest, X)
    np.testing.assert_allclose(explained.sum(axis=1), score(forest, X), atol=1e-9)
    assert (explained[:, -1] == expected_score(forest)).all()


@pytest.mark.parametrize("n_threads", [2, 3, 7])
def test_contributions_do_not_depend_on_threads(n_threads: int) -> None:
    rng = np.random.default_rng(3)
    forest, X = random_forest(rng, [20] * 5), random_documents(rng, 50)
    assert (contributions(forest, X, n_threads) == contributions(forest, X, 1)).all()


def test_an_empty_forest_and_no_documents() -> None:
    forest = random_forest(np.random.default_rng(4), [])
    assert contributions(forest, np.zeros((0, 5), np.float32)).shape == (0, 6)
    assert contributions(forest, np.zeros((1, 5), np.float32)).tolist() == [[0, 0, 0, 0, 0, forest.base_score]]


def test_documents_need_the_features_of_the_trees() -> None:
    with pytest.raises(DataError, match="5 features"):
        contributions(random_forest(np.random.default_rng(5), [3]), np.zeros((2, 4), np.float32))


def test_a_stump_by_hand_and_by_lightgbm() -> None:
    X = np.array([[0.0]] * 30 + [[1.0]] * 70, np.float32)
    y = np.array([0.0] * 30 + [1.0] * 70)
    options = {"objective": "regression", "num_leaves": 2, "learning_rate": 1.0, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(options, lightgbm.Dataset(X, y), 1)
    forest = random_forest(np.random.default_rng(6), [2], n_features=1, set_share=0)
    forest.left[:], forest.right[:], forest.threshold[:] = ~0, ~1, 0.5
    forest.leaf_value[:], forest.leaf_count[:], forest.node_count[:] = [0.0, 1.0], [30, 70], 100
    ours = contributions(forest, X[[0, -1]]) - [0.0, forest.base_score]
    np.testing.assert_allclose(ours, [[-0.7, 0.7], [0.3, 0.7]], atol=1e-12)
    np.testing.assert_allclose(ours, booster.predict(X[[0, -1]], pred_contrib=True), atol=1e-6)
