"""Score documents with a forest by walking the sorted thresholds of every feature, not the trees [Lucchese2015].

Number the leaves of a tree from left to right and give every document one bit per leaf. A node that sends the document
right clears the bits of its left subtree. After all such nodes, the lowest bit still set is the document's leaf. The
order of the nodes does not matter, so the nodes of a block of trees are sorted by feature and threshold: the nodes that
send a document right are then a prefix of each feature's list, and the only branch on data is the end of that prefix.
Thirty-two documents walk a list together, one per lane of the vector registers [Lucchese2016]. Nodes with a set of
categories have no order: their bits are cleared by a table of the categories (`forest_layout`).

The bits of 32 leaves form a word, as wide as a float32 feature value. A tree has an even number of words, and a node
has one step for every word in which it clears bits. For trees below about a hundred leaves this is nearly always one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import Bools, Features, Floats, Ints, read_only
from swaprank.errors import THE_DATA, DataError, SwaprankError
from swaprank.kernels import inlined_kernel, kernel
from swaprank.models.forest_layout import WORD_LEAVES, ForestLayout, SetLayout, make_layout
from swaprank.models.leaf_bits import LANES, lowest_bit, mask_lanes
from swaprank.models.tree_walk import PackedForest, pack, walk_trees
from swaprank.threads import row_chunks, run_in_threads, thread_count

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

_ALL_LEAVES = np.uint32(2**32 - 1)
_FEW_DOCUMENTS = 8
"""Up to so many documents walk down the trees one by one: `tree_walk`."""
_CHUNK_DOCUMENTS = 256
"""Documents scored by a block of trees before the next block is loaded."""

_MIN_VISITS_PER_THREAD = 200_000
"""A thread is started for at least this many documents x trees: about a millisecond."""

_layouts: WeakKeyDictionary[Forest, tuple[ForestLayout, SetLayout | None, PackedForest]] = WeakKeyDictionary()
"""Kept outside the forests, which stay plain data to pickle. Two threads may make the same layout twice."""


def score(forest: Forest, X: Features, n_threads: int | None = None) -> Floats:
    """The base score plus the values of the document's leaves, summed in the order of the trees.

    The result is the same, bit for bit, for any number of threads and any batch size.

    Args:
        forest: The trees.
        X: float32, C-contiguous, documents x features; NaN is a missing value.
        n_threads: If None, all cores. Small batches use one thread.

    >>> import numpy as np
    >>> from swaprank.models.forest import single_leaf
    >>> from swaprank.models.forest_scoring import score
    >>> score(single_leaf(0.5, n_features=3, n_documents=10), np.zeros((2, 3), np.float32))
    array([0.5, 0.5])
    """
    if len(X) > _FEW_DOCUMENTS:
        return _scores(forest, X, np.array([forest.n_trees]), n_threads, None).reshape(-1)
    _check_shape(forest, X)
    scores = np.empty(len(X))
    score_into(forest, read_only(X), scores)
    return scores


def score_into(forest: Forest, X: Features, scores: Floats) -> None:
    """Write the scores of documents to an array, on this thread.

    >>> import numpy as np
    >>> from swaprank.models.forest import single_leaf
    >>> from swaprank.models.forest_scoring import score_into
    >>> scores = np.empty(2)
    >>> score_into(single_leaf(0.5, n_features=3, n_documents=10), np.zeros((2, 3), np.float32), scores)
    >>> scores
    array([0.5, 0.5])
    """
    layout, sets, packed = _layouts_of(forest)
    if len(X) <= _FEW_DOCUMENTS:
        walk_trees(*packed, forest.base_score, X, scores)
    else:
        scores[:] = forest.base_score
        score_documents(*layout, X, 0, len(X), np.array([forest.n_trees]), scores.reshape(1, -1), sets)


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


def _check_shape(forest: Forest, X: Features) -> None:
    if X.ndim != 2 or X.shape[1] != forest.n_features:
        raise DataError(f"the trees have {forest.n_features} features, but ", THE_DATA, f" has the shape {X.shape}.")


def _layouts_of(forest: Forest) -> tuple[ForestLayout, SetLayout | None, PackedForest]:
    found = _layouts.get(forest)
    if found is None:
        found = _layouts[forest] = (*make_layout(forest), pack(forest))
    return found


def _scores(forest: Forest, X: Features, tree_counts: Ints, n_threads: int | None, start: Floats | None) -> Floats:
    _check_shape(forest, X)
    layout, sets, _ = _layouts_of(forest)
    scores = np.empty((len(tree_counts), len(X)))
    scores[-1] = forest.base_score if start is None else start
    visits = len(X) * int(tree_counts[-1])
    chunks = row_chunks(len(X), min(thread_count(n_threads), visits // _MIN_VISITS_PER_THREAD))
    common = (*layout, read_only(X))
    run_in_threads(score_documents, [(*common, a, b, tree_counts, scores, sets) for a, b in chunks])
    return scores


@inlined_kernel
def load_lanes(X: Features, start: int, n_lanes: int, feature: int, missing_right: bool, values: Features) -> Any:
    """Load one feature of up to thirty-two documents and return its maximum.

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


