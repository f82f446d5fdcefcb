"""Walk the trees of a forest for formats that nest nodes: from the leaves up, without recursion."""

from collections.abc import Callable
from typing import TypeVar

from swaprank.models.forest import Forest

Part = TypeVar("Part")


def fold_tree(forest: Forest, tree: int, leaf: Callable[[int], Part], node: Callable[[int, Part, Part], Part]) -> Part:
    """What `leaf` and `node` make of a tree; both are called with an index into the arrays of the forest.

    `node` also gets what was made of its left and right subtree. A tree may be as deep as its number of nodes: the
    result of a format that nests deeply may need a check of `tree_depth` before it is written.

    >>> from swaprank.exchange.tree_folding import fold_tree
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


def tree_depth(forest: Forest, tree: int) -> int:
    """The number of nodes on the longest way from the root to a leaf.

    >>> from swaprank.exchange.tree_folding import tree_depth
    >>> from swaprank.models.forest import single_leaf
    >>> tree_depth(single_leaf(0.5, 3, 10), 0)
    0
    """

    def longer(node: int, left: int, right: int) -> int:
        return 1 + max(left, right)

    return fold_tree(forest, tree, lambda leaf: 0, longer)
