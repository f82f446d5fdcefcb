"""The lambdas of sums of discounted gains, such as NDCG: the pairs of a list with at least one document that counts.

    slots    documents down to the cut-off, by rank │ filled up │ the others, from the largest gain down │ filled up
             0, 1, …, depth - 1                       to 8        equal gains are next to each other       to 8

A row is one of the first documents with all below it. Documents of equal gain have no lambda. Most labels are equal,
so a row leaves out the others of its gain. Slots that are filled up are at an infinite distance, where a pair's
gradient is 0.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.elementary import exp, log2
from swaprank.kernels import inlined_kernel, kernel
from swaprank.lanes import WIDTH, load, spread, store, sum_lanes, where_positive
from swaprank.objectives.query_gradients import LEAST_DISTANCE


class GainOrder(NamedTuple):
    """Each query's documents from the largest gain down: positions in the query."""

    position: AnyArray
    first: AnyArray
    """By document: where the documents of its gain begin in that order."""
    end: AnyArray
    """By document: where they end."""


def gain_order(gains: Floats, indptr: Ints) -> GainOrder:
    """Sort every query by gain.

    >>> import numpy as np
    >>> from swaprank.objectives.discounted_pairs import gain_order
    >>> [each.tolist() for each in gain_order(np.array([0.0, 3.0, 0.0, 1.0]), np.array([0, 4]))]
    [[1, 3, 0, 2], [2, 0, 2, 1], [4, 1, 4, 2]]
    """
    starts = np.repeat(indptr[:-1], np.diff(indptr))
    order = np.lexsort((-gains, starts))
    new = np.ones(len(order), np.bool_)
    new[1:] = (gains[order[1:]] != gains[order[:-1]]) | (starts[order[1:]] != starts[order[:-1]])
    group, bounds = np.cumsum(new) - 1, np.append(np.flatnonzero(new), len(order))
    first, end = np.empty(len(order), np.int32), np.empty(len(order), np.int32)
    first[order], end[order] = bounds[group] - starts, bounds[group + 1] - starts
    return GainOrder((order - starts).astype(np.int32), first, end)


class Slots(NamedTuple):
    """The documents of one list: work arrays with room for the longest list and four times eight more."""

    document: Ints
    """-1 for a slot that is filled up."""
    gain: Floats
    discount: Floats
    score: Floats
    """Or 0 for all documents, if pairs are not divided by their distance."""
    e: Floats
    """exp(sigma (score - highest score))"""
    grad: Floats
    hess: Floats
    beyond: Bytes
    """By position in the query: 0 for the documents down to the cut-off, 1 for the others."""
    before: Ints
    """How many documents beyond the cut-off come before each place of the gain order."""


@kernel
def make_slots(longest: int) -> Slots:
    """Work arrays for lists of up to so many documents."""
    size = longest + 4 * np.int64(WIDTH)
    return Slots(
        np.empty(size, np.int64), np.empty(size), np.empty(size), np.empty(size), np.empty(size), np.empty(size),
        np.empty(size), np.empty(size, np.uint8), np.empty(size, np.int64),
    )  # fmt: skip


@inlined_kernel
def place_documents(by_gain: GainOrder, start: int, order: Ints, depth: int, slots: Slots) -> tuple[int, int]:
    """Give a list's documents their slots: order[:depth], then the others by gain. Return where these begin and end."""
    n, width, document, beyond, before = len(order), np.int64(WIDTH), slots.document, slots.beyond, slots.before
    for r in range(n):
        beyond[r] = 1
    for r in range(depth):
        document[r] = order[r]
        beyond[order[r] - start] = 0
    # The last vector of a row of the first documents must not reach the others.
    first = at = (depth + 2 * width - 2) // width * width
    if depth < n:
        for r in range(n):
            position = np.int64(by_gain.position[start + r])
            before[r] = at - first
            document[at] = start + position
            at += np.int64(beyond[position])
        before[n] = at - first
    return int(first), int(at)


