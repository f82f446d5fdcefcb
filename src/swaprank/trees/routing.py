"""Where all training documents end in a new tree, and what they make of its leaves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Features, Floats, Ints
from swaprank.kernels import kernel
from swaprank.threads import run_in_threads
from swaprank.trees.document_sampling import CHUNK
from swaprank.trees.histogram import BLOCK
from swaprank.trees.tree import GrownTree, Tree

_TILE = 64
_COMMON_STEPS = 12
"""Beyond this depth a tree of the usual size has few documents."""


def settle_leaves(
    blocks: Bytes,
    tree: Tree,
    n_leaves: int,
    grad: Floats,
    hess: Floats,
    counted: AnyArray,
    l2: float,
    learning_rate: float,
    n_threads: int,
    leaf_of: AnyArray,
    scores: Floats,
) -> tuple[Floats, Ints]:
    """Newton's leaf values -G / (H + l2) from the exact gradients [Burges2010, section 7], added to the scores.

    Gives the values, and how many documents each leaf has.
    """
    starts = list(range(0, len(grad), CHUNK))
    sums = np.zeros((len(starts), n_leaves, 3))
    steps, bins = lay_out_steps(tree, n_leaves, len(grad)), blocks.reshape(-1)

    def route(thread: int) -> None:
        for c in range(thread, len(starts), n_threads):
            route_rows(bins, steps, grad, hess, counted, starts[c], leaf_of, sums[c])

    run_in_threads(route, [(t,) for t in range(n_threads)])
    # Chunk after chunk: the same sums for any number of threads.
    gradient, hessian, count = sums.sum(axis=0).T
    curved = hessian + l2 > 0
    values = np.where(curved, -learning_rate * gradient / np.where(curved, hessian + l2, 1.0), 0.0)

    def add(thread: int) -> None:
        for c in range(thread, len(starts), n_threads):
            add_values(leaf_of, values, starts[c], scores)

    run_in_threads(add, [(t,) for t in range(n_threads)])
    return values, count.astype(np.int64)


class Steps(NamedTuple):
    """A tree as a document walks it: nodes 0, 1, …, then leaves, from which the next step goes nowhere else."""

    n_nodes: int
    depth: int
    """Steps to the farthest leaf."""
    offset: AnyArray
    """Where the node's feature has the bin of row 0, of which row r's is 16 r further on."""
    lowest: AnyArray
    width: AnyArray
    """Left, if the bin is at least `lowest` and at most `width` above it."""
    left: AnyArray
    right: AnyArray


def lay_out_steps(tree: Tree, n_leaves: int, n_rows: int) -> Steps:
    """The steps of a tree of so many leaves."""
    n_nodes = n_leaves - 1
    left, right, depth = lay_out_children(tree.left[:n_nodes], tree.right[:n_nodes])
    offset, lowest, width = (np.zeros(n_nodes + n_leaves, np.int64) for _ in range(3))
    feature = tree.feature[:n_nodes].astype(np.int64)
    offset[:n_nodes] = feature // BLOCK * n_rows * BLOCK + feature % BLOCK
    # Missing is bin 0: below every cut as it stands, and left out by a lower bound of 1.
    lowest[:n_nodes] = np.where(tree.missing_left[:n_nodes], 0, 1)
    width[:n_nodes] = tree.bin[:n_nodes] - lowest[:n_nodes]
    return Steps(
        n_nodes, depth, offset.astype(np.uint64), lowest.astype(np.uint32), width.astype(np.uint32), left, right
    )


def lay_out_children(left: AnyArray, right: AnyArray) -> tuple[AnyArray, AnyArray, int]:
    """Children of nodes and then of leaves, which are their own, and the number of steps to the farthest leaf."""
    n_nodes, n_leaves = len(left), len(left) + 1
    depths = np.zeros(n_nodes + n_leaves, np.int64)
    left, right = (
        np.concatenate((np.where(child >= 0, child, n_nodes + ~child), n_nodes + np.arange(n_leaves))).astype(np.uint32)
        for child in (left, right)
    )
    for node in range(n_nodes):
        depths[left[node]] = depths[right[node]] = depths[node] + 1
    return left, right, int(depths.max())


@kernel
def route_rows(
    bins: Bytes,
    steps: Steps,
    grad: Floats,
    hess: Floats,
    counted: AnyArray,
    start: int,
    leaf_of: AnyArray,
    sums: Floats,
) -> None:
    """Walk one chunk's documents down the tree; add the gradients of those that count to their leaves.

    A tile of documents goes down level by level, for a processor can take many documents' steps at once, but not one
    document's; the few that are not in a leaf after the common steps go on by themselves.
    """
    offset, lowest, width, left, right = steps.offset, steps.lowest, steps.width, steps.left, steps.right
    wide, n_nodes, node = np.uint64(BLOCK), np.uint32(steps.n_nodes), np.zeros(_TILE, np.uint32)
    stop = np.uint64(min(start + CHUNK, len(grad)))
    for first in range(np.uint64(start), stop, np.uint64(_TILE)):
        size = min(np.uint64(_TILE), stop - first)
        node[:] = np.uint32(0)
        for _ in range(min(steps.depth, _COMMON_STEPS)):
            for k in range(size):
                at = node[k]
                found = np.uint32(bins[offset[at] + (first + k) * wide])
                node[k] = right[at] if np.uint32(found - lowest[at]) > width[at] else left[at]
        for k in range(size):
            row, at = first + k, node[k]
            while at < n_nodes:
                found = np.uint32(bins[offset[at] + row * wide])
                at = right[at] if np.uint32(found - lowest[at]) > width[at] else left[at]
            leaf = np.uint64(at - n_nodes)
            leaf_of[row] = leaf
            sums[leaf, 2] += 1.0
            if counted[row]:
                sums[leaf, 0] += grad[row]
                sums[leaf, 1] += hess[row]


@kernel
def add_values(leaf_of: AnyArray, values: Floats, start: int, scores: Floats) -> None:
    """Add each document's leaf value to its score, for one chunk."""
    for row in range(start, min(start + CHUNK, len(scores))):
        scores[row] += values[leaf_of[row]]


