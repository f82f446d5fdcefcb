"""Score documents with a forest by walking the sorted thresholds of every feature, not the trees [Lucchese2015].

Number the leaves of a tree from left to right and give every document one bit per leaf. A node that sends the document
right clears the bits of its left subtree. After all such nodes, the lowest bit still set is the document's leaf. The
order of the nodes does not matter, so the nodes of a block of trees are sorted by feature and threshold: the nodes that
send a document right are then a prefix of each feature's list, and the only branch on data is the end of that prefix.
Sixteen documents walk a list together, one per lane of the vector registers [Lucchese2016]. Nodes with a set of
categories have no order: `set_scoring` clears their bits.

The bits of 32 leaves form a word, as wide as a float32 feature value. A tree has an even number of words, and a node
has one step for every word in which it clears bits. For trees below about a hundred leaves this is nearly always one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Bools, Features, Floats, Ints
from swaprank.data.features import read_only
from swaprank.errors import DataError, SwaprankError
from swaprank.kernels import kernel
from swaprank.models.leaf_bits import LANES, lowest_bit, mask_lanes
from swaprank.models.set_scoring import SetLayout, clear_set_bits, make_set_layout
from swaprank.threads import row_chunks, run_in_threads, thread_count

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

_WORD_LEAVES = 32
_ALL_LEAVES = np.uint32(2**32 - 1)
_BLOCK_PAIRS = 256
"""Pairs of words in a block of trees: 32 KB with sixteen lanes, which fits the L1 cache."""

_CHUNK_DOCUMENTS = 256
"""Documents scored by a block of trees before the next block is loaded."""

_MIN_VISITS_PER_THREAD = 200_000
"""A thread is started for at least this many documents x trees: about a millisecond."""


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


_layouts: WeakKeyDictionary[Forest, tuple[Layout, SetLayout | None]] = WeakKeyDictionary()
"""Kept outside the forests, which stay plain data to pickle. Two threads may make the same layout twice."""


def score(forest: Forest, X: Features, n_trees: int | None = None, n_threads: int | None = None) -> Floats:
    """The base score plus the values of the document's leaves, summed in the order of the trees.

    The result is the same, bit for bit, for any number of threads and any batch size.

    Args:
        forest: The trees.
        X: float32, C-contiguous, documents x features; NaN is a missing value.
        n_trees: Use only the first n_trees trees. If None, all.
        n_threads: If None, all cores. Small batches use one thread.

    >>> import numpy as np
    >>> from swaprank.models.forest import single_leaf
    >>> from swaprank.models.forest_scoring import score
    >>> score(single_leaf(0.5, n_features=3, n_documents=10), np.zeros((2, 3), np.float32))
    array([0.5, 0.5])
    """
    if n_trees is None:
        n_trees = forest.n_trees
    elif not 0 <= n_trees <= forest.n_trees:
        raise SwaprankError(f"n_trees must be from 0 to {forest.n_trees}, found {n_trees}.")
    return _scores(forest, X, np.array([n_trees]), n_threads, None).reshape(-1)


def staged_scores(
    forest: Forest,
    X: Features,
    tree_counts: Sequence[int] | Ints,
    n_threads: int | None = None,
    start: Floats | None = None,
) -> Floats:
    """The scores after each of the given numbers of trees, in ascending order: one row per number, in one pass.

    If `start` is given, the trees continue from these scores of the documents instead of the base score.

    >>> import numpy as np
    >>> from swaprank.models.forest import join_forests, single_leaf
    >>> from swaprank.models.forest_scoring import staged_scores
    >>> forest = join_forests(single_leaf(0.5, 3, 10), single_leaf(-0.25, 3, 10))
    >>> staged_scores(forest, np.zeros((1, 3), np.float32), [0, 1, 2]).tolist()
    [[0.0], [0.5], [0.25]]
    """
    counts = np.asarray(tree_counts, np.int64)
    if len(counts) == 0 or counts[0] < 0 or counts[-1] > forest.n_trees or (counts[1:] <= counts[:-1]).any():
        raise SwaprankError(f"tree_counts must ascend from 0 to at most {forest.n_trees}, found {counts.tolist()}.")
    return _scores(forest, X, counts, n_threads, start)


def scores_by_stage(
    forest: Forest, X: Features, tree_counts: Sequence[int], n_at_once: int, n_threads: int | None = None
) -> Iterator[tuple[int, Floats]]:
    """Each number of trees with the scores after them, as `staged_scores`, but with few stages in memory at a time.

    Every pass computes `n_at_once` stages and continues from the last scores of the pass before, so that each tree is
    visited once.

    >>> import numpy as np
    >>> from swaprank.models.forest import join_forests, single_leaf
    >>> from swaprank.models.forest_scoring import scores_by_stage
    >>> forest = join_forests(single_leaf(0.5, 3, 10), single_leaf(-0.25, 3, 10))
    >>> [(count, scores.tolist()) for count, scores in scores_by_stage(forest, np.zeros((1, 3), np.float32), [1, 2], 1)]
    [(1, [0.5]), (2, [0.25])]
    """
    done, last = 0, None
    for first in range(0, len(tree_counts), n_at_once):
        counts = tree_counts[first : first + n_at_once]
        stages = staged_scores(forest.part(done, counts[-1]), X, [count - done for count in counts], n_threads, last)
        # A copy, because the caller may change what it is given.
        done, last = counts[-1], stages[-1].copy()
        yield from zip(counts, stages, strict=True)


def _scores(forest: Forest, X: Features, tree_counts: Ints, n_threads: int | None, start: Floats | None) -> Floats:
    if X.ndim != 2 or X.shape[1] != forest.n_features:
        raise DataError(f"the trees have {forest.n_features} features, but X has the shape {X.shape}.")
    found = _layouts.get(forest)
    if found is None:
        found = _layouts[forest] = make_layout(forest)
    layout, sets = found
    scores = np.empty((len(tree_counts), len(X)))
    scores[-1] = forest.base_score if start is None else start
    visits = len(X) * int(tree_counts[-1])
    chunks = row_chunks(len(X), min(thread_count(n_threads), visits // _MIN_VISITS_PER_THREAD))
    common = (*layout, read_only(X))
    run_in_threads(score_documents, [(*common, a, b, tree_counts, scores, sets) for a, b in chunks])
    return scores


def make_layout(forest: Forest) -> tuple[Layout, SetLayout | None]:
    """Sort a forest's nodes for scoring; None if no node has a set of categories."""
    first, middle = np.zeros((2, len(forest.feature)), np.int64)
    position = np.zeros(len(forest.leaf_value), np.int64)
    number_leaves(forest.tree_nodes, forest.tree_leaves, forest.left, forest.right, first, middle, position)
    leaf_value = np.empty(len(position))
    leaf_value[position] = forest.leaf_value

    n_trees = forest.n_trees
    n_pairs = -(-np.diff(forest.tree_leaves) // (2 * _WORD_LEAVES))
    tree_pairs = np.concatenate(([0], np.cumsum(n_pairs)))
    block_trees = np.concatenate(([0], np.flatnonzero(np.diff(tree_pairs[:-1] // _BLOCK_PAIRS)) + 1, [n_trees]))
    tree_block = np.repeat(np.arange(len(block_trees) - 1), np.diff(block_trees))

    # One step for every word in which a left subtree has leaves.
    n_steps = (middle - 1) // _WORD_LEAVES - first // _WORD_LEAVES + 1
    node = np.repeat(np.arange(len(first)), n_steps)
    nth = np.arange(len(node)) - np.repeat(np.cumsum(n_steps) - n_steps, n_steps)
    word = first[node] // _WORD_LEAVES + nth
    from_bit, to_bit = (np.clip(bound[node] - _WORD_LEAVES * word, 0, _WORD_LEAVES) for bound in (first, middle))
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


@kernel
def load_lanes(X: Features, start: int, n_lanes: int, feature: int, missing_right: bool, values: Features) -> Any:
    """Load one feature of up to sixteen documents and return its maximum.

    A missing value becomes infinity if it goes right, and stays NaN, which is above no threshold, if it goes left.
    """
    highest = np.float32(-np.inf)
    for lane in range(n_lanes):
        value = X[start + lane, feature]
        if missing_right and value != value:
            value = np.float32(np.inf)
        values[lane] = value
        if value > highest:
            highest = value
    for lane in range(n_lanes, LANES):
        values[lane] = -np.inf
    return highest


@kernel
def clear_bits(layout: Layout, block: int, X: Features, start: int, n_lanes: int, values: Features, bits: Any) -> None:
    """Clear the bits of the leaves that up to sixteen documents cannot reach in a block of trees."""
    bits[:] = _ALL_LEAVES
    one = np.uint64(1)
    for number in range(layout.block_lists[block], layout.block_lists[block + 1]):
        feature, missing_right = layout.list_feature[number], layout.list_missing_right[number]
        highest = load_lanes(X, start, n_lanes, feature, missing_right, values)
        step, stop = np.uint64(layout.list_steps[number]), np.uint64(layout.list_steps[number + 1])
        while step < stop and layout.threshold[step] < highest:
            mask_lanes(bits, np.uint64(layout.word[step]), values, layout.threshold[step], layout.mask[step])
            step += one


@kernel
def pair_of_words(bits: Any, pair: Any, lane: Any) -> Any:
    """The bits of 64 leaves for one document."""
    low = pair * np.uint64(2 * LANES) + lane
    return np.uint64(bits[low]) | np.uint64(bits[low + np.uint64(LANES)]) << np.uint64(_WORD_LEAVES)


@kernel
def add_leaves(layout: Layout, tree: int, first_pair: int, n_lanes: int, bits: Any, totals: Floats) -> None:
    """Add the leaf values of one tree to the totals."""
    start = np.uint64(layout.tree_pairs[tree] - first_pair)
    leaves = np.uint64(layout.tree_leaves[tree])
    for lane_number in range(n_lanes):
        lane, pair = np.uint64(lane_number), start
        remaining = pair_of_words(bits, pair, lane)
        while remaining == 0:
            pair += np.uint64(1)
            remaining = pair_of_words(bits, pair, lane)
        leaf = leaves + np.uint64(2 * _WORD_LEAVES) * (pair - start) + lowest_bit(remaining)
        totals[lane] += layout.leaf_value[leaf]


@kernel
def score_documents(
    block_trees: Ints,
    block_lists: Ints,
    list_feature: Ints,
    list_missing_right: Bools,
    list_steps: Ints,
    threshold: Features,
    word: NDArray[np.uint32],
    mask: NDArray[np.uint32],
    tree_pairs: Ints,
    tree_leaves: Ints,
    leaf_value: Floats,
    X: Features,
    start: int,
    stop: int,
    tree_counts: Ints,
    scores: Floats,
    sets: SetLayout | None,
) -> None:
    """Score the documents from start to stop after each of the numbers of trees, which are ascending.

    scores: One row per number of trees. The last row holds the scores to start from, until it is overwritten.
    The layout is passed as separate arrays: Numba takes several microseconds per call to unpack a tuple of arrays.
    Without sets, which are None then, this is compiled without the step for them.
    """
    lists = (list_feature, list_missing_right, list_steps, threshold, word, mask)
    layout = Layout(block_trees, block_lists, *lists, tree_pairs, tree_leaves, leaf_value)
    max_pairs = 0
    for block in range(len(layout.block_trees) - 1):
        pairs = layout.tree_pairs[layout.block_trees[block + 1]] - layout.tree_pairs[layout.block_trees[block]]
        max_pairs = max(max_pairs, pairs)
    bits = np.empty(max_pairs * 2 * LANES, np.uint32)
    values, right = np.empty(LANES, np.float32), np.zeros(LANES, np.uint32)
    totals = np.empty((_CHUNK_DOCUMENTS // LANES, LANES))
    for chunk in range(start, stop, _CHUNK_DOCUMENTS):
        chunk_stop = min(stop, chunk + _CHUNK_DOCUMENTS)
        totals.reshape(-1)[: chunk_stop - chunk] = scores[-1, chunk:chunk_stop]
        if tree_counts[0] == 0:
            scores[0, chunk:chunk_stop] = scores[-1, chunk:chunk_stop]
        for block in range(len(layout.block_trees) - 1):
            first_tree = layout.block_trees[block]
            if first_tree >= tree_counts[-1]:
                break
            for group in range(chunk, chunk_stop, LANES):
                n_lanes = min(LANES, chunk_stop - group)
                total = totals[(group - chunk) // LANES]
                clear_bits(layout, block, X, group, n_lanes, values, bits)
                if sets is not None:
                    clear_set_bits(sets, block, X, group, n_lanes, right, bits)
                stage = np.searchsorted(tree_counts, first_tree + 1)
                for tree in range(first_tree, min(layout.block_trees[block + 1], tree_counts[-1])):
                    add_leaves(layout, tree, layout.tree_pairs[first_tree], n_lanes, bits, total)
                    if tree + 1 == tree_counts[stage]:
                        scores[stage, group : group + n_lanes] = total[:n_lanes]
                        stage += 1
