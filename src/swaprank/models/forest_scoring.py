"""Scores of documents: no walk down the trees, but a walk along the thresholds of every feature [Lucchese2015].

Number the leaves of a tree from left to right and give every document a bit for each. A node that sends the document
right rules out the leaves of its left subtree; when all such nodes have cleared their bits, the lowest one left is the
document's leaf. The order of the nodes does not matter, so those of a block of trees are sorted by feature and
threshold: the ones that send a document right are the beginning of each feature's list, and nothing branches on data
but the end of it. Sixteen documents go along a list together, each in a lane of the vector registers [Lucchese2016].

The bits of 32 leaves are a word, as wide as the values that decide over them. A tree has words in pairs, and a node a
step for every word in which it clears bits; below a hundred leaves or so that is nearly always one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Bools, Features, Floats, Ints
from swaprank.errors import DataError, SwaprankError
from swaprank.kernels import kernel
from swaprank.threads import run_in_threads, thread_count

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

LANES = 16
_WORD_LEAVES = 32
_ALL_LEAVES = np.uint32(2**32 - 1)
_BLOCK_PAIRS = 256
"""Pairs of words in a block of trees: with sixteen lanes 32 KB, which stay in the first-level cache."""

_CHUNK_DOCUMENTS = 256
"""Documents that pass a block of trees before the next block is fetched."""

_LEAST_VISITS = 200_000
"""Documents times trees that are worth a thread: about a millisecond."""


class Layout(NamedTuple):
    """The steps of all nodes, in one list a (block of trees, feature, side of the missing), by rising threshold.

    block_lists[b] -> list_feature, list_missing_right, list_steps[l] -> threshold, word, kept
    block_trees[b] -> tree_pairs, tree_leaves[t] -> leaf_value, from left to right
    """

    block_trees: Ints
    block_lists: Ints
    list_feature: Ints
    list_missing_right: Bools
    list_steps: Ints
    threshold: Features
    word: NDArray[np.uint32]
    """The word, within the block, in which the step clears bits."""
    kept: NDArray[np.uint32]
    """The bits that it leaves."""
    tree_pairs: Ints
    tree_leaves: Ints
    leaf_value: Floats


_layouts: WeakKeyDictionary[Forest, Layout] = WeakKeyDictionary()
"""Beside the forests rather than in them, which stay plain data to pickle; two threads may make the same one twice."""


def score(forest: Forest, X: Features, n_trees: int | None = None, n_threads: int | None = None) -> Floats:
    """The base score and the values of each document's leaves, added tree after tree.

    The result is the same, bit for bit, for any number of threads and however the documents are split into calls.

    Args:
        forest: The trees.
        X: float32, C-contiguous, documents x features; NaN means missing.
        n_trees: Take the first trees only.
        n_threads: All cores if not given; small batches stay in one thread.

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
    return _scores(forest, X, np.array([n_trees]), n_trees, n_threads).reshape(-1)


def staged_scores(
    forest: Forest, X: Features, tree_counts: Sequence[int] | Ints, n_threads: int | None = None
) -> Floats:
    """The scores after each of some rising numbers of trees, one row a stage, in one pass.

    >>> import numpy as np
    >>> from swaprank.models.forest import join_forests, single_leaf
    >>> from swaprank.models.forest_scoring import staged_scores
    >>> forest = join_forests(single_leaf(0.5, 3, 10), single_leaf(-0.25, 3, 10))
    >>> staged_scores(forest, np.zeros((1, 3), np.float32), [0, 1, 2]).tolist()
    [[0.0], [0.5], [0.25]]
    """
    counts = np.asarray(tree_counts, np.int64)
    if len(counts) == 0 or counts[0] < 0 or counts[-1] > forest.n_trees or (counts[1:] <= counts[:-1]).any():
        raise SwaprankError(f"numbers of trees must rise from 0 to at most {forest.n_trees}, found {counts.tolist()}.")
    return _scores(forest, X, counts, int(counts[-1]), n_threads)


