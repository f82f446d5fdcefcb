"""A tree as readable text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from swaprank.errors import SwaprankError

if TYPE_CHECKING:
    from swaprank.models.forest import Forest


def tree_text(forest: Forest, tree: int, feature_names: Sequence[str]) -> str:
    """One tree as nested conditions, with the documents and gain of every split and the number and value of every leaf.

    >>> import numpy as np
    >>> from swaprank.models.forest import Forest
    >>> from swaprank.models.tree_text import tree_text
    >>> stump = Forest(
    ...     n_features=1, base_score=0.0, tree_nodes=np.array([0, 1]), tree_leaves=np.array([0, 2]),
    ...     feature=np.array([0], np.int32), threshold=np.array([3.5], np.float32), missing_left=np.array([True]),
    ...     left=np.array([~0], np.int32), right=np.array([~1], np.int32), gain=np.array([12.5]),
    ...     node_count=np.array([100]), leaf_value=np.array([-0.25, 0.5]), leaf_count=np.array([60, 40]),
    ...     n_words=np.array([0], np.int32), words=np.empty(0, np.uint32))
    >>> print(tree_text(stump, 0, ["bm25"]))
    if bm25 ≤ 3.5 or missing:  (100 documents, gain 12.5)
        leaf 0: -0.25  (60 documents)
    else:
        leaf 1: +0.5  (40 documents)
    """
    if not 0 <= tree < forest.n_trees:
        raise SwaprankError(f"there is no tree {tree}: there are {forest.n_trees}, numbered from 0.")
    nodes, leaves = int(forest.tree_nodes[tree]), int(forest.tree_leaves[tree])
    only_leaf = nodes == forest.tree_nodes[tree + 1]
    lines = []
    # A stack instead of recursion: a tree may be as deep as its number of nodes.
    pending: list[tuple[int, int] | str] = [(~0 if only_leaf else 0, 0)]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        child, depth = item
        indent = "    " * depth
        if child < 0:
            leaf = leaves + ~child
            value, count = forest.leaf_value[leaf], forest.leaf_count[leaf]
            lines.append(f"{indent}leaf {~child}: {value:+.6g}  ({_documents(count)})")
            continue
        node = nodes + child
        missing_left = forest.missing_left[node]
        condition = f"if {feature_names[forest.feature[node]]} ≤ {forest.threshold[node]!s}"
        details = f"({_documents(forest.node_count[node])}, gain {forest.gain[node]:.6g})"
        lines.append(f"{indent}{condition}{' or missing' if missing_left else ''}:  {details}")
        pending.append((int(forest.right[node]), depth + 1))
        pending.append(f"{indent}{'else:' if missing_left else 'else, or missing:'}")
        pending.append((int(forest.left[node]), depth + 1))
    return "\n".join(lines)


def _documents(count: int) -> str:
    return f"{count:,} document{'' if count == 1 else 's'}"
