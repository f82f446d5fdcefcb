"""Leaves found by the tiled walk equal those of a plain walk down the trees."""

from __future__ import annotations

import numpy as np
import pytest

from swaprank.models.tree_walk import append_leaves, find_leaves
from tests.models.random_forests import random_documents, random_forest, walk


@pytest.mark.parametrize("set_share", [0, 0.3, 1])
@pytest.mark.parametrize("n_documents", [0, 1, 63, 64, 65, 200])
def test_leaves_equal_the_walk_of_single_documents(n_documents: int, set_share: float) -> None:
    rng = np.random.default_rng(n_documents)
    forest, X = random_forest(rng, [1, 2, 31, 300, 1], set_share=set_share), random_documents(rng, n_documents)
    expected = [[forest.tree_leaves[tree] + walk(forest, tree, x) for tree in range(forest.n_trees)] for x in X]
    assert find_leaves(forest, X).tolist() == expected


@pytest.mark.parametrize("set_share", [0, 0.5])
def test_trees_deeper_than_the_common_depth(set_share: float) -> None:
    rng = np.random.default_rng(0)
    n_nodes = 200
    forest, X = random_forest(rng, [n_nodes + 1], set_share=set_share), random_documents(rng, 100)
    forest.left[:], forest.right[:] = ~np.arange(n_nodes), np.append(np.arange(1, n_nodes), ~n_nodes)
    assert append_leaves(forest.left, forest.right)[2] == n_nodes
    assert find_leaves(forest, X)[:, 0].tolist() == [walk(forest, 0, x) for x in X]


def test_leaves_do_not_depend_on_threads() -> None:
    rng = np.random.default_rng(1)
    forest, X = random_forest(rng, [20, 7]), random_documents(rng, 20_000)
    np.testing.assert_array_equal(find_leaves(forest, X, 3), find_leaves(forest, X, 1))