def _scores(forest: Forest, X: Features, tree_counts: Ints, n_trees: int, n_threads: int | None) -> Floats:
    if X.ndim != 2 or X.shape[1] != forest.n_features:
        raise DataError(f"the trees have {forest.n_features} features, but X has the shape {X.shape}.")
    layout = _layouts.get(forest)
    if layout is None:
        layout = _layouts[forest] = make_layout(forest)
    scores = np.empty((len(tree_counts), len(X)))
    n_jobs = max(1, min(thread_count(n_threads), len(X) * n_trees // _LEAST_VISITS))
    cuts = [len(X) * job // n_jobs for job in range(n_jobs + 1)]
    jobs = [
        (*layout, X, a, b, forest.base_score, tree_counts, scores) for a, b in zip(cuts[:-1], cuts[1:], strict=True)
    ]
    run_in_threads(score_documents, jobs)
    return scores


def make_layout(forest: Forest) -> Layout:
    """Sort a forest's nodes for scoring."""
    first, middle = np.zeros((2, len(forest.feature)), np.int64)
    place = np.zeros(len(forest.leaf_value), np.int64)
    left_to_right(forest.tree_nodes, forest.tree_leaves, forest.left, forest.right, first, middle, place)
    leaf_value = np.empty(len(place))
    leaf_value[place] = forest.leaf_value

    n_trees = forest.n_trees
    n_pairs = -(-np.diff(forest.tree_leaves) // (2 * _WORD_LEAVES))
    tree_pairs = np.concatenate(([0], np.cumsum(n_pairs)))
    block_trees = np.concatenate(([0], np.flatnonzero(np.diff(tree_pairs[:-1] // _BLOCK_PAIRS)) + 1, [n_trees]))
    tree_block = np.repeat(np.arange(len(block_trees) - 1), np.diff(block_trees))

    # One step for every word that a left subtree has leaves in.
    n_steps = (middle - 1) // _WORD_LEAVES - first // _WORD_LEAVES + 1
    node = np.repeat(np.arange(len(first)), n_steps)
    nth = np.arange(len(node)) - np.repeat(np.cumsum(n_steps) - n_steps, n_steps)
    word = first[node] // _WORD_LEAVES + nth
    from_bit, to_bit = (np.clip(bound[node] - _WORD_LEAVES * word, 0, _WORD_LEAVES) for bound in (first, middle))
    kept = ~((1 << to_bit) - (1 << from_bit)).astype(np.uint32)
    tree = np.repeat(np.arange(n_trees), np.diff(forest.tree_nodes))[node]
    block = tree_block[tree]
    word += 2 * (tree_pairs[tree] - tree_pairs[block_trees[block]])

    threshold, missing_right = forest.threshold[node], ~forest.missing_left[node]
    order = np.lexsort((threshold, missing_right, forest.feature[node], block))
    keys = np.stack((block, forest.feature[node], missing_right))[:, order]
    begins = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(order)])
    return Layout(
        block_trees=block_trees,
        block_lists=np.searchsorted(keys[0, begins], np.arange(len(block_trees))),
        list_feature=keys[1, begins],
        list_missing_right=keys[2, begins].astype(np.bool_),
        list_steps=np.append(begins, len(order)),
        threshold=threshold[order],
        word=word[order].astype(np.uint32),
        kept=kept[order],
        tree_pairs=tree_pairs,
        tree_leaves=np.array(forest.tree_leaves),
        leaf_value=leaf_value,
    )


@kernel
def left_to_right(
    tree_nodes: Ints, tree_leaves: Ints, left: AnyArray, right: AnyArray, first: Ints, middle: Ints, place: Ints
) -> None:
    """Number every tree's leaves from left to right; a node's left subtree has the leaves from first to middle.

    Children come after their parents: sizes are summed from the last node up, and numbers handed down again.
    """
    size = middle
    for tree in range(len(tree_nodes) - 1):
        nodes, leaves = tree_nodes[tree], tree_leaves[tree]
        for node in range(tree_nodes[tree + 1] - 1, nodes - 1, -1):
            a, b = left[node], right[node]
            size[node] = (size[nodes + a] if a >= 0 else 1) + (size[nodes + b] if b >= 0 else 1)
        if tree_nodes[tree + 1] == nodes:
            place[leaves] = leaves
        else:
            first[nodes] = 0
        for node in range(nodes, tree_nodes[tree + 1]):
            a, b = left[node], right[node]
            # From here on nobody asks for this node's size.
            middle[node] = first[node] + (size[nodes + a] if a >= 0 else 1)
            if a >= 0:
                first[nodes + a] = first[node]
            else:
                place[leaves + ~a] = leaves + first[node]
            if b >= 0:
                first[nodes + b] = middle[node]
            else:
                place[leaves + ~b] = leaves + middle[node]


@intrinsic
def _rule_out(typingctx: Any, bits: Any, word: Any, values: Any, threshold: Any, kept: Any) -> Any:
    """In every lane whose value is above the threshold, keep only these bits: vectors that LLVM does not find alone."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        int32 = ir.IntType(32)
        bits_type, values_type = ir.VectorType(int32, LANES), ir.VectorType(ir.FloatType(), LANES)

        def element(argument: int, index: Any, vector: Any) -> Any:
            array = context.make_array(signature.args[argument])(context, builder, arguments[argument])
            return builder.bitcast(builder.gep(array.data, [index]), vector.as_pointer())

        def in_all_lanes(value: Any, vector: Any) -> Any:
            nothing = ir.Constant(vector, ir.Undefined)
            one = builder.insert_element(nothing, value, int32(0))
            return builder.shuffle_vector(one, nothing, ir.Constant(bits_type, [0] * LANES))

        lanes = builder.mul(arguments[1], ir.IntType(64)(LANES))
        before = builder.load(element(0, lanes, bits_type), align=4)
        x = builder.load(element(2, ir.IntType(64)(0), values_type), align=4)
        above = builder.fcmp_ordered(">", x, in_all_lanes(arguments[3], values_type))
        after = builder.and_(before, in_all_lanes(arguments[4], bits_type))
        builder.store(builder.select(above, after, before), element(0, lanes, bits_type), align=4)
        return context.get_dummy_value()

    return types.void(bits, types.uint64, values, types.float32, types.uint32), generate


@intrinsic
def _lowest_bit(typingctx: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), generate


rule_out: Callable[[AnyArray, Any, Features, Any, Any], None] = _rule_out  # type: ignore[assignment]
lowest_bit: Callable[[Any], Any] = _lowest_bit  # type: ignore[assignment]


@kernel
def load_lanes(X: Features, start: int, n_lanes: int, feature: int, missing_right: bool, values: Features) -> Any:
    """One feature of up to sixteen documents, and its maximum; a missing value goes right as infinity, left as NaN."""
    top = np.float32(-np.inf)
    for lane in range(n_lanes):
        value = X[start + lane, feature]
        if missing_right and value != value:
            value = np.float32(np.inf)
        values[lane] = value
        if value > top:
            top = value
    for lane in range(n_lanes, LANES):
        values[lane] = -np.inf
    return top


@kernel
def clear_bits(layout: Layout, block: int, X: Features, start: int, n_lanes: int, values: Features, bits: Any) -> None:
    """Rule out leaves of a block of trees for up to sixteen documents."""
    bits[:] = _ALL_LEAVES
    one = np.uint64(1)
    for a_list in range(layout.block_lists[block], layout.block_lists[block + 1]):
        feature, missing_right = layout.list_feature[a_list], layout.list_missing_right[a_list]
        top = load_lanes(X, start, n_lanes, feature, missing_right, values)
        step, stop = np.uint64(layout.list_steps[a_list]), np.uint64(layout.list_steps[a_list + 1])
        while step < stop and layout.threshold[step] < top:
            rule_out(bits, np.uint64(layout.word[step]), values, layout.threshold[step], layout.kept[step])
            step += one


@kernel
def pair_of_words(bits: Any, pair: Any, lane: Any) -> Any:
    """The bits of 64 leaves of one document."""
    low = pair * np.uint64(2 * LANES) + lane
    return np.uint64(bits[low]) | np.uint64(bits[low + np.uint64(LANES)]) << np.uint64(_WORD_LEAVES)


@kernel
def add_leaves(layout: Layout, tree: int, first_pair: int, n_lanes: int, bits: Any, totals: Floats) -> None:
    """Add the leaf values of one tree."""
    start = np.uint64(layout.tree_pairs[tree] - first_pair)
    leaves = np.uint64(layout.tree_leaves[tree])
    for lane_number in range(n_lanes):
        lane, pair = np.uint64(lane_number), start
        left = pair_of_words(bits, pair, lane)
        while left == 0:
            pair += np.uint64(1)
            left = pair_of_words(bits, pair, lane)
        leaf = leaves + np.uint64(2 * _WORD_LEAVES) * (pair - start) + lowest_bit(left)
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
    kept: NDArray[np.uint32],
    tree_pairs: Ints,
    tree_leaves: Ints,
    leaf_value: Floats,
    X: Features,
    start: int,
    stop: int,
    base_score: float,
    tree_counts: Ints,
    scores: Floats,
) -> None:
    """Score the documents from start to stop after each of the numbers of trees, which rise.

    The layout comes in pieces: Numba takes several microseconds to look into a tuple of arrays at every call.
    """
    lists = (list_feature, list_missing_right, list_steps, threshold, word, kept)
    layout = Layout(block_trees, block_lists, *lists, tree_pairs, tree_leaves, leaf_value)
    most_pairs = 0
    for block in range(len(layout.block_trees) - 1):
        pairs = layout.tree_pairs[layout.block_trees[block + 1]] - layout.tree_pairs[layout.block_trees[block]]
        most_pairs = max(most_pairs, pairs)
    bits = np.empty(most_pairs * 2 * LANES, np.uint32)
    values = np.empty(LANES, np.float32)
    totals = np.empty((_CHUNK_DOCUMENTS // LANES, LANES))
    for chunk in range(start, stop, _CHUNK_DOCUMENTS):
        totals[:] = base_score
        chunk_stop = min(stop, chunk + _CHUNK_DOCUMENTS)
        if tree_counts[0] == 0:
            scores[0, chunk:chunk_stop] = base_score
        for block in range(len(layout.block_trees) - 1):
            first_tree = layout.block_trees[block]
            if first_tree >= tree_counts[-1]:
                break
            for group in range(chunk, chunk_stop, LANES):
                n_lanes = min(LANES, chunk_stop - group)
                total = totals[(group - chunk) // LANES]
                clear_bits(layout, block, X, group, n_lanes, values, bits)
                stage = np.searchsorted(tree_counts, first_tree + 1)
                for tree in range(first_tree, min(layout.block_trees[block + 1], tree_counts[-1])):
                    add_leaves(layout, tree, layout.tree_pairs[first_tree], n_lanes, bits, total)
                    if tree + 1 == tree_counts[stage]:
                        scores[stage, group : group + n_lanes] = total[:n_lanes]
                        stage += 1
