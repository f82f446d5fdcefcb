"""Random forests of any shape, and a plain walk down the trees that the kernels are compared with."""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Features, Floats
from swaprank.models.forest import ARRAYS, Forest


def random_forest(
    rng: np.random.Generator, n_leaves: list[int], n_features: int = 5, n_values: int = 8, set_share: float = 0.3
) -> Forest:
    """One tree for every number of leaves, grown leaf by leaf; few thresholds, so that some values equal them.

    This share of the nodes has a set of categories instead of a threshold, on any feature.
    """
    columns: dict[str, list[object]] = {name: [] for name in ARRAYS}
    tree_nodes, tree_leaves = [0], [0]
    for leaves in n_leaves:
        left, right, counts = [0] * (leaves - 1), [0] * (leaves - 1), [0] * (leaves - 1)
        # Open ends of the tree: (node, side), or None for the root.
        ends: list[tuple[int, list[int]] | None] = [None]
        for node in range(leaves - 1):
            place = ends.pop(int(rng.integers(len(ends))))
            if place is not None:
                place[1][place[0]] = node
            ends += [(node, left), (node, right)]
        for leaf, at in enumerate(rng.permutation(len(ends))):
            place = ends[at]
            if place is not None:
                place[1][place[0]] = ~leaf
        leaf_count = rng.integers(1, 30, leaves)
        for node in reversed(range(leaves - 1)):
            counts[node] = sum(counts[c] if c >= 0 else int(leaf_count[~c]) for c in (left[node], right[node]))
        columns["left"] += left
        columns["right"] += right
        columns["node_count"] += counts
        columns["leaf_count"] += leaf_count.tolist()
        tree_nodes.append(tree_nodes[-1] + leaves - 1)
        tree_leaves.append(tree_leaves[-1] + leaves)
    n_nodes = tree_nodes[-1]
    columns |= {"tree_nodes": tree_nodes, "tree_leaves": tree_leaves}  # type: ignore[dict-item]
    columns["feature"] = rng.integers(n_features, size=n_nodes).tolist()
    n_words = np.where(rng.random(n_nodes) < set_share, rng.integers(1, 4, n_nodes), 0)
    columns["n_words"] = n_words.tolist()
    columns["words"] = rng.integers(2**32, size=int(n_words.sum())).tolist()
    columns["threshold"] = np.where(n_words > 0, 0, rng.integers(n_values, size=n_nodes)).tolist()
    columns["missing_left"] = (rng.random(n_nodes) < 0.5).tolist()
    columns["gain"] = rng.random(n_nodes).tolist()
    columns["leaf_value"] = rng.normal(size=tree_leaves[-1]).tolist()
    arrays = {name: np.array(columns[name], dtype) for name, (dtype, _) in ARRAYS.items()}
    return Forest(n_features=n_features, base_score=float(rng.normal()), **arrays)


def random_documents(rng: np.random.Generator, n: int, n_features: int = 5, n_values: int = 8) -> Features:
    """Values on and between the thresholds, beyond them, infinite and missing; categories in and beyond the sets."""
    X = (rng.integers(-1, 2 * n_values + 1, (n, n_features)) / 2).astype(np.float32)
    X = np.where(rng.random(X.shape) < 0.3, rng.integers(110, size=X.shape), X).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.inf
    X[rng.random(X.shape) < 0.05] = -np.inf
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def goes_left(forest: Forest, node: int, value: float) -> bool:
    """Whether a document with this value goes left at a node of the forest."""
    n_words = int(forest.n_words[node])
    if n_words == 0:
        return bool(forest.missing_left[node] if np.isnan(value) else value <= forest.threshold[node])
    if not 0 <= value < 32 * n_words:
        return bool(forest.missing_left[node])
    word = forest.words[int(forest.n_words[:node].sum()) + int(value) // 32]
    return f"{int(word):032b}"[::-1][int(value) % 32] == "1"


def walk(forest: Forest, tree: int, x: Features) -> int:
    """The leaf that a document falls into, numbered within its tree."""
    start = forest.tree_nodes[tree]
    child = 0 if forest.tree_nodes[tree + 1] > start else ~0
    while child >= 0:
        node = start + child
        left = goes_left(forest, int(node), float(x[forest.feature[node]]))
        child = int(forest.left[node] if left else forest.right[node])
    return ~child


def naive_scores(forest: Forest, X: Features, n_trees: int | None = None) -> Floats:
    """Scores by walking down every tree, summed in the order of the trees."""
    scores = np.full(len(X), forest.base_score)
    for tree in range(forest.n_trees if n_trees is None else n_trees):
        leaves = [forest.tree_leaves[tree] + walk(forest, tree, x) for x in X]
        scores += forest.leaf_value[leaves]
    return scores
