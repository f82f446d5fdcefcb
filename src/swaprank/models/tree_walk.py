"""Walk from the roots of trees to the leaves of documents, where `forest_scoring`, made for many of both, is slower.

    many documents, one tree      a tile of documents goes down level by level
    few documents, many trees     sixteen trees at a time, one level after the other

A processor overlaps the steps of many documents, or down different trees, but not the steps of one document down one
tree. The few documents of a tile that are deeper than the common depth go on one by one.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Features, Floats, Ints, read_only
from swaprank.kernels import inlined_kernel, kernel
from swaprank.models.category_sets import CategorySets, category_sets, goes_left
from swaprank.models.value_limits import first_outside
from swaprank.threads import row_chunks, run_in_threads, thread_count

if TYPE_CHECKING:
    from swaprank.data.dataset import Dataset
    from swaprank.models.forest import Forest

TILE = 64
COMMON_DEPTH = 12
"""Trees of the usual size have few documents below this depth."""
_MIN_ROWS_PER_THREAD = 4096

_TREES = 16
"""Trees whose steps overlap."""
_HEAD = 4
_LOWER_HALF = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_ONE = np.uint64(1)


def find_leaves(forest: "Forest", X: Features, n_threads: int | None = None) -> NDArray[np.int32]:
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


def tree_leaves(tree: "Forest", data: "Dataset", n_threads: int | None) -> AnyArray:
    """The leaf of every document in a forest of one tree; of bins, only the features of the tree are decoded."""
    data.stored.check_thresholds(tree.feature, tree.threshold, tree.n_words)
    used = data.stored.decoded_features(tree.feature)
    narrow = replace(tree, n_features=len(used), feature=np.searchsorted(used, tree.feature).astype(np.int32))
    return data.stored.map_rows(lambda X: find_leaves(narrow, X, n_threads)[:, 0], n_threads, used)


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


class PackedForest(NamedTuple):
    """The trees in one array, because every array takes a kernel a tenth of a microsecond to unpack.

    memory    numbers of trees, groups and nodes with leaves, base score; roots, trees, group depths, nodes, values

    Trees of about the same depth form groups of sixteen; the last group is filled with trees of one leaf. The depth of
    a group is that of its deepest leaf. `values` has the value of each leaf, by its place among the nodes.

    A node has sixteen bytes, so that a step loads one line of the cache:

    upper half                              lower half
    nodes[2i]      the threshold, or the first word of the set     twice the feature, plus 1 if missing values go right
    nodes[2i + 1]  the number of words of the set, 0 without       the left child; the right one follows it

    No value is above the threshold of a leaf, which is its own left child: a document that is there stays.
    """

    memory: NDArray[np.uint64]
    words: NDArray[np.uint32] | None
    """The sets of categories; None if there are none, and their test is not compiled."""


def pack(forest: "Forest") -> PackedForest:
    """Pack the nodes of a forest.

    >>> from swaprank.models.tree_walk import pack
    >>> from swaprank.models.forest import single_leaf
    >>> memory = pack(single_leaf(0.5, n_features=3, n_documents=10)).memory
    >>> memory[:3].tolist(), memory[18:20].tolist(), memory[-2:].view(float).tolist()
    ([1, 1, 2], [1, 0], [0.5, 0.0])
    """
    n_nodes, padding = len(forest.feature) + len(forest.leaf_value), -forest.n_trees % _TREES
    roots = np.append((forest.tree_nodes + forest.tree_leaves)[:-1], [n_nodes] * padding).astype(np.uint64)
    leaf = np.array([np.float32(np.inf).view(np.uint32)], np.uint64) << _HALF
    nodes = np.stack((np.full(n_nodes + 1, leaf), np.arange(n_nodes + 1, dtype=np.uint64)), axis=1)
    values, depths = np.zeros(n_nodes + 1), np.zeros(len(roots), np.uint64)
    first_word = np.cumsum(forest.n_words, dtype=np.int64) - forest.n_words
    upper = np.where(forest.n_words > 0, first_word, forest.threshold.view(np.uint32)).astype(np.uint64)
    test = upper << _HALF | (2 * forest.feature.astype(np.int64) + ~forest.missing_left).astype(np.uint64)
    fill_nodes(
        forest.tree_nodes, forest.tree_leaves, forest.left, forest.right, test, forest.n_words.astype(np.uint64),
        forest.leaf_value, nodes, values, depths,
    )  # fmt: skip
    order = np.argsort(depths, kind="stable")[::-1]
    group_depths = depths[order][::_TREES]
    counts = [forest.n_trees, len(group_depths), n_nodes + 1, np.float64(forest.base_score).view(np.uint64)]
    trees = (roots[order], order, group_depths)
    memory = np.concatenate([np.asarray(each).view(np.uint64) for each in (
        np.array(counts, np.uint64), *trees, nodes.reshape(-1), values,
    )])  # fmt: skip
    return PackedForest(memory, forest.words if len(forest.words) else None)


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
    """The child that a document goes to, or the leaf where it is; `x` has two values of each feature."""
    test, children = nodes[at + at], nodes[at + at + _ONE]
    value = x[test & _LOWER_HALF]
    if words is not None:
        n_words = children >> _HALF
        if n_words > 0:
            children &= _LOWER_HALF
            if (value >= 0) & (value < np.float32(n_words << np.uint64(5))):
                category = np.uint64(value)
                word = np.uint64(words[(test >> _HALF) + (category >> np.uint64(5))])
                return children + (~(word >> (category & np.uint64(31))) & _ONE)
            return children + (test & _ONE)
    return children + np.uint64(value > np.uint32(test >> _HALF).view(np.float32))


@kernel
def walk_trees(memory: AnyArray, words: Any, limits: Features, X: Features, scores: Floats) -> int:
    """The base score plus the values of the document's leaves, summed in the order of the trees.

    Nothing is written if a value is beyond the limits of its feature: see `first_outside`, whose result is returned.
    """
    outside = first_outside(X, limits)
    if outside >= 0:
        return outside
    n_trees, n_groups = np.int64(memory[0]), np.int64(memory[1])
    roots = memory[_HEAD:]
    trees = memory[_HEAD + _TREES * n_groups :]
    group_depths = memory[_HEAD + 2 * _TREES * n_groups :]
    nodes = memory[_HEAD + (2 * _TREES + 1) * n_groups :]
    values = memory[len(memory) - np.int64(memory[2]) :].view(np.float64)
    at, found = np.empty(_TREES, np.uint64), np.empty(_TREES * n_groups)
    x = np.empty(2 * X.shape[1], np.float32)
    for row in range(len(X)):
        for f in range(X.shape[1]):
            # A missing value is below all thresholds where it goes left, and above all where it goes right.
            value = X[row, f]
            x[2 * f] = value if value == value else -np.inf
            x[2 * f + 1] = value if value == value else np.inf
        for group in range(n_groups):
            first = group * _TREES
            for k in range(_TREES):
                at[k] = roots[first + k]
            for _ in range(group_depths[group]):
                for k in range(_TREES):
                    at[k] = step_down(nodes, words, at[k], x)
            for k in range(_TREES):
                found[trees[first + k]] = values[at[k]]
        total = memory[3:4].view(np.float64)[0]
        for tree in range(n_trees):
            total += found[tree]
        scores[row] = total
    return -1
