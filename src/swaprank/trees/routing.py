"""Route documents down a new tree: the training documents to fit its leaf values, other documents to score them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.kernels import kernel
from swaprank.models.binned_scoring import tree_leaves
from swaprank.models.forest import Forest
from swaprank.models.tree_walk import COMMON_DEPTH, TILE, append_leaves
from swaprank.threads import run_strided
from swaprank.trees.constraints import bounded_values
from swaprank.trees.document_sampling import CHUNK
from swaprank.trees.histogram import BLOCK
from swaprank.trees.set_splitting import number_in_set
from swaprank.trees.tree import Tree


def fit_leaves(
    blocks: Bytes,
    n_columns: Ints,
    tree: Tree,
    n_leaves: int,
    grad: Floats,
    hess: Floats,
    taken: AnyArray,
    l2: float,
    learning_rate: float,
    monotone: Ints,
    n_threads: int,
    leaf_of: AnyArray,
    scores: Floats,
) -> tuple[Floats, Ints]:
    """Fit the leaf values and add them to the scores: Newton steps -G / (H + l2) [Burges2010, section 7].

    G and H are sums of the exact gradients of the documents with `taken` > 0. `monotone` has the direction of each
    column, or nothing. Returns the values and the number of
    documents per leaf.
    """
    starts = range(0, len(grad), CHUNK)
    sums = np.zeros((len(starts), n_leaves, 3))
    nodes, bins = make_binned_nodes(tree, n_leaves, len(grad)), blocks.reshape(-1)
    if (tree.bin[: n_leaves - 1] > 0).all():
        run_strided(
            lambda c: route_rows(bins, nodes, grad, hess, taken, starts[c], leaf_of, sums[c]), len(starts), n_threads
        )
    else:
        sets, widths = left_sets(tree, n_leaves), n_columns[tree.feature[: n_leaves - 1]]
        run_strided(
            lambda c: route_rows_by_sets(bins, nodes, sets, widths, grad, hess, taken, starts[c], leaf_of, sums[c]),
            len(starts),
            n_threads,
        )
    values, hessians, counts = newton_steps(sums, l2, learning_rate)
    if len(monotone):
        nodes_of = slice(0, n_leaves - 1)
        left, right, direction = tree.left[nodes_of], tree.right[nodes_of], monotone[tree.feature[nodes_of]]
        values = bounded_values(left, right, direction, values, hessians)
    add_leaf_values(leaf_of, values, n_threads, scores)
    return values, counts


def newton_steps(sums: Floats, l2: float, learning_rate: float) -> tuple[Floats, Floats, Ints]:
    """Leaf values, hessians and the number of documents per leaf, from the sums of `route_rows` for each chunk."""
    # Chunks are summed in order: the same sums for any number of threads.
    gradient, hessian, count = sums.sum(axis=0).T
    curved = hessian + l2 > 0
    values = np.where(curved, -learning_rate * gradient / np.where(curved, hessian + l2, 1.0), 0.0)
    return values, hessian, count.astype(np.int64)


def add_tree_scores(tree: Forest, data: Dataset, n_threads: int, scores: Floats) -> None:
    """Add the leaf values of a forest of one tree to the scores of other documents than those of training."""
    add_leaf_values(tree_leaves(tree, data, n_threads), tree.leaf_value, n_threads, scores)


def add_leaf_values(leaf_of: AnyArray, values: Floats, n_threads: int, scores: Floats) -> None:
    """Add each document's leaf value to its score."""
    starts = range(0, len(scores), CHUNK)
    run_strided(lambda c: add_chunk_values(leaf_of, values, starts[c], scores), len(starts), n_threads)


class BinnedNodes(NamedTuple):
    """A tree for routing binned documents: one entry per node, then one per leaf, as `append_leaves` numbers them."""

    n_nodes: int
    depth: int
    """Steps to the deepest leaf."""
    offset: AnyArray
    """Index of row 0's bin of the node's feature in the flat array of bins; row r's bin is 16 r further."""
    lowest: AnyArray
    width: AnyArray
    """A document goes left if its bin is from `lowest` to `lowest + width`."""
    left: AnyArray
    right: AnyArray


