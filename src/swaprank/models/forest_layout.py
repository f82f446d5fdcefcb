"""Sort the nodes of a forest for `forest_scoring`: by block of trees and row of codes.

Nodes with a set of categories have no order. A document goes right at such a node unless its category is in the node's
set. The nodes of a block of trees with the same feature form groups of 32, and a table has one word per category: the
nodes of the group at which it goes right. So one word is looked up per document and group, which is four rows of codes
with a bit per node, and the rest of the work is the same for every category.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.kernels import kernel
from swaprank.models.category_sets import WORD_CATEGORIES
from swaprank.models.leaf_bits import LANES
from swaprank.models.threshold_codes import Rulers, make_rulers

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

BYTE_LEAVES = 8
_BLOCK_BYTES = 512
"""Bytes in a block of trees: 32 KB in all lanes. With less, codes are loaded more often."""
_GROUP_NODES = 32
GROUP_ROWS = _GROUP_NODES // 8


class ForestLayout(NamedTuple):
    """The steps of all nodes, one list per block of trees and row of codes.

    block_lists[2b], block_lists[2b + 1] -> list_row, list_steps[l] -> limit, place, mask: thresholds, then sets
    block_trees[b] -> tree_bytes, tree_leaves[t] -> leaf_value, from left to right
    """

    block_trees: Ints
    block_lists: Ints
    list_row: Ints
    list_steps: Ints
    limit: NDArray[np.int8]
    """Codes above it go right; the bit of the node, if it has a set."""
    place: NDArray[np.uint32]
    """The byte within the block in which the step clears bits, for the first lane."""
    mask: Bytes
    """The bits that the step keeps."""
    tree_bytes: Ints
    tree_leaves: Ints
    leaf_value: Floats


class SetTables(NamedTuple):
    """The codes of categories: group_feature, group_rows[g] -> goes_right, one row per category."""

    group_feature: Ints
    group_rows: Ints
    goes_right: NDArray[np.uint32]
    """The nodes of the group that send a category right; the first row is for missing and unknown categories."""
    first_row: int
    """The row of codes of the first group, which has four."""


def make_layout(forest: "Forest") -> tuple[Rulers, ForestLayout, SetTables | None]:
    """Sort a forest's nodes for scoring; None if no node has a set of categories."""
    first, middle = np.zeros((2, len(forest.feature)), np.int64)
    position = np.zeros(len(forest.leaf_value), np.int64)
    number_leaves(forest.tree_nodes, forest.tree_leaves, forest.left, forest.right, first, middle, position)
    leaf_value = np.empty(len(position))
    leaf_value[position] = forest.leaf_value

    n_trees = forest.n_trees
    tree_bytes = np.concatenate(([0], np.cumsum(-(-np.diff(forest.tree_leaves) // BYTE_LEAVES))))
    block_trees = np.concatenate(([0], np.flatnonzero(np.diff(tree_bytes[:-1] // _BLOCK_BYTES)) + 1, [n_trees]))
    tree_block = np.repeat(np.arange(len(block_trees) - 1), np.diff(block_trees))
    node_block = np.repeat(tree_block, np.diff(forest.tree_nodes))

    with_threshold, with_set = np.flatnonzero(forest.n_words == 0), np.flatnonzero(forest.n_words)
    row, limit = np.empty(len(first), np.int64), np.empty(len(first), np.int8)
    rulers, row[with_threshold], limit[with_threshold] = make_rulers(forest, with_threshold)
    sets = None
    if len(with_set):
        first_row = rulers.n_rows
        sets, row[with_set], limit[with_set] = make_set_tables(forest, with_set, node_block[with_set], first_row)

    # One step for every byte in which a left subtree has leaves.
    n_steps = (middle - 1) // BYTE_LEAVES - first // BYTE_LEAVES + 1
    node = np.repeat(np.arange(len(first)), n_steps)
    nth = np.arange(len(node)) - np.repeat(np.cumsum(n_steps) - n_steps, n_steps)
    byte = first[node] // BYTE_LEAVES + nth
    from_bit, to_bit = (np.clip(bound[node] - BYTE_LEAVES * byte, 0, BYTE_LEAVES) for bound in (first, middle))
    mask = ~((1 << to_bit) - (1 << from_bit)).astype(np.uint8)
    tree = np.repeat(np.arange(n_trees), np.diff(forest.tree_nodes))[node]
    byte += tree_bytes[tree] - tree_bytes[block_trees[node_block[node]]]
    kind = 2 * node_block[node] + (forest.n_words[node] > 0)
    order = np.lexsort((limit[node], row[node], kind))
    keys = np.stack((kind, row[node]))[:, order]
    begins = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(order)])
    layout = ForestLayout(
        block_trees=block_trees,
        block_lists=np.searchsorted(keys[0, begins], np.arange(2 * len(block_trees) - 1)),
        list_row=keys[1, begins],
        list_steps=np.append(begins, len(order)),
        limit=limit[node][order],
        place=(LANES * byte[order]).astype(np.uint32),
        mask=mask[order],
        tree_bytes=tree_bytes,
        tree_leaves=np.array(forest.tree_leaves),
        leaf_value=leaf_value,
    )
    return rulers, layout, sets


def make_set_tables(
    forest: "Forest", nodes: Ints, block: Ints, first_row: int
) -> tuple[SetTables, Ints, NDArray[np.int8]]:
    """The tables of the nodes with a set, in these blocks of trees, and the row of codes and the bit of each node."""
    # The sets of a group have about the same length, because its table has as many rows as the longest.
    order = np.lexsort((nodes, -forest.n_words[nodes], forest.feature[nodes], block))
    nodes, block = nodes[order], block[order]
    feature = forest.feature[nodes].astype(np.int64)
    is_new_list = np.append(True, (feature[1:] != feature[:-1]) | (block[1:] != block[:-1]))
    list_starts = np.flatnonzero(is_new_list)
    place = (np.arange(len(nodes)) - list_starts[np.cumsum(is_new_list) - 1]) % _GROUP_NODES
    starts_group = place == 0
    group = np.cumsum(starts_group) - 1
    # The first node of a group has the longest set.
    n_rows = 1 + WORD_CATEGORIES * forest.n_words[nodes[starts_group]].astype(np.int64)
    group_rows = np.append(0, np.cumsum(n_rows))
    goes_right = np.zeros(group_rows[-1], np.uint32)
    first_word = np.cumsum(forest.n_words, dtype=np.int64) - forest.n_words
    node_sets = (forest.missing_left, forest.n_words, first_word, forest.words)
    fill_rows(nodes, group, (1 << place).astype(np.uint32), group_rows, *node_sets, goes_right)
    row, bit = np.empty_like(place), np.empty(len(place), np.int8)
    row[order] = first_row + GROUP_ROWS * group + place // 8
    bit[order] = (1 << place % 8).astype(np.uint8).view(np.int8)
    return SetTables(feature[starts_group], group_rows, goes_right, first_row), row, bit


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
