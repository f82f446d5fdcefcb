"""Which leaf of each tree a document falls into: a walk from the root to the leaf.

For one tree the walk is faster than `forest_scoring`, which is made for many. A tile of documents goes down level by
level: a processor overlaps the steps of many documents, but not the steps of one. The few documents that are deeper
than the common depth go on one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Features, read_only
from swaprank.kernels import kernel
from swaprank.models.category_sets import CategorySets, category_sets, goes_left
from swaprank.threads import row_chunks, run_in_threads, thread_count

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

TILE = 64
COMMON_DEPTH = 12
"""Trees of the usual size have few documents below this depth."""

_MIN_ROWS_PER_THREAD = 4096


def find_leaves(forest: Forest, X: Features, n_threads: int | None = None) -> NDArray[np.int32]:
    """The leaf of every document in every tree (documents x trees), numbered over all trees.

    >>> import numpy as np
    >>> from swaprank.models.forest import join_forests, single_leaf
    >>> from swaprank.models.tree_walk import find_leaves
    >>> forest = join_forests(single_leaf(0.5, 3, 10), single_leaf(-0.25, 3, 10))
    >>> find_leaves(forest, np.zeros((1, 3), np.float32))
    array([[0, 1]], dtype=int32)
    """
    leaves = np.empty((len(X), forest.n_trees), np.int32)
    chunks = row_chunks(len(X), thread_count(n_threads), least_rows=_MIN_ROWS_PER_THREAD)
    sets = category_sets(forest)
    for tree in range(forest.n_trees):
        first_leaf = int(forest.tree_leaves[tree])
        nodes = slice(forest.tree_nodes[tree], forest.tree_nodes[tree + 1])
        left, right, depth = append_leaves(forest.left[nodes], forest.right[nodes])
        # Leaves point to themselves for any feature and threshold.
        feature, threshold, missing_left = (np.zeros(len(left), dtype) for dtype in (np.uint32, np.float32, np.bool_))
        n_nodes = len(left) // 2
        feature[:n_nodes], threshold[:n_nodes] = forest.feature[nodes], forest.threshold[nodes]
        missing_left[:n_nodes] = forest.missing_left[nodes]
        own_sets = None if sets is None else sets.of_nodes(nodes, n_padded=n_nodes + 1)
        walk = (feature, threshold, missing_left, own_sets, left, right, depth, read_only(X))
        run_in_threads(walk_documents, [(*walk, a, b, tree, first_leaf, leaves) for a, b in chunks])
    return leaves


def append_leaves(left: AnyArray, right: AnyArray) -> tuple[AnyArray, AnyArray, int]:
    """Number the leaves of one tree after its nodes, each leaf its own child; also the depth of the deepest leaf.

    >>> import numpy as np
    >>> from swaprank.models.tree_walk import append_leaves
    >>> left, right, depth = append_leaves(np.array([1, ~0]), np.array([~2, ~1]))
    >>> left.tolist(), right.tolist(), depth
    ([1, 2, 2, 3, 4], [4, 3, 2, 3, 4], 2)
    """
    n_nodes, n_leaves = len(left), len(left) + 1
    depths = [0] * (n_nodes + n_leaves)  # a list, because an element of an array takes ten times as long
    left, right = (
        np.concatenate((np.where(child >= 0, child, n_nodes + ~child), n_nodes + np.arange(n_leaves))).astype(np.uint32)
        for child in (left, right)
    )
    for node, (on_left, on_right) in enumerate(zip(left[:n_nodes].tolist(), right[:n_nodes].tolist(), strict=True)):
        depths[on_left] = depths[on_right] = depths[node] + 1
    return left, right, max(depths)


@kernel
def walk_documents(
    feature: AnyArray, threshold: Features, missing_left: AnyArray, sets: CategorySets | None, left: AnyArray,
    right: AnyArray, depth: int, X: Features, start: int, stop: int, tree: int, first_leaf: int, leaves: AnyArray,
) -> None:  # fmt: skip
    """Write the leaves of the documents from start to stop in one tree."""
    node = np.zeros(TILE, np.uint32)
    n_nodes = np.uint32(len(feature) // 2)
    for first in range(np.uint64(start), np.uint64(stop), np.uint64(TILE)):
        size = min(np.uint64(TILE), np.uint64(stop) - first)
        node[:] = np.uint32(0)
        for _ in range(min(depth, COMMON_DEPTH)):
            for k in range(size):
                at = node[k]
                x = X[first + k, feature[at]]
                node[k] = left[at] if goes_left(x, at, threshold, missing_left, sets) else right[at]
        for k in range(size):
            at = node[k]
            while at < n_nodes:
                x = X[first + k, feature[at]]
                at = left[at] if goes_left(x, at, threshold, missing_left, sets) else right[at]
            leaves[first + k, tree] = first_leaf + np.int64(at - n_nodes)
