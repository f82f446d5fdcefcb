"""New leaf values for other data: the trees keep their splits, and each leaf takes a Newton step as in training."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.data.scores import LARGEST_SCORE
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.models.forest import Forest
from swaprank.models.tree_walk import find_leaves
from swaprank.objectives.objective import BoundObjective
from swaprank.threads import run_strided, thread_count
from swaprank.trees.constraints import bounded_values
from swaprank.trees.document_sampling import CHUNK, DIVERGED, smoothed_l2
from swaprank.trees.routing import add_leaf_values, newton_steps


def refitted_values(
    forest: Forest,
    learning_rates: Sequence[float],
    data: Dataset,
    scores: Floats,
    objective: BoundObjective,
    l2: float,
    leaf_smoothing: float,
    decay_rate: float,
    monotone: Ints,
    n_threads: int | None,
    noise: Callable[[int, Floats], Floats],
) -> Floats:
    """The leaf values of all trees, one tree after the other: `decay_rate` x old + (1 - `decay_rate`) x new value.

    A leaf that no document reaches keeps its value. There is one learning rate per tree. `scores` are what the first
    tree starts from, grouped by query, and in the end what the trees with the new values give. `monotone` has the
    direction of each feature, or nothing. `noise` gives the scores that a tree, counted from 0, takes its gradients
    from.
    """
    threads = thread_count(n_threads)
    grad, hess = np.zeros(len(data)), np.zeros(len(data))
    starts, taken = range(0, len(data), CHUNK), np.ones(len(data), np.uint8)
    fitted = []
    for tree, learning_rate in enumerate(learning_rates):
        objective.update(noise(tree, scores), grad, hess)
        one = forest.part(tree, tree + 1)
        leaf_of = np.ascontiguousarray(data.by_query(find_leaves(one, data.features, threads)[:, 0]))
        sums = np.zeros((len(starts), len(one.leaf_value), 3))

        def add_chunk(c: int, leaf_of: AnyArray = leaf_of, sums: Floats = sums) -> None:
            sum_leaves(leaf_of, grad, hess, starts[c], sums[c])

        run_strided(add_chunk, len(starts), threads)
        steps, hessians, counts = newton_steps(
            sums, smoothed_l2(l2, leaf_smoothing, hess, taken, threads), learning_rate
        )
        values = np.where(counts > 0, decay_rate * one.leaf_value + (1.0 - decay_rate) * steps, one.leaf_value)
        if len(monotone):
            values = bounded_values(one.left, one.right, monotone[one.feature], values, hessians)
        if not (np.abs(values) <= LARGEST_SCORE).all():
            raise DataError(DIVERGED)
        add_leaf_values(leaf_of, values, threads, scores)
        fitted.append(values)
    return np.concatenate([np.empty(0), *fitted])


@kernel
def sum_leaves(leaf_of: AnyArray, grad: Floats, hess: Floats, start: int, sums: Floats) -> None:
    """Add the gradient, the hessian and the number of one chunk's documents to their leaves, as `route_rows` does."""
    for row in range(start, min(start + CHUNK, len(grad))):
        leaf = leaf_of[row]
        sums[leaf, 0] += grad[row]
        sums[leaf, 1] += hess[row]
        sums[leaf, 2] += 1.0