def add_tree_scores(tree: GrownTree, X: Features, n_threads: int, scores: Floats) -> None:
    """Add one tree's values to the scores of documents that were not binned."""
    left, right, depth = lay_out_children(tree.left, tree.right)
    # A leaf asks for the first feature, whatever it is, and stays.
    feature = np.concatenate((tree.feature, np.zeros(len(tree.leaf_value)))).astype(np.uint32)
    threshold = np.concatenate((tree.threshold, np.zeros(len(tree.leaf_value), np.float32)))
    missing_left = np.concatenate((tree.missing_left, np.zeros(len(tree.leaf_value), np.bool_)))
    bounds = np.linspace(0, len(X), n_threads + 1).astype(np.int64).tolist()
    run_in_threads(
        lambda a, b: walk_documents(
            feature, threshold, missing_left, left, right, depth, tree.leaf_value, X, a, b, scores
        ),
        [(a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if a < b],
    )


@kernel
def walk_documents(
    feature: AnyArray,
    threshold: Features,
    missing_left: AnyArray,
    left: AnyArray,
    right: AnyArray,
    depth: int,
    values: Floats,
    X: Features,
    start: int,
    stop: int,
    scores: Floats,
) -> None:
    """One tree, a tile of documents level by level, as in `route_rows`."""
    node = np.zeros(_TILE, np.uint32)
    n_nodes = np.uint32(len(feature) - len(values))
    for first in range(np.uint64(start), np.uint64(stop), np.uint64(_TILE)):
        size = min(np.uint64(_TILE), np.uint64(stop) - first)
        node[:] = np.uint32(0)
        for _ in range(min(depth, _COMMON_STEPS)):
            for k in range(size):
                at = node[k]
                x = X[first + k, feature[at]]
                goes_left = (x <= threshold[at]) | ((x != x) & missing_left[at])
                node[k] = left[at] if goes_left else right[at]
        for k in range(size):
            at = node[k]
            while at < n_nodes:
                x = X[first + k, feature[at]]
                goes_left = (x <= threshold[at]) | ((x != x) & missing_left[at])
                at = left[at] if goes_left else right[at]
            scores[first + k] += values[np.uint64(at - n_nodes)]
