"""Sort the nodes of a forest for `forest_scoring`: by block of trees, feature and threshold.

Nodes with a set of categories have no order. A document goes right at such a node unless its category is in the node's
set. The nodes of a block of trees with the same feature form groups of 32, and a table has one word per category: the
nodes of the group at which it goes right. So one word is looked up per document and group, and the rest of the work is
the same for every category.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Bools, Features, Floats, Ints
from swaprank.kernels import kernel
from swaprank.models.category_sets import WORD_CATEGORIES

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

WORD_LEAVES = 32
_BLOCK_PAIRS = 256
"""Pairs of words in a block of trees: 64 KB in all lanes. With less, features are loaded more often."""
_GROUP_NODES = 32


class ForestLayout(NamedTuple):
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


class SetLayout(NamedTuple):
    """The steps of all nodes with a set.

    block_groups[b] -> group_feature, group_rows[g] -> goes_right, and group_steps[g] -> node_bit, word, mask
    """

    block_groups: Ints
    group_feature: Ints
    group_rows: Ints
    group_steps: Ints
    goes_right: NDArray[np.uint32]
    """The nodes of the group that send a category right; the first row is for missing and unknown categories."""
    node_bit: NDArray[np.uint32]
    """The bit of the step's node within its group."""
    word: NDArray[np.uint32]
    mask: NDArray[np.uint32]


def make_layout(forest: "Forest") -> tuple[ForestLayout, SetLayout | None]:
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
    layout = ForestLayout(
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


def make_set_layout(forest: "Forest", n_blocks: int, node: Ints, block: Ints, word: Ints, mask: AnyArray) -> SetLayout:
    """Sort the steps of the nodes with a set; each has a node, a block of trees, and bits of a word that it keeps."""
    # The sets of a group have about the same length, because its table has as many rows as the longest.
    order = np.lexsort((node, -forest.n_words[node], forest.feature[node], block))
    node, block = node[order], block[order]
    is_new_node = np.append(True, node[1:] != node[:-1])
    nodes, node_block, of_step = node[is_new_node], block[is_new_node], np.cumsum(is_new_node) - 1
    feature = forest.feature[nodes].astype(np.int64)
    is_new_list = np.append(True, (feature[1:] != feature[:-1]) | (node_block[1:] != node_block[:-1]))
    list_starts = np.flatnonzero(is_new_list)
    place = np.arange(len(nodes)) - list_starts[np.cumsum(is_new_list) - 1]
    starts_group = place % _GROUP_NODES == 0
    group = np.cumsum(starts_group) - 1
    # The first node of a group has the longest set.
    n_rows = 1 + WORD_CATEGORIES * forest.n_words[nodes[starts_group]].astype(np.int64)
    group_rows = np.append(0, np.cumsum(n_rows))
    goes_right = np.zeros(group_rows[-1], np.uint32)
    node_bit = (1 << (place % _GROUP_NODES)).astype(np.uint32)
    first_word = np.cumsum(forest.n_words, dtype=np.int64) - forest.n_words
    sets = (forest.missing_left, forest.n_words, first_word, forest.words)
    fill_rows(nodes, group, node_bit, group_rows, *sets, goes_right)
    return SetLayout(
        block_groups=np.searchsorted(node_block[starts_group], np.arange(n_blocks + 1)),
        group_feature=feature[starts_group],
        group_rows=group_rows,
        group_steps=np.searchsorted(group[of_step], np.arange(len(n_rows) + 1)),
        goes_right=goes_right,
        node_bit=node_bit[of_step],
        word=word[order].astype(np.uint32),
        mask=mask[order],
    )


@kernel
def fill_rows(
    nodes: Ints, group: Ints, node_bit: AnyArray, group_rows: Ints, missing_left: AnyArray, n_words: AnyArray,
    first_word: Ints, words: AnyArray, goes_right: AnyArray,
) -> None:  # fmt: skip
    """Set the node's bit in the rows of all categories that go right there."""
    for i in range(len(nodes)):
        node, bit = nodes[i], node_bit[i]
        rows = goes_right[group_rows[group[i]] : group_rows[group[i] + 1]]
        n_categories = WORD_CATEGORIES * n_words[node]
        for category in range(n_categories):
            word = words[first_word[node] + category // WORD_CATEGORIES]
            in_set = (word >> np.uint32(category % WORD_CATEGORIES)) & np.uint32(1)
            rows[1 + category] |= bit * (np.uint32(1) - in_set)
        if not missing_left[node]:
            rows[0] |= bit
            rows[1 + n_categories :] |= bit


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
