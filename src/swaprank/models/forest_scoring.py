"""Score documents with a forest by visiting the nodes sorted by feature, not the trees [Lucchese2015, Ye2018].

Number the leaves of a tree from left to right and give every document one bit per leaf. A node that sends the document
right clears the bits of its left subtree. After all such nodes, the lowest bit still set is the document's leaf. The
order of the nodes does not matter, so the nodes of a block of trees are sorted by feature and threshold, and there is
no branch on data. Sixty-four documents visit a node together, one per lane of the vector registers: the values of their
features are codes of one byte (`threshold_codes`). Nodes with a set of categories have codes, too (`forest_layout`).

The bits of eight leaves form a byte, and a node has one step for every byte in which it clears bits: 1.4 on average for
trees of 64 leaves. Trees that ask few questions, such as symmetric ones, are scored by tables (`answer_tables`), and
few documents walk down the trees (`tree_walk`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from swaprank.arrays import Features, Floats, Ints, read_only
from swaprank.errors import THE_DATA, DataError, SwaprankError
from swaprank.kernels import inlined_kernel, kernel
from swaprank.models.answer_tables import answer_tables, score_by_answers
from swaprank.models.forest_layout import BYTE_LEAVES, GROUP_ROWS, ForestLayout, SetTables, make_layout
from swaprank.models.leaf_bits import LANES, LEAF_BYTES, clear_above, clear_marked, first_leaves
from swaprank.models.threshold_codes import Rulers, add_leaves, encode
from swaprank.models.tree_walk import PackedForest, pack, walk_trees
from swaprank.models.value_limits import UNLIMITED, first_outside
from swaprank.threads import row_chunks, run_in_threads, thread_count

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

_ALL_LEAVES = np.uint8(255)
FEW_DOCUMENTS, FEW_FOR_TABLES = 10, 4
"""Up to so many documents walk down the trees one by one: `tree_walk`. Tables of answers are faster from fewer on."""
_MIN_VISITS_PER_THREAD = 200_000
"""A thread is started for at least this many documents x trees: about a millisecond."""


class _Layout(NamedTuple):
    """How a forest scores many documents: a kernel and its first arguments; and few documents."""

    kernel: Callable[..., None]
    arrays: tuple[Any, ...]
    few: int
    packed: PackedForest


_layouts: WeakKeyDictionary[Forest, _Layout] = WeakKeyDictionary()
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
    _check_shape(forest, X)
    layout = _layout_of(forest)
    if len(X) > layout.few:
        return _scores(forest, X, np.array([forest.n_trees]), n_threads, None).reshape(-1)
    scores = np.empty(len(X))
    walk_trees(*layout.packed, UNLIMITED, read_only(X) if X.flags.writeable else X, scores)
    return scores


def prepared(forest: Forest, limits: Features) -> Callable[[Features, Floats], int]:
    """A function that writes the scores of documents to an array, on this thread: see `Model.prepared`.

    >>> import numpy as np
    >>> from swaprank.arrays import read_only
    >>> from swaprank.models.forest import single_leaf
    >>> from swaprank.models.forest_scoring import prepared
    >>> from swaprank.models.value_limits import UNLIMITED
    >>> X, scores = read_only(np.zeros((2, 3), np.float32)), np.empty(2)
    >>> prepared(single_leaf(0.5, n_features=3, n_documents=10), UNLIMITED)(X, scores)
    -1
    >>> scores
    array([0.5, 0.5])
    """
    layout, counts = _layout_of(forest), np.array([forest.n_trees])
    few, (memory, words), base_score = layout.few, layout.packed, forest.base_score

    def score(X: Features, scores: Floats) -> int:
        if len(X) <= few:
            return walk_trees(memory, words, limits, X, scores)
        outside = first_outside(X, limits)
        if outside < 0:
            scores[:] = base_score
            layout.kernel(*layout.arrays, X, 0, len(X), counts, scores.reshape(1, -1))
        return outside

    return score


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
    _check_shape(forest, X)
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


def _layout_of(forest: Forest) -> _Layout:
    found = _layouts.get(forest)
    if found is None:
        tables, packed = answer_tables(forest), pack(forest)
        if tables is not None:
            rulers, answers = tables
            found = _Layout(score_by_answers, (*rulers, *answers, rulers.n_rows), FEW_FOR_TABLES, packed)
        else:
            rulers, steps, sets = make_layout(forest)
            n_rows = rulers.n_rows if sets is None else sets.first_row + GROUP_ROWS * len(sets.group_feature)
            found = _Layout(score_documents, (*rulers, *steps, n_rows, sets), FEW_DOCUMENTS, packed)
        _layouts[forest] = found
    return found


def _scores(forest: Forest, X: Features, tree_counts: Ints, n_threads: int | None, start: Floats | None) -> Floats:
    layout = _layout_of(forest)
    scores = np.empty((len(tree_counts), len(X)))
    scores[-1] = forest.base_score if start is None else start
    visits = len(X) * int(tree_counts[-1])
    chunks = row_chunks(len(X), min(thread_count(n_threads), visits // _MIN_VISITS_PER_THREAD))
    common = (*layout.arrays, read_only(X))
    run_in_threads(layout.kernel, [(*common, a, b, tree_counts, scores) for a, b in chunks])
    return scores


@inlined_kernel
def encode_categories(sets: SetTables, X: Features, start: Any, n_lanes: Any, codes: Any) -> None:
    """Write the codes of up to `LANES` documents for the nodes with a set: a bit is set where they go right."""
    for group in range(len(sets.group_feature)):
        feature, first = sets.group_feature[group], sets.group_rows[group]
        n_categories = np.float32(sets.group_rows[group + 1] - first - 1)
        place = np.uint64(sets.first_row + GROUP_ROWS * group) * np.uint64(LANES)
        for lane in range(n_lanes):
            x = X[start + lane, feature]
            row = np.int64(x) + 1 if (x >= 0) & (x < n_categories) else 0
            word = sets.goes_right[first + row]
            for byte in range(GROUP_ROWS):
                codes[place + np.uint64(byte * LANES) + lane] = np.int8(word >> np.uint32(8 * byte))


@inlined_kernel
def clear_bits(layout: ForestLayout, block: int, codes: Any, bits: Any, sets: Any) -> None:
    """Clear the bits of the leaves that the documents cannot reach in a block of trees."""
    bits[:] = _ALL_LEAVES
    for number in range(layout.block_lists[2 * block], layout.block_lists[2 * block + 1]):
        first, last = layout.list_steps[number], layout.list_steps[number + 1]
        clear_above(bits, codes, layout.list_row[number] * LANES, layout.limit, layout.place, layout.mask, first, last)
    if sets is not None:
        for number in range(layout.block_lists[2 * block + 1], layout.block_lists[2 * block + 2]):
            first, last = layout.list_steps[number], layout.list_steps[number + 1]
            row = layout.list_row[number] * LANES
            clear_marked(bits, codes, row, layout.limit, layout.place, layout.mask, first, last)


@inlined_kernel
def find_leaf(bits: Any, start: Any, lane: Any) -> Any:
    """The lowest bit that is still set in a tree's bytes, however many there are."""
    at, leaf = start + np.uint64(lane), np.uint64(0)
    while bits[at] == 0:
        at += np.uint64(LANES)
        leaf += np.uint64(BYTE_LEAVES)
    byte = bits[at]
    while byte & np.uint8(1) == 0:
        byte >>= np.uint8(1)
        leaf += np.uint64(1)
    return leaf


