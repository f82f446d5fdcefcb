"""New leaf values for other data: the trees keep their splits, and each leaf takes a Newton step as in training."""

from collections.abc import Callable, Sequence

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.collective import ALONE
from swaprank.data.dataset import Dataset
from swaprank.data.row_values import LARGEST_TERM
from swaprank.errors import DataError
from swaprank.models.forest import Forest
from swaprank.models.tree_walk import tree_leaves
from swaprank.objectives.objective import BoundObjective
from swaprank.threads import thread_count
from swaprank.trees.constraints import bounded_values
from swaprank.trees.document_sampling import DIVERGED, smoothed_l2, total_sums
from swaprank.trees.routing import add_leaf_values, newton_steps, sum_leaves


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
    grad, hess, taken = np.zeros(len(data)), np.zeros(len(data)), np.ones(len(data), np.uint8)
    fitted = []
    for tree, learning_rate in enumerate(learning_rates):
        objective.update(noise(tree, scores), grad, hess)
        one = forest.part(tree, tree + 1)
        leaf_of = np.ascontiguousarray(data.by_query(tree_leaves(one, data, threads)))
        totals = total_sums(grad, hess, taken, data.indptr, threads, ALONE)
        sums = sum_leaves(leaf_of, len(one.leaf_value), grad, hess, taken, threads, ALONE)
        steps = newton_steps(sums, smoothed_l2(l2, leaf_smoothing, totals), learning_rate)
        values = np.where(
            sums.n_documents > 0, decay_rate * one.leaf_value + (1.0 - decay_rate) * steps, one.leaf_value
        )
        if len(monotone):
            values = bounded_values(one.left, one.right, monotone[one.feature], values, sums.hessian)
        if not (np.abs(values) <= LARGEST_TERM).all():
            raise DataError(DIVERGED)
        add_leaf_values(leaf_of, values, threads, scores)
        fitted.append(values)
    return np.concatenate([np.empty(0), *fitted])
