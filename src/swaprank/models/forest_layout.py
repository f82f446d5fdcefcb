"""Sort the nodes of a forest for `forest_scoring`: by block of trees, feature and threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Bools, Features, Floats, Ints
from swaprank.kernels import kernel
from swaprank.models.set_scoring import SetLayout, make_set_layout

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

WORD_LEAVES = 32
_BLOCK_PAIRS = 256
"""Pairs of words in a block of trees: 64 KB in all lanes. With less, features are loaded more often."""


class Layout(NamedTuple):
    """The steps of nodes with a threshold: one list per (block of trees, feature, side of missing values), ascending.

    block_lists[b] -> list_feature, list_missing_right, list_steps[l] -> threshold, word, mask
    block_trees[b] -> tree_pairs, tree_leaves[t] -> leaf_value, from left to right
    """

    block_trees: Ints
    block_lists: Ints
    list_feature: Ints
    list_missing_right: Bools
    list_steps: Ints
    threshold: Features
    word: NDArray[np.uint32]
    """The word within the block in which the step clears bits."""
    mask: NDArray[np.uint32]
    """The bits that the step keeps."""
    tree_pairs: Ints
    tree_leaves: Ints
    leaf_value: Floats


def make_layout(forest: Forest) -> tuple[Layout, SetLayout | None]:
    """Sort a forest's nodes for scoring; None if no node has a set of categories."""
    first, middle = np.zeros((2, len(forest.feature)), np.int64)
    position = np.zeros(len(forest.leaf_value), np.int64)
    number_leaves(forest.tree_nodes, forest.tree_leaves, forest.left, forest.right, first, middle, position)
    leaf_value = np.empty(len(position))
    leaf_value[position] = forest.leaf_value

    n_trees = forest.n_trees
    n_pairs = -(-np.diff(forest.tree_leaves) // (2 * WORD_LEAVES))
    tree_pairs = np.concatenate(([0], np.cumsum(n_pairs)))
    block_trees = np.concatenate(([0], np.flatnonzero(np.diff(tree_pairs[:-1] // _BLOCK_PAIRS)) + 1, [n_trees]))
    tree_block = np.repeat(np.arange(len(block_trees) - 1), np.diff(block_trees))

    # One step for every word in which a left subtree has leaves.
    n_steps = (middle - 1) // WORD_LEAVES - first // WORD_LEAVES + 1
    node = np.repeat(np.arange(len(first)), n_steps)
    nth = np.arange(len(node)) - np.repeat(np.cumsum(n_steps) - n_steps, n_steps)
    word = first[node] // WORD_LEAVES + nth
    from_bit, to_bit = (np.clip(bound[node] - WORD_LEAVES * word, 0, WORD_LEAVES) for bound in (first, middle))
    mask = ~((1 << to_bit) - (1 << from_bit)).astype(np.uint32)
    tree = np.repeat(np.arange(n_trees), np.diff(forest.tree_nodes))[node]
    block = tree_block[tree]
    word += 2 * (tree_pairs[tree] - tree_pairs[block_trees[block]])

    sets = None
    if len(forest.words):
        with_set = forest.n_words[node] > 0
        n_blocks, steps = len(block_trees) - 1, (node, block, word, mask)
        sets = make_set_layout(forest, n_blocks, *(each[with_set] for each in steps))
        node, block, word, mask = (each[~with_set] for each in steps)
    threshold, missing_right = forest.threshold[node], ~forest.missing_left[node]
    order = np.lexsort((threshold, missing_right, forest.feature[node], block))
    keys = np.stack((block, forest.feature[node], missing_right))[:, order]
    begins = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(order)])
    layout = Layout(
        block_trees=block_trees,
        block_lists=np.searchsorted(keys[0, begins], np.arange(len(block_trees))),
        list_feature=keys[1, begins],
        list_missing_right=keys[2, begins].astype(np.bool_),
        list_steps=np.append(begins, len(order)),
        threshold=threshold[order],
        word=word[order].astype(np.uint32),
        mask=mask[order],
        tree_pairs=tree_pairs,
        tree_leaves=np.array(forest.tree_leaves),
        leaf_value=leaf_value,
    )
    return layout, sets


@kernel
def number_leaves(
    tree_nodes: Ints, tree_leaves: Ints, left: AnyArray, right: AnyArray, first: Ints, middle: Ints, position: Ints
) -> None:
    """Number the leaves of every tree from left to right; a node's left subtree has the leaves from first to middle.

    Children come after their parents: sizes are summed from the last node up, then numbers are assigned from the root
    down. `position` maps a leaf's index in the forest to its index from left to right.
    """
    size = middle
    for tree in range(len(tree_nodes) - 1):
        nodes, leaves = tree_nodes[tree], tree_leaves[tree]
        for node in range(tree_nodes[tree + 1] - 1, nodes - 1, -1):
            a, b = left[node], right[node]
            size[node] = (size[nodes + a] if a >= 0 else 1) + (size[nodes + b] if b >= 0 else 1)
        if tree_nodes[tree + 1] == nodes:
            position[leaves] = leaves
        else:
            first[nodes] = 0
        for node in range(nodes, tree_nodes[tree + 1]):
            a, b = left[node], right[node]
            # This overwrites the node's size, which is not read any more.
            middle[node] = first[node] + (size[nodes + a] if a >= 0 else 1)
            if a >= 0:
                first[nodes + a] = first[node]
            else:
                position[leaves + ~a] = leaves + first[node]
            if b >= 0:
                first[nodes + b] = middle[node]
            else:
                position[leaves + ~b] = leaves + middle[node]
