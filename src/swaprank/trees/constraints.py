"""Constraints: trees must not fall where they should rise with a feature, nor mix features that should not interact.

A split on a monotone feature bounds both of its subtrees by the middle of the values of its two sides, so that every
leaf on one side is at most the middle, and every leaf on the other side at least. While a tree grows, only splits in
the right direction are taken, with the values that the bounds allow. Its leaf values are those of all documents, not
only of a sample, and they are bounded again from the root down.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.models.forest import Forest


class Constraints(NamedTuple):
    """Constraints on the features of trees; arrays without rows are none."""

    monotone: Ints = np.empty(0, np.int64)
    """-1, 0 or 1 per feature: scores never rise, anything, scores never fall with it."""
    groups: Bytes = np.empty((0, 0), np.uint8)
    """(n_groups, n_features): 1 for the features of each group. All features of a path share a group."""


NO_CONSTRAINTS = Constraints()


def by_column(constraints: Constraints, feature: Ints) -> Constraints:
    """Constraints on columns of bins, of which each is of a feature."""
    monotone, groups = constraints
    return Constraints(
        monotone[feature] if len(monotone) else monotone, groups[:, feature].copy() if len(groups) else groups
    )


def bounded_values(left: AnyArray, right: AnyArray, direction: Ints, values: Floats, weights: Floats) -> Floats:
    """Leaf values within the bounds of one tree's monotone nodes; the value of a node is the mean of its leaves.

    direction: -1, 0 or 1 per node; weights: per leaf, 0 or more.
    """
    n_nodes = len(left)
    # Leaf l is entry ~l, from the end.
    mean = np.concatenate((np.zeros(n_nodes), values[::-1]))
    weight = np.concatenate((np.zeros(n_nodes), weights[::-1] + np.finfo(np.float64).tiny))
    for node in range(n_nodes - 1, -1, -1):
        a, b = left[node], right[node]
        weight[node] = weight[a] + weight[b]
        mean[node] = mean[a] * (weight[a] / weight[node]) + mean[b] * (weight[b] / weight[node])
    low, high = np.full(len(mean), -np.inf), np.full(len(mean), np.inf)
    for node in range(n_nodes):
        a, b = left[node], right[node]
        low[a] = low[b] = low[node]
        high[a] = high[b] = high[node]
        if direction[node] != 0:
            ends = [min(max(mean[side], low[node]), high[node]) for side in (a, b)]
            middle = ends[0] / 2 + ends[1] / 2
            below, above = (a, b) if direction[node] > 0 else (b, a)
            high[below] = low[above] = middle
    bounded: Floats = np.minimum(np.maximum(mean, low), high)[n_nodes:][::-1]
    return bounded.copy()


def broken_feature(forest: Forest, monotone: Ints) -> int | None:
    """A feature on which a tree splits against its direction."""
    for tree in range(forest.n_trees):
        nodes = slice(forest.tree_nodes[tree], forest.tree_nodes[tree + 1])
        feature, left, right = forest.feature[nodes], forest.left[nodes], forest.right[nodes]
        values = forest.leaf_value[forest.tree_leaves[tree] : forest.tree_leaves[tree + 1]][::-1]
        lowest = np.concatenate((np.zeros(len(left)), values))
        highest = lowest.copy()
        for node in range(len(left) - 1, -1, -1):
            a, b = left[node], right[node]
            lowest[node], highest[node] = min(lowest[a], lowest[b]), max(highest[a], highest[b])
            direction = monotone[feature[node]]
            if (direction > 0 and highest[a] > lowest[b]) or (direction < 0 and highest[b] > lowest[a]):
                return int(feature[node])
    return None
