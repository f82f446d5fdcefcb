"""One tree: while it grows, in bins, and grown, in thresholds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bools, Features, Floats, Ints


class Tree(NamedTuple):
    """The tree being grown, as `Forest` has it; nodes are numbered as they are split."""

    feature: AnyArray
    bin: AnyArray
    missing_left: Bools
    left: AnyArray
    right: AnyArray
    gain: Floats
    node_count: Ints
    leaf_count: Ints


def make_tree(n_leaves: int) -> Tree:
    """Room for a tree."""
    n_nodes = n_leaves - 1
    return Tree(
        feature=np.empty(n_nodes, np.int32),
        bin=np.empty(n_nodes, np.int32),
        missing_left=np.empty(n_nodes, np.bool_),
        left=np.empty(n_nodes, np.int32),
        right=np.empty(n_nodes, np.int32),
        gain=np.empty(n_nodes),
        node_count=np.empty(n_nodes, np.int64),
        leaf_count=np.empty(n_leaves, np.int64),
    )


class GrownTree(NamedTuple):
    """One tree as a forest's arrays have it."""

    feature: AnyArray
    threshold: Features
    missing_left: AnyArray
    left: AnyArray
    right: AnyArray
    gain: Floats
    node_count: Ints
    leaf_value: Floats
    leaf_count: Ints
