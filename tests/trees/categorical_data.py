"""Data with categories, and a plain walk down trees that split them."""

from __future__ import annotations

import numpy as np

import swaprank as sr
from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.models.forest import Forest


def categorical(X: AnyArray, y: AnyArray, qid: AnyArray, n_categories: dict[int, int]) -> sr.Dataset:
    """A data set some of whose features are numbers of categories."""
    data = sr.Dataset(X, y, qid=qid)
    values = {data.feature_names[f]: tuple(f"value {c}" for c in range(n)) for f, n in n_categories.items()}
    return data._with(stored=data.stored._with(categories=values))


def leaf_numbers(forest: Forest, tree: int, X: Features) -> Ints:
    """The leaf that each document falls into, numbered within its tree."""
    first = int(forest.tree_nodes[tree])
    word_starts = np.concatenate(([0], np.cumsum(forest.n_words)))
    found = []
    for x in X:
        child = 0 if forest.tree_nodes[tree + 1] > first else -1
        while child >= 0:
            node = first + child
            value, words = x[forest.feature[node]], forest.words[word_starts[node] : word_starts[node + 1]]
            if np.isnan(value) or (len(words) and value >= 32 * len(words)):
                left = bool(forest.missing_left[node])
            elif len(words):
                left = bool(int(words[int(value) // 32]) >> (int(value) % 32) & 1)
            else:
                left = bool(value <= forest.threshold[node])
            child = int(forest.left[node] if left else forest.right[node])
        found.append(~child)
    return np.array(found)


def walked_scores(forest: Forest, X: Features) -> Floats:
    """Scores by walking down every tree."""
    scores = np.full(len(X), forest.base_score)
    for tree in range(forest.n_trees):
        scores += forest.leaf_value[forest.tree_leaves[tree] + leaf_numbers(forest, tree, X)]
    return scores
