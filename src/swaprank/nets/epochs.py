"""One epoch: every query in turn is scored, its forces are taken back through the net, and the weights move.

                      ┌──────────── one query ────────────────────────────────────────────┐
    rows ─► scaled ─► forward ─► scores ─► forces (dC/ds a document) ─► backward ─► gradient ─► step
                      └─ n forwards ─┘     └─ n² pairs, or n log n ─┘   └─ n backwards ─┘     one a query, or a batch

This is the factored training [Burges2006, section 5]: the force on a document is the sum over all its pairs, so that it
goes forward and back once, whatever the number of its pairs. Training pair by pair is in pair_epochs.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats, Ints
from swaprank.kernels import kernel
from swaprank.models.layers import Layers, Reals
from swaprank.models.propagation import backward, forward, rows_in_block
from swaprank.models.scaling import Scaling, scale_rows
from swaprank.nets.optimizers import Stepper, step
from swaprank.nets.query_forces import Rule, forces_of_query
from swaprank.objectives.forces import Forces


class Documents(NamedTuple):
    """The documents to learn from, as kernels take them."""

    features: Features
    rows: Ints
    """Rows of `features`, query after query."""
    indptr: Ints
    base: Floats
    """What is added to each document's score, query after query."""


@kernel
def train_epoch(
    documents: Documents,
    rule: Rule,
    forces: Forces,
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
    """Go through the queries in the given order; `scores` become those that each document had at its turn.

    Queries on which no force acts are passed by. Gives the number of queries that were gone through: fewer than there
    are if a score was no longer finite.
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
        forces_of_query(rule, forces, indptr, scores, query, grad, hess)
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
