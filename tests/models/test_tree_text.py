"""Trees as text."""

from __future__ import annotations

import numpy as np
import pytest

from swaprank.errors import SwaprankError
from swaprank.models.forest import Forest, join_forests, single_leaf
from swaprank.models.tree_text import tree_text
from tests.models.random_forests import random_forest

NAMES = ["bm25", "clicks"]


def two_trees() -> Forest:
    tree = random_forest(np.random.default_rng(0), [3], n_features=2, set_share=0)
    tree.left[:], tree.right[:] = [1, ~0], [~2, ~1]
    tree.feature[:], tree.threshold[:], tree.missing_left[:] = [0, 1], [0.1, 3.0], [False, True]
    tree.gain[:], tree.node_count[:], tree.leaf_count[:] = [12.5, 1.0], [1500, 61], [60, 1, 1439]
    tree.leaf_value[:] = [0.25, -1 / 3, 0.0]
    return join_forests(single_leaf(-0.5, 2, 1500), tree)


def test_a_tree_reads_as_nested_conditions() -> None:
    assert tree_text(two_trees(), 1, NAMES).splitlines() == [
        "if bm25 ≤ 0.1:  (1,500 documents, gain 12.5)",
        "    if clicks ≤ 3.0 or missing:  (61 documents, gain 1)",
        "        leaf 0: +0.25  (60 documents)",
        "    else:",
        "        leaf 1: -0.333333  (1 document)",
        "else, or missing:",
        "    leaf 2: +0  (1,439 documents)",
    ]


def test_a_tree_that_is_one_leaf() -> None:
    assert tree_text(two_trees(), 0, NAMES) == "leaf 0: -0.5  (1,500 documents)"


@pytest.mark.parametrize("tree", [-1, 2])
def test_there_must_be_such_a_tree(tree: int) -> None:
    with pytest.raises(SwaprankError, match=f"no tree {tree}: there are 2"):
        tree_text(two_trees(), tree, NAMES)


def test_very_deep_trees_need_no_recursion() -> None:
    n_nodes = 3000
    forest = random_forest(np.random.default_rng(1), [n_nodes + 1], n_features=2, set_share=0)
    forest.left[:], forest.right[:] = ~np.arange(n_nodes), np.append(np.arange(1, n_nodes), ~n_nodes)
    assert tree_text(forest, 0, NAMES).count("\n") == 3 * n_nodes
