"""One tree while it grows: its splits are bins, not thresholds yet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bools, Floats


class Tree(NamedTuple):
    """The nodes of the tree being grown, laid out as in `Forest` and numbered in the order of their splits."""

    feature: AnyArray
    bin: AnyArray
    missing_left: Bools
    left: AnyArray
    right: AnyArray
    gain: Floats


def make_tree(n_leaves: int) -> Tree:
    """Allocate a tree of at most `n_leaves` leaves."""
    n_nodes = n_leaves - 1
    return Tree(
        feature=np.empty(n_nodes, np.int32),
        bin=np.empty(n_nodes, np.int32),
        missing_left=np.empty(n_nodes, np.bool_),
        left=np.empty(n_nodes, np.int32),
        right=np.empty(n_nodes, np.int32),
        gain=np.empty(n_nodes),
    )
