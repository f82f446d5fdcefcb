"""Score documents with symmetric trees: all nodes of a level ask the same question, so the answers number the leaf.

    level 0   x[3] > 0.5         the first answer is the highest bit of the leaf's number
    level 1   x[7] > 2           no bit depends on another: no branches, sixty-four documents at a time

A branch of a tree may end early: all leaves that would be below have its value.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.kernels import kernel
from swaprank.models.leaf_bits import LANES, level_leaves
from swaprank.models.threshold_codes import Rulers, add_leaves, encode, make_rulers

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

_MOST_LEVELS = 8
"""The number of a leaf is a byte."""


class SymmetricLayout(NamedTuple):
    """tree_levels[t] -> level_place, level_limit; tree_leaves[t] -> leaf_value."""

    tree_levels: Ints
    level_place: NDArray[np.uint32]
    """The place of the first lane's code."""
    level_limit: NDArray[np.int8]
    """Codes above it go right."""
    tree_leaves: Ints
    leaf_value: Floats


def symmetric_layout(forest: "Forest") -> tuple[Rulers, SymmetricLayout] | None:
    """The levels of a forest; None unless all its trees are symmetric, have no sets, and up to eight levels.

    >>> from swaprank.models.forest import single_leaf
    >>> from swaprank.models.symmetric_scoring import symmetric_layout
    >>> symmetric_layout(single_leaf(0.5, n_features=3, n_documents=10))[1].leaf_value.tolist()
    [0.5]
    """
    if len(forest.words):
        return None
    tests = np.stack((forest.feature, forest.threshold.view(np.int32), forest.missing_left), axis=1)
    children = np.stack((forest.left, forest.right), axis=1).astype(np.int64)
    nodes, leaves = forest.tree_nodes[:-1, None, None], forest.tree_leaves[:-1, None, None]
    # One row per tree: the nodes of a level, or ~leaf.
    at = np.where(np.diff(forest.tree_nodes) > 0, forest.tree_nodes[:-1], ~forest.tree_leaves[:-1])[:, None]
    level_nodes: list[AnyArray] = []
    while (at >= 0).any():
        first = at.max(axis=1, initial=-1)
        asked = np.where(at >= 0, at, first[:, None])
        if len(level_nodes) == _MOST_LEVELS or (tests[asked] != tests[first][:, None]).any():
            return None
        level_nodes.append(first)
        below = children[asked]
        below = np.where(below >= 0, nodes + below, ~(leaves + ~below))
        at = np.where(at[:, :, None] >= 0, below, at[:, :, None]).reshape(len(at), -1)
    levels = np.array(level_nodes, np.int64).reshape(-1, forest.n_trees).T
    n_levels = (levels >= 0).sum(axis=1)
    rulers, row, limit = make_rulers(forest, levels[levels >= 0])
    repeats = (1 << (len(level_nodes) - n_levels)).tolist()
    values = [forest.leaf_value[~row[::step]] for row, step in zip(at, repeats, strict=True)]
    layout = SymmetricLayout(
        tree_levels=np.append(0, np.cumsum(n_levels)),
        level_place=(LANES * row).astype(np.uint32),
        level_limit=limit,
        tree_leaves=np.append(0, np.cumsum(1 << n_levels)),
        leaf_value=np.concatenate([np.empty(0), *values]),
    )
    return rulers, layout


@kernel
def score_symmetric(
    ruler_feature: Ints, ruler_marks: Ints, ruler_rows: Ints, marks: Features, tree_levels: Ints, level_place: Any,
    level_limit: Any, tree_leaves: Ints, leaf_value: Floats, n_rows: int, X: Features, start: int, stop: int,
    tree_counts: Ints, scores: Floats,
) -> None:  # fmt: skip
    """Score the documents from start to stop, as `forest_scoring.score_documents` does."""
    rulers = Rulers(ruler_feature, ruler_marks, ruler_rows, marks)
    codes, leaves = np.zeros(n_rows * LANES, np.int8), np.empty(LANES, np.uint8)
    totals, values = np.empty(LANES), np.zeros(LANES, np.float32)
    for group in range(start, stop, LANES):
        n_lanes = min(LANES, stop - group)
        totals[:n_lanes] = scores[-1, group : group + n_lanes]
        encode(rulers, X, np.uint64(group), np.uint64(n_lanes), values, codes)
        first = 0
        for stage in range(len(tree_counts)):
            for tree in range(first, tree_counts[stage]):
                level_leaves(codes, level_place, level_limit, tree_levels[tree], tree_levels[tree + 1], leaves)
                add_leaves(leaf_value, tree_leaves[tree], leaves, n_lanes, totals)
            scores[stage, group : group + n_lanes] = totals[:n_lanes]
            first = tree_counts[stage]