def make_binned_nodes(tree: Tree, n_leaves: int, n_rows: int) -> BinnedNodes:
    """Lay out the first `n_leaves` leaves of a tree and their nodes."""
    n_nodes = n_leaves - 1
    left, right, depth = append_leaves(tree.left[:n_nodes], tree.right[:n_nodes])
    offset, lowest, width = (np.zeros(n_nodes + n_leaves, np.int64) for _ in range(3))
    feature = tree.feature[:n_nodes].astype(np.int64)
    offset[:n_nodes] = feature // BLOCK * n_rows * BLOCK + feature % BLOCK
    # Missing values have bin 0, which is below every cut; a lower bound of 1 sends them right.
    lowest[:n_nodes] = np.where(tree.missing_left[:n_nodes], 0, 1)
    width[:n_nodes] = tree.bin[:n_nodes] - lowest[:n_nodes]
    return BinnedNodes(
        n_nodes, depth, offset.astype(np.uint64), lowest.astype(np.uint32), width.astype(np.uint32), left, right
    )


@kernel
def route_rows(
    bins: Bytes,
    nodes: BinnedNodes,
    grad: Floats,
    hess: Floats,
    taken: AnyArray,
    start: int,
    leaf_of: AnyArray,
    sums: Floats,
) -> None:
    """Find the leaves of one chunk's documents, and add the gradients of the documents taken to them.

    sums: Gradient, hessian and number of documents per leaf. Documents go down in tiles, as in `tree_walk`.
    """
    offset, lowest, width, left, right = nodes.offset, nodes.lowest, nodes.width, nodes.left, nodes.right
    stride, n_nodes, node = np.uint64(BLOCK), np.uint32(nodes.n_nodes), np.zeros(TILE, np.uint32)
    stop = np.uint64(min(start + CHUNK, len(grad)))
    for first in range(np.uint64(start), stop, np.uint64(TILE)):
        size = min(np.uint64(TILE), stop - first)
        node[:] = np.uint32(0)
        for _ in range(min(nodes.depth, COMMON_DEPTH)):
            for k in range(size):
                at = node[k]
                found = np.uint32(bins[offset[at] + (first + k) * stride])
                node[k] = right[at] if np.uint32(found - lowest[at]) > width[at] else left[at]
        for k in range(size):
            row, at = first + k, node[k]
            while at < n_nodes:
                found = np.uint32(bins[offset[at] + row * stride])
                at = right[at] if np.uint32(found - lowest[at]) > width[at] else left[at]
            leaf = np.uint64(at - n_nodes)
            leaf_of[row] = leaf
            sums[leaf, 2] += 1.0
            if taken[row]:
                sums[leaf, 0] += grad[row]
                sums[leaf, 1] += hess[row]


def left_sets(tree: Tree, n_leaves: int) -> Bytes:
    """(n_nodes, set_size): 1 for what goes left at each of the first nodes, also where this is a range of bins."""
    nodes = slice(0, n_leaves - 1)
    cut, missing_left = tree.bin[nodes, None], tree.missing_left[nodes, None]
    numbers = np.arange(tree.sets.shape[1])
    in_range = (numbers <= cut) & (missing_left | (numbers > 0))
    return np.where(cut > 0, in_range, tree.sets[nodes] > 0).astype(np.uint8)


@kernel
def route_rows_by_sets(
    bins: Bytes,
    nodes: BinnedNodes,
    sets: Bytes,
    n_columns: Ints,
    grad: Floats,
    hess: Floats,
    taken: AnyArray,
    start: int,
    leaf_of: AnyArray,
    sums: Floats,
) -> None:
    """The same as `route_rows` for trees with sets of bins."""
    offset, left, right = nodes.offset, nodes.left, nodes.right
    stride, n_nodes = np.uint64(BLOCK), np.uint32(nodes.n_nodes)
    for row in range(np.uint64(start), np.uint64(min(start + CHUNK, len(grad)))):
        at = np.uint32(0)
        while at < n_nodes:
            number = number_in_set(bins, int(offset[at] + row * stride), n_columns[at])
            at = left[at] if sets[at, number] else right[at]
        leaf = np.uint64(at - n_nodes)
        leaf_of[row] = leaf
        sums[leaf, 2] += 1.0
        if taken[row]:
            sums[leaf, 0] += grad[row]
            sums[leaf, 1] += hess[row]


@kernel
def add_chunk_values(leaf_of: AnyArray, values: Floats, start: int, scores: Floats) -> None:
    """Add each document's leaf value to its score, for one chunk."""
    for row in range(start, min(start + CHUNK, len(scores))):
        scores[row] += values[leaf_of[row]]
