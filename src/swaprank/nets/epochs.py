"""One epoch: score documents, backpropagate the objective's gradient, and update the weights.

Query by query, with any objective:

                      ┌──────────── one query ─────────────────────────────────────────┐
    rows ─► scaled ─► forward ─► scores ─► dC/ds of each document ─► backward ─► gradient ─► step
                      └─ n forwards ─┘     └─ n² pairs, or n log n ┘ └─ n backwards ─┘    per query, or per batch

This is factored training [Burges2006, section 5]: the gradient of a document is summed over all its pairs first, so one
forward and one backward pass per document is enough.

Pair by pair, RankNet's original training [Burges2005, section 4], two forwards and two backwards each:

    i ─► forward ─► s_i ┐                    ┌─► backward with  +d  ─┐
                        ├─► d = sigma (p - P)┤                       ├─► gradient ─► step per pair, or batch of queries
    j ─► forward ─► s_j ┘                    └─► backward with  -d  ─┘

With one step per batch of queries its gradient equals that of factored training. It serves as a check of factored
training, and offers one step per pair.
"""

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats, Ints, Reals
from swaprank.data.pairs import PairLists
from swaprank.elementary import exp
from swaprank.kernels import kernel
from swaprank.models.layers import Layers, backward, forward, rows_in_block
from swaprank.models.scaling import Scaling, scale_rows
from swaprank.nets.optimizers import Stepper, step
from swaprank.objectives.query_gradients import query_gradients, weigh_queries
from swaprank.objectives.ranknet_objective import GivenPairsArrays, LongRankNetArrays, RankNetArrays


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


class TrainingPairs(NamedTuple):
    """The pairs of RankNet on one data set: from labels if by_label has documents, else the given ones."""

    lists: RankNetArrays
    given: GivenPairsArrays


def training_pairs(arrays: RankNetArrays | LongRankNetArrays | GivenPairsArrays, n_queries: int) -> TrainingPairs:
    """Both sources of pairs, the one that is not used being empty, so that one compiled kernel serves both."""
    no_rows, nothing = np.empty(0, np.int64), np.empty(0)
    if isinstance(arrays, GivenPairsArrays):
        return TrainingPairs(RankNetArrays(nothing, no_rows, nothing, arrays.sigma, False), arrays)
    lists = arrays.lists if isinstance(arrays, LongRankNetArrays) else arrays
    no_pairs = PairLists(np.zeros(n_queries + 1, np.int64), no_rows, no_rows, nothing, nothing)
    return TrainingPairs(lists, GivenPairsArrays(no_pairs, lists.sigma))


class PairBuffers(NamedTuple):
    """Inputs, units and deltas of the two documents of a pair."""

    X: Reals
    units: Reals
    deltas: Reals


@kernel
def train_pairs(
    documents: Documents,
    sigma: float,
    layers: Layers,
    start: int,
    scaled: Reals,
    above: Ints,
    below: Ints,
    targets: Floats,
    pair_weights: Floats,
    step_per_pair: bool,
    stepper: Stepper,
    rate: float,
    two: PairBuffers,
    gradient: Reals,
    weights: Reals,
) -> bool:
    """Add the gradient of every pair's cost, with the target P that i is above j [Burges2005, Eqs. 12 to 15].

    A cost counts as much as its pair weighs; without pair weights, all are 1.

    Returns whether any gradient is not zero.
    """
    any_gradient = False
    for pair in range(len(above)):
        i, j = above[pair], below[pair]
        two.X[0], two.X[1] = scaled[i - start], scaled[j - start]
        forward(layers, weights, two.X, two.units)
        margin = sigma * (documents.base[i] - documents.base[j] + two.units[-2] - two.units[-1])
        delta = sigma * (1.0 / (1.0 + exp(-margin)) - targets[pair])
        if len(pair_weights) > 0:
            delta *= pair_weights[pair]
        any_gradient |= delta != 0.0
        two.deltas[0, 0], two.deltas[0, 1] = delta, -delta
        if len(documents.weights) > 0:
            two.deltas[0, 0] *= documents.weights[i]
            two.deltas[0, 1] *= documents.weights[j]
        backward(layers, weights, two.X, two.units, two.deltas, gradient)
        if step_per_pair:
            step(stepper, rate, 1, gradient, weights)
    return any_gradient


@kernel
def pairs_of_document(
    labels: Floats, by_label: Ints, a: int, ties: bool, above: Ints, below: Ints, targets: Floats
) -> int:
    """Write the pairs of a list's a-th document by descending label with those after it; return their number."""
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
    pairs: TrainingPairs,
    scaling: Scaling,
    layers: Layers,
    stepper: Stepper,
    rate: float,
    queries: Ints,
    batch_queries: int,
    weights: Reals,
    scores: Floats,
) -> int:
    """Train on the queries in the given order, pair by pair; with batch_queries=0, one step per pair.

    Writes the scores that each document had before its query's turn. Returns the number of queries processed, which is
    smaller than their number if a score was not finite.
    """
    indptr, real = documents.indptr, weights.dtype
    n_features, n_units, widest = layers.sizes[0], layers.sizes[1:].sum(), layers.sizes[1:].max()
    longest = 0
    for query in queries:
        longest = max(longest, indptr[query + 1] - indptr[query])
    scaled, units = np.empty((longest, n_features), real), np.empty(longest * n_units, real)
    two = PairBuffers(np.empty((2, n_features), real), np.empty(2 * n_units, real), np.empty((2, 2 * widest), real))
    gradient = np.zeros(len(weights), real)
    above, below, targets = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest)
    lists, given = pairs.lists, pairs.given.pairs
    is_given = len(lists.by_label) == 0
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
        first, last, moved = given.indptr[query], given.indptr[query + 1], False
        weight = given.weight[first:last]
        for a in range(1 if is_given else n):
            upper, lower, wanted = given.above[first:last], given.below[first:last], given.probability[first:last]
            if not is_given:
                by_label = lists.by_label[start:stop]
                count = pairs_of_document(lists.labels, by_label, a, lists.ties, above, below, targets)
                upper, lower, wanted = above[:count], below[:count], targets[:count]
            moved |= train_pairs(
                documents, lists.sigma, layers, start, scaled, upper, lower, wanted, weight,
                batch_queries == 0, stepper, rate, two, gradient, weights,
            )  # fmt: skip
        # As in factored training, queries whose gradient is zero are skipped.
        if batch_queries > 0 and moved:
            waiting += 1
            if waiting == batch_queries:
                step(stepper, rate, waiting, gradient, weights)
                waiting = 0
    if waiting > 0:
        step(stepper, rate, waiting, gradient, weights)
    return len(queries)