@inlined_kernel
def fill_slots(
    gains: Floats, discounts: Floats, scores: Floats, norm: float, sigma: float, normalize: bool, depth: int,
    first: int, end: int, slots: Slots,
) -> int:  # fmt: skip
    """Write what a list's slots hold, with gains times `norm`; return the number of slots, a multiple of eight."""
    document, gain, score, e = slots.document, slots.gain, slots.score, slots.e
    width = np.int64(WIDTH)
    highest, last = scores[document[0]], int((end + width - 1) // width * width)
    for begin, stop in ((0, depth), (first, end)):
        for k in range(np.uint64(begin), np.uint64(stop)):
            gain[k], score[k] = norm * gains[document[k]], scores[document[k]] - highest
    for begin, stop in ((depth, first), (end, last)):
        for k in range(np.uint64(begin), np.uint64(stop)):
            gain[k], score[k] = 0.0, -np.inf
    for k in range(np.uint64(last)):
        e[k] = exp(sigma * score[k])
        slots.grad[k] = slots.hess[k] = 0.0
    if not normalize:
        for k in range(np.uint64(last)):
            score[k] = 0.0 if score[k] > -np.inf else score[k]
    for r in range(first):
        slots.discount[r] = discounts[r] if r < depth else 0.0
    return last


@inlined_kernel
def add_discounted_pairs(
    by_gain: GainOrder, start: int, order: Ints, depth: int, gains: Floats, discounts: Floats, scores: Floats,
    norm: float, sigma: float, normalize: bool, slots: Slots,
) -> tuple[int, int, float]:  # fmt: skip
    """Write the gradients of a ranked list to its slots, the hessians without the factor sigma.

    Returns where the slots of the documents beyond the cut-off begin and end, and the sum of the pairs' sizes. With
    e_i = exp(sigma s_i), rho_ij = e_j / (e_i + e_j), so one division per pair serves rho and the normalization. Indices
    are unsigned because an index that might be negative keeps a loop from vectorizing.
    """
    first, end = place_documents(by_gain, start, order, depth, slots)
    last = fill_slots(gains, discounts, scores, norm * sigma, sigma, normalize, depth, first, end, slots)
    document, gain, discount, score, e = slots.document, slots.gain, slots.discount, slots.score, slots.e
    g, h, others, n_slots = slots.grad, slots.hess, np.uint64(first), np.uint64(last)
    least, sizes = LEAST_DISTANCE if normalize else 1.0, spread(0.0)
    for upper in range(depth):
        i = np.uint64(upper)
        my_gain, my_discount, my_score, mine = gain[i], discount[i], score[i] + least, e[i]
        row_grad, row_hess = spread(0.0), spread(0.0)
        for j in range(i + np.uint64(1), np.uint64(depth), WIDTH):
            weight, other = (my_gain - load(gain, j)) * abs(my_discount - load(discount, j)), load(e, j)
            both = mine + other
            # rho (1 - rho), without the subtraction that would lose all digits where rho is nearly 1.
            scaled = weight / (both * both * (my_score - load(score, j)))
            pair_grad = scaled * both * where_positive(weight, other, mine)
            pair_hess = abs(scaled) * (mine * other)
            row_grad += pair_grad
            row_hess += pair_hess
            sizes += abs(pair_grad)
            store(g, j, load(g, j) + pair_grad)
            store(h, j, load(h, j) + pair_hess)
        if first < end:
            # All but the documents of this gain; a vector with other gains, too, is not left out.
            better = others + np.uint64(slots.before[by_gain.first[document[i]]])
            worse = others + np.uint64(slots.before[by_gain.end[document[i]]]) // WIDTH * WIDTH
            k, my_weight = others, my_gain * abs(my_discount)
            while k < n_slots:
                if k >= better and k < worse:
                    k = worse
                    continue
                weight, other = my_weight - abs(my_discount) * load(gain, k), load(e, k)
                both = mine + other
                scaled = weight / (both * both * (my_score - load(score, k)))
                pair_grad = scaled * both * where_positive(weight, other, mine)
                pair_hess = abs(scaled) * (mine * other)
                row_grad += pair_grad
                row_hess += pair_hess
                sizes += abs(pair_grad)
                store(g, k, load(g, k) + pair_grad)
                store(h, k, load(h, k) + pair_hess)
                k += WIDTH
        g[i] -= sum_lanes(row_grad)
        h[i] += sum_lanes(row_hess)
    return first, end, sum_lanes(sizes)


@kernel
def score_range(scores: Floats, start: int, stop: int) -> float:
    """The largest score minus the smallest."""
    highest = lowest = scores[start]
    for r in range(start + 1, stop):
        highest, lowest = max(highest, scores[r]), min(lowest, scores[r])
    return float(highest - lowest)


@kernel
def discounted_gradients(
    by_gain: GainOrder,
    start: int,
    order: Ints,
    depth: int,
    gains: Floats,
    discounts: Floats,
    scores: Floats,
    norm: float,
    sigma: float,
    normalize: bool,
    longest_step: float,
    slots: Slots,
    grad: Floats,
    hess: Floats,
) -> None:
    """Write the gradients and hessians of a list, `order`, of which the first `depth` documents are ranked."""
    first, end, total = add_discounted_pairs(
        by_gain, start, order, depth, gains, discounts, scores, norm, sigma, normalize, slots
    )
    factor, floor = log2(1.0 + 2.0 * total) / (2.0 * total) if normalize and total > 0.0 else 1.0, 1.0 / longest_step
    for begin, stop in ((0, depth), (first, end)):
        for k in range(np.uint64(begin), np.uint64(stop)):
            row = slots.document[k]
            grad[row] = factor * slots.grad[k]
            hess[row] = factor * sigma * max(slots.hess[k], floor * abs(slots.grad[k]))
