"""The contribution of each feature to a score: exact Shapley values of trees [Lundberg2020, path-dependent TreeSHAP].

An unknown feature sends a document down both branches, in the proportion of the training documents that took them. On
the path to a leaf each feature has a `zero` (the fraction of documents that follows the path if the feature is unknown)
and a `one` (1 if this document follows the path, otherwise 0). `weight[i]` is the sum, over the subsets of i features
of the path, of the product of their fractions and the subset's Shapley weight. Extending a path by a feature and
removing one are both linear in its length, so a tree costs leaves x depth^2 instead of 2^features.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Bools, Features, Floats, Ints, read_only
from swaprank.errors import THE_DATA, DataError
from swaprank.kernels import kernel
from swaprank.models.category_sets import CategorySets, category_sets, goes_left
from swaprank.threads import row_chunks, run_in_threads, thread_count

if TYPE_CHECKING:
    from swaprank.models.forest import Forest


def contributions(forest: "Forest", X: Features, n_threads: int | None = None) -> Floats:
    """One column per feature and a last column with the expected score; every row sums to the document's score.

    >>> import numpy as np
    >>> from swaprank.models.contributions import contributions
    >>> from swaprank.models.forest import single_leaf
    >>> contributions(single_leaf(0.5, n_features=2, n_documents=10), np.zeros((1, 2), np.float32))
    array([[0. , 0. , 0.5]])
    """
    if X.ndim != 2 or X.shape[1] != forest.n_features:
        raise DataError(f"the trees have {forest.n_features} features, but ", THE_DATA, f" has the shape {X.shape}.")
    result = np.zeros((len(X), forest.n_features + 1))
    result[:, -1] = expected_score(forest)
    depth = max_depth(forest.tree_nodes, forest.left, forest.right, np.zeros(len(forest.feature), np.int64))
    trees = TreeArrays(*(getattr(forest, name) for name in TreeArrays._fields))
    sets = category_sets(forest)
    common = (forest.tree_nodes, forest.tree_leaves, trees, sets, depth)
    chunks = row_chunks(len(X), thread_count(n_threads))
    run_in_threads(explain_documents, [(*common, read_only(X[a:b]), result[a:b]) for a, b in chunks])
    return result


def expected_score(forest: "Forest") -> float:
    """The mean score of the training documents, computed from the leaf counts.

    >>> from swaprank.models.contributions import expected_score
    >>> from swaprank.models.forest import single_leaf
    >>> expected_score(single_leaf(0.5, n_features=2, n_documents=10))
    0.5
    """
    if forest.n_trees == 0:
        return forest.base_score
    starts = forest.tree_leaves[:-1]
    sums = np.add.reduceat(forest.leaf_value * forest.leaf_count, starts)
    return float(forest.base_score + (sums / np.add.reduceat(forest.leaf_count, starts)).sum())


@kernel
def max_depth(tree_nodes: Ints, left: AnyArray, right: AnyArray, depth: Ints) -> int:
    """The largest number of nodes on a path from a root to a leaf; children come after their parents."""
    deepest = 0
    for tree in range(len(tree_nodes) - 1):
        start = tree_nodes[tree]
        for node in range(start, tree_nodes[tree + 1]):
            deepest = max(deepest, depth[node] + 1)
            for child in (left[node], right[node]):
                if child >= 0:
                    depth[start + child] = depth[node] + 1
    return deepest


@kernel
def extend(length: int, zero: float, one: float, zeros: Floats, ones: Floats, weight: Floats) -> None:
    """Append a feature to a path."""
    zeros[length], ones[length] = zero, one
    weight[length] = 1.0 if length == 0 else 0.0
    for i in range(length - 1, -1, -1):
        weight[i + 1] += one * weight[i] * (i + 1) / (length + 1)
        weight[i] *= zero * (length - i) / (length + 1)


@kernel
def unwind(length: int, at: int, features: Ints, zeros: Floats, ones: Floats, weight: Floats) -> None:
    """Remove one feature from a path."""
    zero, last = zeros[at], length - 1
    later = weight[last]
    for i in range(last - 1, -1, -1):
        if ones[at] == 0:
            weight[i] *= length / (zero * (last - i))
        else:
            before = weight[i]
            weight[i] = later * length / (i + 1)
            later = before - weight[i] * zero * (last - i) / length
    for i in range(at, last):
        features[i], zeros[i], ones[i] = features[i + 1], zeros[i + 1], ones[i + 1]


@kernel
def unwound_sum(length: int, at: int, zeros: Floats, ones: Floats, weight: Floats) -> float:
    """The sum of the weights after `unwind`, without changing the path."""
    zero, last = zeros[at], length - 1
    total = 0.0
    if ones[at] == 0:
        for i in range(last):
            total += weight[i] / (last - i)
        return float(total * length / zero)
    later = weight[last]
    for i in range(last - 1, -1, -1):
        without = later / (i + 1)
        later = weight[i] - without * zero * (last - i)
        total += without
    return float(total * length)


class TreeArrays(NamedTuple):
    """One tree, or all trees of a forest, as kernels take them; see `Forest`."""

    feature: NDArray[np.int32]
    threshold: Features
    missing_left: Bools
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    node_count: Ints
    leaf_value: Floats
    leaf_count: Ints


@kernel
def explain_tree(
    tree: TreeArrays, sets: CategorySets | None, x: Features, stack: Ints, fractions: Floats, lengths: Ints,
    features: Ints, paths: Floats, result: Floats,
) -> None:  # fmt: skip
    """Add one tree's contributions, depth first.

    Row d of features and paths is the path to the current node of depth d; its subtree writes only to later rows. A
    stack entry is (child, depth, feature of the parent) with fractions (zero, one).
    """
    if len(tree.feature) == 0:
        return
    threshold, missing_left = tree.threshold, tree.missing_left
    stack[0, 0], stack[0, 1], stack[0, 2], n_open = 0, 0, -1, 1
    fractions[0, 0], fractions[0, 1] = 1.0, 1.0
    while n_open > 0:
        n_open -= 1
        child, depth, split = stack[n_open, 0], stack[n_open, 1], stack[n_open, 2]
        length = lengths[depth - 1] if depth > 0 else 0
        zeros, ones, weight = paths[depth, 0], paths[depth, 1], paths[depth, 2]
        for i in range(length):
            features[depth, i] = features[depth - 1, i]
            zeros[i], ones[i], weight[i] = paths[depth - 1, 0, i], paths[depth - 1, 1, i], paths[depth - 1, 2, i]
        features[depth, length] = split
        extend(length, fractions[n_open, 0], fractions[n_open, 1], zeros, ones, weight)
        length += 1
        if child < 0:
            for i in range(1, length):
                share = unwound_sum(length, i, zeros, ones, weight) * (ones[i] - zeros[i])
                result[features[depth, i]] += share * tree.leaf_value[~child]
            continue
        split = tree.feature[child]
        zero, one = 1.0, 1.0
        for i in range(1, length):
            if features[depth, i] == split:
                zero, one = zeros[i], ones[i]
                unwind(length, i, features[depth], zeros, ones, weight)
                length -= 1
                break
        lengths[depth] = length
        followed_left = goes_left(x[split], child, threshold, missing_left, sets)
        for below, followed in ((tree.left[child], followed_left), (tree.right[child], not followed_left)):
            count = tree.node_count[below] if below >= 0 else tree.leaf_count[~below]
            stack[n_open, 0], stack[n_open, 1], stack[n_open, 2] = below, depth + 1, split
            fractions[n_open, 0] = zero * count / tree.node_count[child]
            fractions[n_open, 1] = one if followed else 0.0
            n_open += 1


@kernel
def explain_documents(
    tree_nodes: Ints, tree_leaves: Ints, trees: TreeArrays, sets: CategorySets | None, depth: int, X: Features,
    result: Floats,
) -> None:  # fmt: skip
    """Add the contributions of all trees to each document's row."""
    stack, fractions = np.empty((depth + 2, 3), np.int64), np.empty((depth + 2, 2))
    lengths, features = np.empty(depth + 2, np.int64), np.empty((depth + 2, depth + 2), np.int64)
    paths = np.empty((depth + 2, 3, depth + 2))
    for document in range(len(X)):
        for tree in range(len(tree_nodes) - 1):
            a, b = tree_nodes[tree], tree_nodes[tree + 1]
            c, d = tree_leaves[tree], tree_leaves[tree + 1]
            one = TreeArrays(
                trees.feature[a:b], trees.threshold[a:b], trees.missing_left[a:b], trees.left[a:b], trees.right[a:b],
                trees.node_count[a:b], trees.leaf_value[c:d], trees.leaf_count[c:d],
            )  # fmt: skip
            if sets is None:
                explain_tree(one, None, X[document], stack, fractions, lengths, features, paths, result[document])
            else:
                own = CategorySets(sets.n_categories[a:b], sets.first_word[a:b], sets.words)
                explain_tree(one, own, X[document], stack, fractions, lengths, features, paths, result[document])
