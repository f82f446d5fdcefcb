"""One tree while it grows: its splits are bins, not thresholds yet."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bools, Bytes, Floats


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
