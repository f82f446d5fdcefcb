"""RankNet's first training [Burges2005, section 4]: pair by pair, two forwards and two backwards each.

    i ─► forward ─► s_i ┐                    ┌─► backward with  +f  ─┐
                        ├─► f = sigma (p - P)┤                       ├─► gradient ─► step a pair, or a batch of queries
    j ─► forward ─► s_j ┘                    └─► backward with  -f  ─┘

With a step a batch of queries the gradient is that of the factored training (epochs.py), which needs one forward and
one backward a document. It is kept as the twin of that one, and for whoever wants a step a pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.models.layers import Layers, Reals
from swaprank.models.propagation import backward, forward
from swaprank.models.scaling import Scaling, scale_rows
from swaprank.nets.epochs import Documents
from swaprank.nets.optimizers import Stepper, step
from swaprank.objectives.forces import GIVEN_PAIRS, Forces


class Twins(NamedTuple):
    """Room for the two documents of a pair on their way through the net."""

    X: Reals
    units: Reals
    deltas: Reals


@kernel
def train_pairs(
    documents: Documents,
    forces: Forces,
    layers: Layers,
    start: int,
    scaled: Reals,
    above: Ints,
    below: Ints,
    targets: Floats,
    step_a_pair: bool,
    stepper: Stepper,
    rate: float,
    twins: Twins,
    gradient: Reals,
    weights: Reals,
) -> bool:
    """Add the gradient of every pair's cost, with the target P that i is above j [Burges2005, Eqs. 12 to 15].

    Gives whether any force acts.
    """
    any_force = False
    for pair in range(len(above)):
        i, j = above[pair], below[pair]
        twins.X[0], twins.X[1] = scaled[i - start], scaled[j - start]
        forward(layers, weights, twins.X, twins.units)
        ahead = forces.sigma * (documents.base[i] - documents.base[j] + twins.units[-2] - twins.units[-1])
        force = forces.sigma * (1.0 / (1.0 + np.exp(-ahead)) - targets[pair])
        any_force |= force != 0.0
        twins.deltas[0, 0], twins.deltas[0, 1] = force, -force
        if len(forces.weights) > 0:
            twins.deltas[0, 0] *= forces.weights[i]
            twins.deltas[0, 1] *= forces.weights[j]
        backward(layers, weights, twins.X, twins.units, twins.deltas, gradient)
        if step_a_pair:
            step(stepper, rate, 1, gradient, weights)
    return any_force


@kernel
def pairs_of_document(
    labels: Floats, by_label: Ints, a: int, ties: bool, above: Ints, below: Ints, targets: Floats
) -> int:
    """Write the pairs of a list's a-th document by falling label with those after it; gives how many there are."""
    count, i = 0, by_label[a]
    for j in by_label[a + 1 :]:
        if labels[i] != labels[j] or ties:
            above[count], below[count] = i, j
            targets[count] = 1.0 if labels[i] > labels[j] else 0.5
            count += 1
    return count


@kernel
def train_pair_epoch(
    documents: Documents,
    forces: Forces,
    scaling: Scaling,
    layers: Layers,
    stepper: Stepper,
    rate: float,
    queries: Ints,
    batch_queries: int,
    weights: Reals,
    scores: Floats,
) -> int:
    """Go through the queries in the given order, pair by pair; a step after every pair if batch_queries is 0.

    `scores` become those that each document had before its query's turn. Gives the number of queries that were gone
    through: fewer than there are if a score was no longer finite.
    """
    indptr, real = documents.indptr, weights.dtype
    n_features, n_units, widest = layers.sizes[0], layers.sizes[1:].sum(), layers.sizes[1:].max()
    longest = 0
    for query in queries:
        longest = max(longest, indptr[query + 1] - indptr[query])
    scaled, units = np.empty((longest, n_features), real), np.empty(longest * n_units, real)
    twins = Twins(np.empty((2, n_features), real), np.empty(2 * n_units, real), np.empty((2, 2 * widest), real))
    gradient = np.zeros(len(weights), real)
    above, below, targets = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest)
    given = forces.rule == GIVEN_PAIRS
    waiting = 0
    for at in range(len(queries)):
        query = queries[at]
        start, stop = indptr[query], indptr[query + 1]
        n = stop - start
        scale_rows(documents.features, documents.rows[start:stop], scaling, scaled[:n])
        forward(layers, weights, scaled[:n], units[: n * n_units])
        for r in range(n):
            scores[start + r] = documents.base[start + r] + units[n * n_units - n + r]
        if not np.isfinite(scores[start:stop].sum()):
            return at
        first, last, moved = forces.pair_indptr[query], forces.pair_indptr[query + 1], False
        for a in range(1 if given else n):
            upper, lower, wanted = forces.above[first:last], forces.below[first:last], forces.targets[first:last]
            if not given:
                count = pairs_of_document(
                    forces.terms.gains, forces.tie_order[start:stop], a, forces.ties, above, below, targets
                )
                upper, lower, wanted = above[:count], below[:count], targets[:count]
            moved |= train_pairs(
                documents, forces, layers, start, scaled, upper, lower, wanted, batch_queries == 0, stepper, rate,
                twins, gradient, weights,
            )  # fmt: skip
        # As the factored training has it: queries on which no force acts are passed by.
        if batch_queries > 0 and moved:
            waiting += 1
            if waiting == batch_queries:
                step(stepper, rate, waiting, gradient, weights)
                waiting = 0
    if waiting > 0:
        step(stepper, rate, waiting, gradient, weights)
    return len(queries)
