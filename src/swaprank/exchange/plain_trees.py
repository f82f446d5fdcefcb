"""Trees for formats that know thresholds only, nest their nodes, and read numbers in single precision."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np

from swaprank.errors import ExportError
from swaprank.exchange.exported import Export
from swaprank.models.forest import Forest, single_leaf

_LARGEST = float(np.finfo(np.float32).max)

Part = TypeVar("Part")


def plain_trees(export: Export, forest: Forest, deepest: int) -> Forest:
    """The trees without a base score; ExportError for sets of categories, deep trees or very large leaf values.

    Args:
        export: What is exported.
        forest: Its trees.
        deepest: The most nodes on a way from a root to a leaf that the target reads.

    >>> from dataclasses import replace
    >>> from swaprank.exchange.exported import Export
    >>> from swaprank.exchange.plain_trees import plain_trees
    >>> from swaprank.models.served import Trees
    >>> from swaprank.models.forest import single_leaf
    >>> forest = replace(single_leaf(0.5, n_features=1, n_documents=10), base_score=2.0)
    >>> export = Export("ranklib", Trees(forest), ("bm25",), {}, "m", "refuse", False, None)
    >>> plain_trees(export, forest, deepest=100).leaf_value.tolist()
    [2.5]
    """
    if len(forest.words):
        name = export.feature_names[int(forest.feature[forest.n_words > 0][0])]
        raise ExportError(
            f"{export.to} compares numbers only, but the trees have sets of categories of '{name}'. Use vespa, "
            "lightgbm, onnx or c, or train with one feature of 0 and 1 per category, as in 'Brands and other "
            "categories' on the page about Elasticsearch."
        )
    refuse_deep(export, forest, deepest)
    return single_precision(export, base_in_leaves(forest))


def single_precision(export: Export, forest: Forest) -> Forest:
    """The forest; ExportError if a sum of its leaf values may be infinite in single precision."""
    with np.errstate(over="ignore"):
        if not np.sum(np.maximum.reduceat(np.abs(forest.leaf_value), forest.tree_leaves[:-1])) <= _LARGEST:
            raise ExportError(
                f"{export.to} has single precision, in which these scores may be infinite. Scale them down."
            )
    return forest


def base_in_leaves(forest: Forest) -> Forest:
    """The same scores without a base score: it is added to the leaves of the first tree. There is at least one tree.

    >>> from dataclasses import replace
    >>> from swaprank.exchange.plain_trees import base_in_leaves
    >>> from swaprank.models.forest import single_leaf
    >>> base_in_leaves(replace(single_leaf(0.5, 1, 10), base_score=2.0).truncated(0)).leaf_value.tolist()
    [2.0]
    """
    if forest.n_trees == 0:
        return single_leaf(forest.base_score, forest.n_features, n_documents=1)
    leaf_value = forest.leaf_value.copy()
    leaf_value[: forest.tree_leaves[1]] += forest.base_score
    return replace(forest, base_score=0.0, leaf_value=leaf_value)


def refuse_deep(export: Export, forest: Forest, deepest: int) -> None:
    """Raise ExportError if a tree is so deep that the target may fail to read it."""
    for tree in range(forest.n_trees):
        if forest.tree_nodes[tree + 1] - forest.tree_nodes[tree] > deepest:
            depth = tree_depth(forest, tree)
            if depth > deepest:
                raise ExportError(
                    f"{export.to} nests nodes, and where it is read trees may have a depth of {deepest}; tree {tree} "
                    f"has {depth:,}. Train with max_depth={deepest}, or use lightgbm, onnx or c."
                )


def strict(threshold: float) -> float:
    """The number s for which x < s is the same as x <= threshold, for all x in single precision.

    >>> from swaprank.exchange.plain_trees import strict
    >>> strict(1.0), strict(3.4028234663852886e38) == 2.0**128
    (1.0000001192092896, True)
    """
    # Above the largest number is 2^128: infinite in single precision, and then also right.
    return 2.0**128 if threshold >= _LARGEST else float(np.nextafter(np.float32(threshold), np.float32(np.inf)))


def node_depths(forest: Forest, tree: int) -> Iterator[int]:
    """The number of nodes above each node of a tree, in the order of the nodes.

    >>> from swaprank.exchange.plain_trees import node_depths
    >>> from swaprank.exchange.tree_building import PeerTree, build_forest
    >>> chain = PeerTree([0, 0], [2.0, 1.0], [True, True], [1, ~0], [~1, ~2], leaf_value=[1.0, 2.0, 3.0])
    >>> list(node_depths(build_forest([chain], n_features=1), 0))
    [0, 1]
    """
    first, last = int(forest.tree_nodes[tree]), int(forest.tree_nodes[tree + 1])
    depth = {0: 0}
    for at in range(last - first):
        # Children come after their parents.
        for child in (int(forest.left[first + at]), int(forest.right[first + at])):
            depth[child] = depth[at] + 1
        yield depth[at]


def tree_depth(forest: Forest, tree: int) -> int:
    """The number of nodes on the longest way from the root to a leaf.

    >>> from swaprank.exchange.plain_trees import tree_depth
    >>> from swaprank.models.forest import single_leaf
    >>> tree_depth(single_leaf(0.5, 3, 10), 0)
    0
    """
    return 1 + max(node_depths(forest, tree), default=-1)


def fold_tree(forest: Forest, tree: int, leaf: Callable[[int], Part], node: Callable[[int, Part, Part], Part]) -> Part:
    """The result of `leaf` and `node` on a tree, from the leaves up, without recursion.

    Both are called with an index into the arrays of the forest, and `node` also with the results of its left and right
    subtree. A tree may be as deep as its number of nodes: a format that nests deeply needs `refuse_deep`.

    >>> from swaprank.exchange.plain_trees import fold_tree
    >>> from swaprank.models.forest import single_leaf
    >>> fold_tree(single_leaf(0.5, 3, 10), 0, leaf=lambda leaf: "leaf", node=lambda node, left, right: (left, right))
    'leaf'
    """
    first_node, first_leaf = int(forest.tree_nodes[tree]), int(forest.tree_leaves[tree])
    n_nodes = int(forest.tree_nodes[tree + 1]) - first_node
    if n_nodes == 0:
        return leaf(first_leaf)
    made: dict[int, Part] = {}
    # Children come after their parents.
    for at in range(n_nodes - 1, -1, -1):
        children = (int(forest.left[first_node + at]), int(forest.right[first_node + at]))
        left, right = (made.pop(child) if child >= 0 else leaf(first_leaf + ~child) for child in children)
        made[at] = node(first_node + at, left, right)
    return made[0]
