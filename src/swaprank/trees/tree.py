"""One tree: while it grows, its splits are bins; then it becomes a forest, with thresholds and sets of categories."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bools, Bytes, Floats, Ints
from swaprank.models.category_sets import set_words
from swaprank.models.forest import ARRAYS, Forest
from swaprank.trees.binning import Bins, Layout


class Tree(NamedTuple):
    """The nodes of the tree being grown, laid out as in `Forest` and numbered in the order of their splits."""

    feature: AnyArray
    bin: AnyArray
    """The last bin that goes left; 0 if a set of bins goes left."""
    missing_left: Bools
    left: AnyArray
    right: AnyArray
    gain: Floats
    sets: Bytes
    """(n_nodes, set_size), 1 for what goes left; see `best_set_split`."""


def make_tree(n_leaves: int, set_size: int) -> Tree:
    """Allocate a tree of at most `n_leaves` leaves."""
    n_nodes = n_leaves - 1
    return Tree(
        feature=np.empty(n_nodes, np.int32),
        bin=np.empty(n_nodes, np.int32),
        missing_left=np.empty(n_nodes, np.bool_),
        left=np.empty(n_nodes, np.int32),
        right=np.empty(n_nodes, np.int32),
        gain=np.empty(n_nodes),
        sets=np.zeros((n_nodes, set_size), np.uint8),
    )


def left_sets(tree: Tree, n_leaves: int) -> Bytes:
    """(n_nodes, set_size): 1 for what goes left at each of the first nodes, also where this is a range of bins."""
    nodes = slice(0, n_leaves - 1)
    cut, missing_left = tree.bin[nodes, None], tree.missing_left[nodes, None]
    numbers = np.arange(tree.sets.shape[1])
    in_range = (numbers <= cut) & (missing_left | (numbers > 0))
    return np.where(cut > 0, in_range, tree.sets[nodes] > 0).astype(np.uint8)


def as_forest(
    tree: Tree, n_leaves: int, n_features: int, bins: Bins, layout: Layout, values: Floats, counts: Ints, unit: float
) -> Forest:
    """The tree with thresholds and sets of categories instead of bins, as a forest of one tree.

    values, counts: Of each leaf. unit: That of the gains.
    """
    nodes = slice(0, n_leaves - 1)
    column, cut = tree.feature[nodes], tree.bin[nodes]
    feature = layout.feature[column].astype(np.int32)
    # The cut above the highest bin separates known from missing values: no known value exceeds it.
    above = cut >= bins.n_bins[column]
    threshold = bins.cuts[feature, np.minimum(cut, 255) - 1]
    threshold = np.where(above, np.finfo(np.float32).max, threshold).astype(np.float32)
    left, right = tree.left[nodes], tree.right[nodes]
    missing_left = tree.missing_left[nodes].copy()
    words = [np.empty(0, np.uint32)] * (n_leaves - 1)
    goes_left = left_sets(tree, n_leaves) if layout.categories else None
    for node in range(n_leaves - 1):
        numbers = layout.categories.get(int(column[node]))
        if numbers is not None and goes_left is not None:
            *categories, missing_left[node] = goes_left[node, numbers]
            # Training that is continued may have new categories: they go where missing values go.
            words[node] = set_words(np.array(categories, np.bool_), others=missing_left[node])
            threshold[node] = 0.0
    return Forest(
        n_features=n_features,
        base_score=0.0,
        tree_nodes=np.array([0, n_leaves - 1]),
        tree_leaves=np.array([0, n_leaves]),
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        left=left,
        right=right,
        gain=tree.gain[nodes] / unit,
        node_count=count_at_nodes(left, right, counts),
        leaf_value=values,
        leaf_count=counts,
        n_words=np.array([len(each) for each in words], np.int32),
        words=np.concatenate((np.empty(0, np.uint32), *words)),
    )


def count_at_nodes(left: AnyArray, right: AnyArray, leaf_count: Ints) -> Ints:
    """Sum the leaves' documents at each node, from the last node up, because children come after their parents."""
    counts, in_leaf, children = [0] * len(left), leaf_count.tolist(), (left.tolist(), right.tolist())
    for node in range(len(left) - 1, -1, -1):
        for child in (children[0][node], children[1][node]):
            counts[node] += counts[child] if child >= 0 else in_leaf[~child]
    return np.array(counts, np.int64)


def make_forest(trees: Sequence[Forest], n_features: int) -> Forest:
    """Join forests of one tree each."""
    arrays: dict[str, AnyArray] = {}
    for name, (dtype, owner) in ARRAYS.items():
        parts = [getattr(tree, name) for tree in trees]
        if owner == "tree":
            arrays[name] = np.cumsum([0, *(part[-1] for part in parts)], dtype=dtype)
        else:
            arrays[name] = np.concatenate([np.empty(0, dtype), *parts])
    return Forest(n_features=n_features, base_score=0.0, **arrays)
