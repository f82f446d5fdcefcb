"""Clear the bits of leaves behind nodes with sets of categories, as `forest_scoring` does behind thresholds.

A document goes right at a node unless its category is in the node's set. The nodes of a block of trees with the same
feature form groups of 32, and a table has one word per category: the nodes of the group at which it goes right. So one
word is looked up per document and group, and the rest of the work is the same for every category.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Features, Ints
from swaprank.kernels import inlined_kernel, kernel
from swaprank.models.category_sets import WORD_CATEGORIES
from swaprank.models.leaf_bits import mask_lanes

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

_GROUP_NODES = 32


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


def make_set_layout(forest: Forest, n_blocks: int, node: Ints, block: Ints, word: Ints, mask: AnyArray) -> SetLayout:
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


@inlined_kernel
def clear_set_bits(sets: SetLayout, block: int, X: Features, start: int, n_lanes: int, right: Any, bits: Any) -> None:
    """Clear the bits of the leaves that up to thirty-two documents cannot reach because of their categories."""
    for group in range(sets.block_groups[block], sets.block_groups[block + 1]):
        feature, first = sets.group_feature[group], sets.group_rows[group]
        n_categories = np.float32(sets.group_rows[group + 1] - first - 1)
        for lane in range(n_lanes):
            x = X[start + lane, feature]
            row = np.int64(x) + 1 if (x >= 0) & (x < n_categories) else 0
            right[lane] = sets.goes_right[first + row]
        first_step, last_step = sets.group_steps[group], sets.group_steps[group + 1]
        mask_lanes(bits, right, sets.node_bit, sets.word, sets.mask, first_step, last_step)
