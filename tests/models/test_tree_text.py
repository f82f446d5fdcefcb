"""Trees as text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from swaprank.errors import SwaprankError
from swaprank.models.forest import Forest, join_forests, single_leaf
from swaprank.models.tree_text import tree_text
from tests.models.random_forests import goes_left, random_forest

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


def tree_with_sets() -> Forest:
    """Two sets of three and 40 categories; the words of another tree come first."""
    tree = two_trees()
    n_words, words = np.array([1, 2], np.int32), np.array([0b101, 0xFFFFFFFD, 0b01], np.uint32)
    tree = replace(tree, threshold=np.zeros(2, np.float32), n_words=n_words, words=words)
    before = random_forest(np.random.default_rng(2), [9], n_features=2, set_share=1)
    return join_forests(before, tree)


def conditions(forest: Forest, tree: int, categories: dict[str, list[str]] | None) -> list[str]:
    lines = tree_text(forest, tree, NAMES, categories).splitlines()
    return [line.partition(":  (")[0].strip() for line in lines if "if " in line]


def test_sets_are_shown_with_the_names_of_their_categories() -> None:
    forest = tree_with_sets()
    assert conditions(forest, 2, None) == ["if bm25 in {0, 2}", "if clicks in {0, 2, 3, 4, 5, … 27 more} or missing"]
    names = {"bm25": ["acme", "bolt", "cobalt"], "clicks": [f"c{n}" for n in range(40)]}
    assert conditions(forest, 2, names) == [
        "if bm25 not in {bolt}",
        "if clicks not in {c1, c33, c34, c35, c36, … 3 more} or missing",
    ]


def test_categories_beyond_the_set_go_where_missing_values_go() -> None:
    forest = tree_with_sets()
    names = {"bm25": [f"b{n}" for n in range(35)], "clicks": [f"c{n}" for n in range(66)]}
    assert conditions(forest, 2, names) == [
        "if bm25 in {b0, b2}",
        "if clicks not in {c1, c33, c34, c35, c36, … 27 more} or missing",
    ]


def test_names_of_categories_that_are_not_plain_are_quoted_and_shortened() -> None:
    names = {"bm25": ["", "a, b", "line\nbreak", "x" * 50, "a", "b", "c", "d"]}
    forest = tree_with_sets()
    forest.words[-3] = 0b1111
    assert conditions(forest, 2, names)[0] == f"if bm25 in {{'', 'a, b', 'line\\nbreak', {'x' * 40}…}}"


@pytest.mark.parametrize("seed", range(20))
def test_the_text_of_a_set_is_the_way_of_its_categories(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_categories = int(rng.integers(1, 110))
    forest = random_forest(rng, [2], n_features=2, set_share=1)
    names = [f"c{n}" for n in range(n_categories)]
    (condition,) = conditions(forest, 0, dict.fromkeys(NAMES, names))
    listed = condition[condition.index("{") + 1 : condition.index("}")].split(", ")
    left = {name for code, name in enumerate(names) if goes_left(forest, 0, code)}
    expected = left if " not in " not in condition else set(names) - left
    assert len(expected) <= (n_categories + 1) // 2
    more = int(listed.pop().split()[1]) if "…" in listed[-1] else 0
    assert (set(listed) - {""} <= expected, len([name for name in listed if name]) + more) == (True, len(expected))
