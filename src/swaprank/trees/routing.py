"""Where all training documents end in a new tree, and what they make of its leaves."""

from __future__ import annotations

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Floats
from swaprank.kernels import kernel, run_in_threads
from swaprank.trees.growing import Tree
from swaprank.trees.histogram import BLOCK
from swaprank.trees.sampling import CHUNK


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
) -> Floats:
    """Newton's leaf values -G / (H + l2) from the exact gradients [Burges2010, section 7], added to the scores."""
    starts = list(range(0, len(grad), CHUNK))
    sums = np.zeros((len(starts), n_leaves, 2))

    def route(thread: int) -> None:
        for c in range(thread, len(starts), n_threads):
            route_rows(blocks, tree, n_leaves, grad, hess, counted, starts[c], leaf_of, sums[c])

    run_in_threads(route, [(t,) for t in range(n_threads)])
    # Chunk after chunk: the same sums for any number of threads.
    gradient, hessian = sums.sum(axis=0).T
    curved = hessian + l2 > 0
    values = np.where(curved, -learning_rate * gradient / np.where(curved, hessian + l2, 1.0), 0.0)

    def add(thread: int) -> None:
        for c in range(thread, len(starts), n_threads):
            add_values(leaf_of, values, starts[c], scores)

    run_in_threads(add, [(t,) for t in range(n_threads)])
    return values


@kernel
def route_rows(
    blocks: Bytes,
    tree: Tree,
    n_leaves: int,
    grad: Floats,
    hess: Floats,
    counted: AnyArray,
    start: int,
    leaf_of: AnyArray,
    sums: Floats,
) -> None:
    """Walk one chunk's documents down the tree; add the gradients of those that count to their leaves."""
    for row in range(start, min(start + CHUNK, len(grad))):
        node = np.int64(0) if n_leaves > 1 else np.int64(-1)
        while node >= 0:
            feature = np.uint64(tree.feature[node])
            bin_number = np.int64(blocks[feature // np.uint64(BLOCK), np.uint64(row), feature % np.uint64(BLOCK)])
            lowest = np.int64(0) if tree.missing_left[node] else np.int64(1)
            left = (bin_number <= tree.bin[node]) & (bin_number >= lowest)
            node = np.int64(tree.left[node]) if left else np.int64(tree.right[node])
        leaf_of[row] = ~node
        if counted[row]:
            sums[~node, 0] += grad[row]
            sums[~node, 1] += hess[row]


@kernel
def add_values(leaf_of: AnyArray, values: Floats, start: int, scores: Floats) -> None:
    """Add each document's leaf value to its score, for one chunk."""
    for row in range(start, min(start + CHUNK, len(scores))):
        scores[row] += values[leaf_of[row]]
