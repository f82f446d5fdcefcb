"""Route documents down a new tree: the training documents to fit its leaf values, other documents to score them."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.collective import Collective
from swaprank.data.dataset import Dataset
from swaprank.exact_sums import N_LIMBS, add_exactly, carry, rounded_sums
from swaprank.kernels import kernel
from swaprank.models.forest import Forest
from swaprank.models.tree_walk import COMMON_DEPTH, TILE, append_leaves, tree_leaves
from swaprank.threads import row_chunks, run_in_threads
from swaprank.trees.histogram import BLOCK
from swaprank.trees.set_splitting import number_in_set
from swaprank.trees.tree import Tree, left_sets

_LEAST_ROWS = 4096
"""Fewer rows are not worth starting a thread."""


class LeafSums(NamedTuple):
    """Sums over the documents of each leaf, of all workers."""

    gradient: Floats
    hessian: Floats
    n_documents: Ints
    """All documents, also those that are not taken."""


def route_documents(
    blocks: Bytes, n_columns: Ints, tree: Tree, n_leaves: int, n_threads: int, leaf_of: AnyArray
) -> None:
    """Write the leaf of every binned document."""
    nodes, bins = make_binned_nodes(tree, n_leaves, len(leaf_of)), blocks.reshape(-1)
    chunks = row_chunks(len(leaf_of), n_threads, least_rows=_LEAST_ROWS)
    if (tree.bin[: n_leaves - 1] > 0).all():
        run_in_threads(lambda start, stop: route_rows(bins, nodes, start, stop, leaf_of), chunks)
    else:
        sets, widths = left_sets(tree, n_leaves), n_columns[tree.feature[: n_leaves - 1]]
        run_in_threads(lambda start, stop: route_rows_by_sets(bins, nodes, sets, widths, start, stop, leaf_of), chunks)


def sum_leaves(
    leaf_of: AnyArray, n_leaves: int, grad: Floats, hess: Floats, taken: AnyArray, n_threads: int,
    collective: Collective,
) -> LeafSums:  # fmt: skip
    """Sum the gradients and hessians of the documents with `taken` > 0, exactly."""
    chunks = row_chunks(len(leaf_of), n_threads, least_rows=_LEAST_ROWS)
    limbs = np.zeros((len(chunks), n_leaves, 2, N_LIMBS), np.int64)
    counts = np.zeros((len(chunks), n_leaves), np.int64)
    run_in_threads(
        lambda c, start, stop: add_to_leaves(leaf_of, grad, hess, taken, start, stop, limbs[c], counts[c]),
        [(c, *chunk) for c, chunk in enumerate(chunks)],
    )
    sums = np.concatenate((counts.sum(axis=0), limbs.sum(axis=0).reshape(-1)))
    collective.add(sums)
    gradient, hessian = rounded_sums(sums[n_leaves:].reshape(n_leaves, 2, N_LIMBS)).T
    return LeafSums(gradient, hessian, sums[:n_leaves])


def newton_steps(sums: LeafSums, l2: float, learning_rate: float) -> Floats:
    """Leaf values: Newton steps -G / (H + l2) [Burges2010, section 7]."""
    curved = sums.hessian + l2 > 0
    steps: Floats = np.where(curved, -learning_rate * sums.gradient / np.where(curved, sums.hessian + l2, 1.0), 0.0)
    return steps


def add_tree_scores(tree: Forest, data: Dataset, n_threads: int, scores: Floats) -> None:
    """Add the leaf values of a forest of one tree to the scores of other documents than those of training."""
    add_leaf_values(tree_leaves(tree, data, n_threads), tree.leaf_value, n_threads, scores)


def add_leaf_values(leaf_of: AnyArray, values: Floats, n_threads: int, scores: Floats) -> None:
    """Add each document's leaf value to its score."""
    chunks = row_chunks(len(scores), n_threads, least_rows=_LEAST_ROWS)
    run_in_threads(lambda start, stop: add_values_of_rows(leaf_of, values, start, stop, scores), chunks)


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
def route_rows(bins: Bytes, nodes: BinnedNodes, start: int, stop: int, leaf_of: AnyArray) -> None:
    """Find the leaves of the documents from start to stop, which go down in tiles, as in `tree_walk`."""
    offset, lowest, width, left, right = nodes.offset, nodes.lowest, nodes.width, nodes.left, nodes.right
    stride, n_nodes, node = np.uint64(BLOCK), np.uint32(nodes.n_nodes), np.zeros(TILE, np.uint32)
    for first in range(np.uint64(start), np.uint64(stop), np.uint64(TILE)):
        size = min(np.uint64(TILE), np.uint64(stop) - first)
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
            leaf_of[row] = at - n_nodes


@kernel
def route_rows_by_sets(
    bins: Bytes, nodes: BinnedNodes, sets: Bytes, n_columns: Ints, start: int, stop: int, leaf_of: AnyArray
) -> None:
    """The same as `route_rows` for trees with sets of bins."""
    offset, left, right = nodes.offset, nodes.left, nodes.right
    stride, n_nodes = np.uint64(BLOCK), np.uint32(nodes.n_nodes)
    for row in range(np.uint64(start), np.uint64(stop)):
        at = np.uint32(0)
        while at < n_nodes:
            number = number_in_set(bins, int(offset[at] + row * stride), n_columns[at])
            at = left[at] if sets[at, number] else right[at]
        leaf_of[row] = at - n_nodes


@kernel
def add_to_leaves(
    leaf_of: AnyArray, grad: Floats, hess: Floats, taken: AnyArray, start: int, stop: int, limbs: Ints, counts: Ints
) -> None:
    """Add the documents from start to stop to the sums and counts of their leaves."""
    for row in range(np.uint64(start), np.uint64(stop)):
        leaf = np.uint64(leaf_of[row])
        counts[leaf] += 1
        if taken[row]:
            add_exactly(grad[row], limbs[leaf, 0])
            add_exactly(hess[row], limbs[leaf, 1])
    for sums in limbs:
        carry(sums[0])
        carry(sums[1])


@kernel
def add_values_of_rows(leaf_of: AnyArray, values: Floats, start: int, stop: int, scores: Floats) -> None:
    """Add each document's leaf value to its score, for the rows from start to stop."""
    for row in range(start, stop):
        scores[row] += values[leaf_of[row]]