@inlined_kernel
def clear_bits(
    layout: ForestLayout, block: int, X: Features, start: int, n_lanes: int, values: Features, bits: Any
) -> None:
    """Clear the bits of the leaves that up to thirty-two documents cannot reach in a block of trees."""
    bits[:] = _ALL_LEAVES
    for number in range(layout.block_lists[block], layout.block_lists[block + 1]):
        feature, missing_right = layout.list_feature[number], layout.list_missing_right[number]
        highest = load_lanes(X, start, n_lanes, feature, missing_right, values)
        first, last = layout.list_steps[number], layout.list_steps[number + 1]
        while last > first and layout.threshold[last - 1] >= highest:
            last -= 1
        mask_lanes(bits, values, layout.threshold, layout.word, layout.mask, first, last)


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


@inlined_kernel
def pair_of_words(bits: Any, pair: Any, lane: Any) -> Any:
    """The bits of 64 leaves for one document."""
    low = pair * np.uint64(2 * LANES) + lane
    return np.uint64(bits[low]) | np.uint64(bits[low + np.uint64(LANES)]) << np.uint64(WORD_LEAVES)


@inlined_kernel
def add_leaves(layout: ForestLayout, tree: int, first_pair: int, n_lanes: int, bits: Any, totals: Floats) -> None:
    """Add the leaf values of one tree to the totals."""
    start = np.uint64(layout.tree_pairs[tree] - first_pair)
    leaves = np.uint64(layout.tree_leaves[tree])
    for lane_number in range(n_lanes):
        lane, pair = np.uint64(lane_number), start
        remaining = pair_of_words(bits, pair, lane)
        while remaining == 0:
            pair += np.uint64(1)
            remaining = pair_of_words(bits, pair, lane)
        leaf = leaves + np.uint64(2 * WORD_LEAVES) * (pair - start) + lowest_bit(remaining)
        totals[lane] += layout.leaf_value[leaf]


@kernel
def score_documents(
    block_trees: Ints, block_lists: Ints, list_feature: Ints, list_missing_right: Bools, list_steps: Ints,
    threshold: Features, word: NDArray[np.uint32], mask: NDArray[np.uint32], tree_pairs: Ints, tree_leaves: Ints,
    leaf_value: Floats, X: Features, start: int, stop: int, tree_counts: Ints, scores: Floats, sets: SetLayout | None,
) -> None:  # fmt: skip
    """Score the documents from start to stop after each of the numbers of trees, which are ascending.

    scores: One row per number of trees. The last row holds the scores to start from, until it is overwritten.
    The layout is passed as separate arrays: Numba takes several microseconds per call to unpack a tuple of arrays.
    Without sets, which are None then, this is compiled without the step for them.
    """
    lists = (list_feature, list_missing_right, list_steps, threshold, word, mask)
    layout = ForestLayout(block_trees, block_lists, *lists, tree_pairs, tree_leaves, leaf_value)
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