@kernel
def score_documents(
    ruler_feature: Ints, ruler_marks: Ints, ruler_rows: Ints, marks: Features, block_trees: Ints, block_lists: Ints,
    list_row: Ints, list_steps: Ints, limit: Any, place: Any, mask: Any, tree_bytes: Ints, tree_leaves: Ints,
    leaf_value: Floats, n_rows: int, sets: SetTables | None, X: Features, start: int, stop: int, tree_counts: Ints,
    scores: Floats,
) -> None:  # fmt: skip
    """Score the documents from start to stop after each of the numbers of trees, which are ascending.

    scores: One row per number of trees. The last row holds the scores to start from, until it is overwritten.
    The layout is passed as separate arrays: Numba takes several microseconds per call to unpack a tuple of arrays.
    Without sets, which are None then, this is compiled without the step for them.
    """
    rulers = Rulers(ruler_feature, ruler_marks, ruler_rows, marks)
    steps = (list_row, list_steps, limit, place, mask)
    layout = ForestLayout(block_trees, block_lists, *steps, tree_bytes, tree_leaves, leaf_value)
    n_bytes = 0
    for block in range(len(block_trees) - 1):
        n_bytes = max(n_bytes, tree_bytes[block_trees[block + 1]] - tree_bytes[block_trees[block]])
    bits, codes = np.empty(n_bytes * LANES, np.uint8), np.zeros(n_rows * LANES, np.int8)
    leaves, totals, values = np.empty(LANES, np.uint8), np.empty(LANES), np.zeros(LANES, np.float32)
    for group in range(start, stop, LANES):
        n_lanes = min(LANES, stop - group)
        totals[:n_lanes] = scores[-1, group : group + n_lanes]
        if tree_counts[0] == 0:
            scores[0, group : group + n_lanes] = totals[:n_lanes]
        encode(rulers, X, np.uint64(group), np.uint64(n_lanes), values, codes)
        if sets is not None:
            encode_categories(sets, X, np.uint64(group), np.uint64(n_lanes), codes)
        stage = np.searchsorted(tree_counts, 1)
        for block in range(len(block_trees) - 1):
            first_tree = block_trees[block]
            if first_tree >= tree_counts[-1]:
                break
            clear_bits(layout, block, codes, bits, sets)
            for tree in range(first_tree, min(block_trees[block + 1], tree_counts[-1])):
                first_byte = np.uint64(tree_bytes[tree] - tree_bytes[first_tree]) * np.uint64(LANES)
                n_tree_bytes = tree_bytes[tree + 1] - tree_bytes[tree]
                if n_tree_bytes <= LEAF_BYTES:
                    first_leaves(bits, first_byte, n_tree_bytes, leaves)
                    add_leaves(leaf_value, tree_leaves[tree], leaves, n_lanes, totals)
                else:
                    for lane in range(n_lanes):
                        totals[lane] += leaf_value[tree_leaves[tree] + find_leaf(bits, first_byte, lane)]
                if tree + 1 == tree_counts[stage]:
                    scores[stage, group : group + n_lanes] = totals[:n_lanes]
                    stage += 1
