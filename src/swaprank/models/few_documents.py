"""Score one or a few documents with a forest: eight trees at a time, one level after the other.

A processor overlaps the steps down different trees, but not the steps down one. `forest_scoring` is made for many
documents: its work is the same for one document as for thirty-two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.kernels import inlined_kernel, kernel

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

_TREES = 8
"""Trees whose steps overlap."""
_LOWER_HALF = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_ONE, _TWO = np.uint64(1), np.uint64(2)


class PackedForest(NamedTuple):
    """The nodes and leaves of all trees, in sixteen bytes each, so that a step loads one line of the cache.

    upper half                              lower half
    nodes[2i]      the threshold, or the first word of the set     twice the feature, plus 1 if missing values go right
    nodes[2i + 1]  the number of words of the set, 0 without       the left child; the right one follows it

    No value is above the threshold of a leaf, which is its own left child: a document that is there stays.
    """

    nodes: NDArray[np.uint64]
    values: Floats
    """The value of each leaf, by its place among the nodes."""
    roots: NDArray[np.uint64]
    """The roots of the trees; trees of one leaf with the value -0.0, which changes no sum, fill the last group."""
    group_depths: NDArray[np.uint64]
    """The depth of the deepest leaf in each group of trees."""
    words: NDArray[np.uint32] | None
    """The sets of categories; None if there are none, and their test is not compiled."""


def pack(forest: Forest) -> PackedForest:
    """Pack the nodes of a forest.

    >>> from swaprank.models.few_documents import pack
    >>> from swaprank.models.forest import single_leaf
    >>> packed = pack(single_leaf(0.5, n_features=3, n_documents=10))
    >>> packed.values.tolist(), packed.roots.tolist(), packed.group_depths.tolist()
    ([0.5, -0.0], [0, 1, 1, 1, 1, 1, 1, 1], [0])
    """
    n_nodes, padding = len(forest.feature) + len(forest.leaf_value), -forest.n_trees % _TREES
    roots = np.append((forest.tree_nodes + forest.tree_leaves)[:-1], [n_nodes] * padding).astype(np.uint64)
    leaf = np.array([np.float32(np.inf).view(np.uint32)], np.uint64) << _HALF
    nodes = np.stack((np.full(n_nodes + 1, leaf), np.arange(n_nodes + 1, dtype=np.uint64)), axis=1)
    values, depths = np.full(n_nodes + 1, -0.0), np.zeros(len(roots), np.uint64)
    first_word = np.cumsum(forest.n_words, dtype=np.int64) - forest.n_words
    upper = np.where(forest.n_words > 0, first_word, forest.threshold.view(np.uint32)).astype(np.uint64)
    test = upper << _HALF | (2 * forest.feature.astype(np.int64) + ~forest.missing_left).astype(np.uint64)
    fill_nodes(
        forest.tree_nodes, forest.tree_leaves, forest.left, forest.right, test, forest.n_words.astype(np.uint64),
        forest.leaf_value, nodes, values, depths,
    )  # fmt: skip
    group_depths = depths.reshape(-1, _TREES).max(axis=1)
    return PackedForest(nodes.reshape(-1), values, roots, group_depths, forest.words if len(forest.words) else None)


@kernel
def fill_nodes(
    tree_nodes: Ints, tree_leaves: Ints, left: AnyArray, right: AnyArray, test: AnyArray, n_words: AnyArray,
    leaf_value: Floats, nodes: AnyArray, values: Floats, depths: AnyArray,
) -> None:  # fmt: skip
    """Give the nodes and leaves of every tree their places, children next to each other, and fill them in.

    Children come after their parents, so a node has its place when its turn comes.
    """
    place, depth = np.zeros((2, len(left) + 1), np.int64)
    for tree in range(len(tree_nodes) - 1):
        start, leaves = tree_nodes[tree], tree_leaves[tree]
        free = start + leaves
        if tree_nodes[tree + 1] == start:
            values[free] = leaf_value[leaves]
            continue
        place[start], depth[start] = free, 0
        free += 1
        for node in range(start, tree_nodes[tree + 1]):
            nodes[place[node], 0] = test[node]
            nodes[place[node], 1] = n_words[node] << _HALF | np.uint64(free)
            below = depth[node] + 1
            depths[tree] = max(depths[tree], np.uint64(below))
            for child in (left[node], right[node]):
                if child >= 0:
                    place[start + child], depth[start + child] = free, below
                else:
                    values[free] = leaf_value[leaves + ~child]
                free += 1


@inlined_kernel
def step_down(nodes: AnyArray, words: Any, at: Any, x: Features) -> Any:
    """The child that a document goes to, or the leaf where it is."""
    test, children = nodes[_TWO * at], nodes[_TWO * at + _ONE]
    value = x[(test & _LOWER_HALF) >> _ONE]
    missing_right = (test & _ONE) != 0
    if words is not None:
        n_words = children >> _HALF
        if n_words > 0:
            children &= _LOWER_HALF
            if (value >= 0) & (value < np.float32(n_words << np.uint64(5))):
                category = np.uint64(value)
                word = np.uint64(words[(test >> _HALF) + (category >> np.uint64(5))])
                return children + (~(word >> (category & np.uint64(31))) & _ONE)
            return children + np.uint64(missing_right)
    threshold = np.uint32(test >> _HALF).view(np.float32)
    return children + np.uint64((value > threshold) | ((value != value) & missing_right))


@kernel
def walk_trees(
    nodes: AnyArray, values: Floats, roots: AnyArray, group_depths: AnyArray, words: Any, base_score: float,
    X: Features, scores: Floats,
) -> None:  # fmt: skip
    """The base score plus the values of the document's leaves, summed in the order of the trees."""
    at = np.empty(_TREES, np.uint64)
    for row in range(len(X)):
        x, total = X[row], base_score
        for group in range(len(group_depths)):
            first = group * _TREES
            for k in range(_TREES):
                at[k] = roots[first + k]
            for _ in range(group_depths[group]):
                for k in range(_TREES):
                    at[k] = step_down(nodes, words, at[k], x)
            for k in range(_TREES):
                total += values[at[k]]
        scores[row] = total
