"""One epoch: for each query, score its documents, backpropagate the objective's gradient, and update the weights.

                      ┌──────────── one query ─────────────────────────────────────────┐
    rows ─► scaled ─► forward ─► scores ─► dC/ds of each document ─► backward ─► gradient ─► step
                      └─ n forwards ─┘     └─ n² pairs, or n log n ┘ └─ n backwards ─┘    per query, or per batch

This is factored training [Burges2006, section 5]: the gradient of a document is summed over all its pairs first, so one
forward and one backward pass per document is enough. Training pair by pair is in pair_epochs.py.
"""

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats, Ints
from swaprank.kernels import kernel
from swaprank.models.layers import Layers, Reals
from swaprank.models.propagation import backward, forward, rows_in_block
from swaprank.models.scaling import Scaling, scale_rows
from swaprank.nets.optimizers import Stepper, step
from swaprank.objectives.query_gradients import query_gradients, weigh_queries


class Documents(NamedTuple):
    """The training documents, as kernels take them."""

    features: Features
    rows: Ints
    """Rows of `features`, query after query."""
    indptr: Ints
    base: Floats
    """Added to each document's score, query after query."""
    weights: Floats
    """Sample weights, query after query; empty if all are 1."""


@kernel
def train_epoch(
    documents: Documents,
    objective: Any,
    scaling: Scaling,
    layers: Layers,
    stepper: Stepper,
    rate: float,
    queries: Ints,
    batch_queries: int,
    weights: Reals,
    scores: Floats,
    grad: Floats,
    hess: Floats,
) -> int:
    """Train on the queries in the given order; write the scores that each document had in its turn.

    `objective` is what `query_gradients` takes. Queries whose gradient is zero are skipped. Returns the number of
    queries processed, which is smaller than their number if a score was not finite.
    """
    indptr, real = documents.indptr, weights.dtype
    n_features, n_units, widest = layers.sizes[0], layers.sizes[1:].sum(), layers.sizes[1:].max()
    longest = 0
    for query in queries:
        longest = max(longest, indptr[query + 1] - indptr[query])
    n_block = min(rows_in_block(n_features), longest)
    scaled, units = np.empty((n_block, n_features), real), np.empty(longest * n_units, real)
    deltas, gradient = np.empty((2, n_block * widest), real), np.zeros(len(weights), real)
    waiting = 0
    for at in range(len(queries)):
        query = queries[at]
        start, stop = indptr[query], indptr[query + 1]
        for a in range(start, stop, n_block):
            b = min(a + n_block, stop)
            values = units[(a - start) * n_units : (b - start) * n_units]
            scale_rows(documents.features, documents.rows[a:b], scaling, scaled[: b - a])
            forward(layers, weights, scaled[: b - a], values)
            for r in range(a, b):
                scores[r] = documents.base[r] + values[len(values) - b + r]
        if not np.isfinite(scores[start:stop].sum()):
            return at
        query_gradients(objective, indptr, scores, query, query + 1, grad, hess)
        weigh_queries(documents.weights, indptr, query, query + 1, grad, hess)
        if (grad[start:stop] == 0.0).all():
            continue
        for a in range(start, stop, n_block):
            b = min(a + n_block, stop)
            if stop - start > n_block:
                scale_rows(documents.features, documents.rows[a:b], scaling, scaled[: b - a])
            for r in range(a, b):
                deltas[0, r - a] = grad[r]
            values = units[(a - start) * n_units : (b - start) * n_units]
            backward(layers, weights, scaled[: b - a], values, deltas, gradient)
        waiting += 1
        if waiting == batch_queries:
            step(stepper, rate, waiting, gradient, weights)
            waiting = 0
    if waiting > 0:
        step(stepper, rate, waiting, gradient, weights)
    return len(queries)
