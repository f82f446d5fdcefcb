"""Soft indicators: is document i the one at rank j?

e_ij = exp(-(s_i - s_d(j))² / sigma)          d(j): the document at rank j
h_ij = e_ij / sum_k e_kj                                                              [Chapelle2010, Eq. 7]
p_j  = sum_i g_i h_ij                         the soft gain at rank j

A metric of the gains in rank order becomes smooth when it is given p_1, p_2, … instead. Its gradient needs one number a
rank, b_j = dA/dp_j: with x_ij = -2/sigma b_j h_ij (g_i - p_j) (s_i - s_d(j)), document i gets sum_j x_ij, and the
document at rank j gets -sum_i x_ij. This is Eq. 10, added up over i: O(m²) for a list of m documents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel, vector_kernel
from swaprank.metrics.ordering import rank_documents
from swaprank.metrics.terms import AVERAGE_PRECISION, CUMULATIVE, MetricTerms
from swaprank.objectives.smooth_exponential import LOG2_E, exp2

FADED = 42.0
"""Documents with (s_i - s_d(j))² / sigma beyond this are left out: exp(-42) beside a sum of at least 1 is nothing."""

_MOVES = 8
"""So many moves a document, and an order is no longer worth sorting by insertion."""
_ROOM = 2**18
"""Exponentials that are kept until the slopes are known: 2 MB a thread."""


@vector_kernel
def soft_gain(center: float, scale: float, scores: Floats, gains: Floats, e: Floats) -> tuple[float, float]:
    """e_i = 2^(scale (s_i - center)²), scale < 0; gives their sum, and the sum of g_i e_i."""
    total, gain = 0.0, 0.0
    for i in range(len(e)):
        away = scores[i] - center
        value = exp2(scale * away * away)
        e[i] = value
        total += value
        gain += gains[i] * value
    return total, gain


@vector_kernel
def push(center: float, factor: float, mean: float, scores: Floats, gains: Floats, e: Floats, grad: Floats) -> float:
    """Add x_ij of one rank j to the documents' gradients; gives their sum, which is the force on d(j), reversed."""
    total = 0.0
    for i in range(len(e)):
        force = factor * e[i] * (gains[i] - mean) * (scores[i] - center)
        grad[i] += force
        total += force
    return total


@vector_kernel
def bend(factor: float, mean: float, gains: Floats, e: Floats, hess: Floats) -> float:
    """Add factor e_i |g_i - p_j| of one rank j to the documents' curvatures; gives their sum."""
    total = 0.0
    for i in range(len(e)):
        curvature = factor * e[i] * abs(gains[i] - mean)
        hess[i] += curvature
        total += curvature
    return total


@kernel
def average_precision_slopes(discounts: Floats, soft: Floats, slopes: Floats) -> float:
    """sum_j D(j) p_j (p_1 + … + p_j), D(j) = 1/j [Chapelle2010, section 4.2], and its slope in every p_j."""
    value, above = 0.0, 0.0
    for j in range(len(soft)):
        above += soft[j]
        value += discounts[j] * soft[j] * above
        slopes[j] = discounts[j] * above
    below = 0.0
    for j in range(len(soft) - 1, -1, -1):
        below += discounts[j] * soft[j]
        slopes[j] += below
    return value


@kernel
def cascade_slopes(discounts: Floats, soft: Floats, slopes: Floats) -> float:
    """sum_j D(j) p_j (1 - p_1) … (1 - p_(j-1)), and its slope in every p_j: P(arriving) (D(j) - what comes after)."""
    arriving = 1.0
    for j in range(len(soft)):
        slopes[j] = arriving
        arriving *= 1.0 - soft[j]
    after = 0.0
    for j in range(len(soft) - 1, -1, -1):
        slopes[j] *= discounts[j] - after
        after = discounts[j] * soft[j] + (1.0 - soft[j]) * after
    return after


@kernel
def spans(scores: Floats, reach: float, starts: Ints, stops: Ints) -> None:
    """The documents from starts[j] to stops[j] are no further than `reach` from the score at rank j."""
    n, start, stop = len(scores), 0, 0
    for j in range(len(starts)):
        while scores[start] - scores[j] > reach:
            start += 1
        while stop < n and scores[j] - scores[stop] <= reach:
            stop += 1
        starts[j] = start
        stops[j] = stop


@kernel
def rank_again(scores: Floats, order: Ints, scratch: Ints, gathered: Floats) -> None:
    """Sort by descending score an order that is nearly sorted already; tied documents keep the order they came in.

    Line searches move scores a little at a time. Where they were moved far, all documents are ranked anew.
    """
    n, moves = len(order), 0
    for r in range(n):
        gathered[r] = scores[order[r]]
    for r in range(1, n):
        document, score, at = order[r], gathered[r], r
        while at > 0 and gathered[at - 1] < score:
            order[at] = order[at - 1]
            gathered[at] = gathered[at - 1]
            at -= 1
        order[at] = document
        gathered[at] = score
        moves += r - at
        if moves > _MOVES * n:
            rank_documents(scores, order, scratch, gathered)
            return


class RankedList(NamedTuple):
    """One list's documents by rank, and which of them each rank feels."""

    scores: Floats
    gains: Floats
    starts: Ints
    stops: Ints


@kernel
def smooth_sum(
    ranked: RankedList, discounts: Floats, divisor: float, sigma: float, e: Floats, g: Floats, h: Floats
) -> float:
    """sum_j D(j) p_j / divisor, and its gradient: the slopes are known, so every rank is done at once."""
    value = 0.0
    for j in range(len(ranked.starts)):
        near = slice(ranked.starts[j], ranked.stops[j])
        weights = e[: ranked.stops[j] - ranked.starts[j]]
        total, gain = soft_gain(ranked.scores[j], -LOG2_E / sigma, ranked.scores[near], ranked.gains[near], weights)
        mean, factor = gain / total, -2.0 * discounts[j] / (sigma * total * divisor)
        value += discounts[j] * mean
        force = push(ranked.scores[j], factor, mean, ranked.scores[near], ranked.gains[near], weights, g[near])
        g[j] -= force
        if len(h):
            curvature = bend(abs(factor), mean, ranked.gains[near], weights, h[near])
            h[j] += curvature
    return value / divisor


@kernel
def smooth_other(
    ranked: RankedList,
    family: int,
    discounts: Floats,
    divisor: float,
    sigma: float,
    e: Floats,
    work: Floats,
    g: Floats,
    h: Floats,
) -> float:
    """Average precision or a cascade of the soft gains, and its gradient, whose slopes depend on all soft gains.

    e: Room for exponentials; those of ranks that find no room are computed a second time.
    """
    deep, n, scale = len(ranked.starts), len(ranked.scores), -LOG2_E / sigma
    soft, totals, slopes = work[0, :deep], work[1, :deep], work[2, :deep]
    room, used = len(e) - n, 0
    for j in range(deep):
        near = slice(ranked.starts[j], ranked.stops[j])
        length = ranked.stops[j] - ranked.starts[j]
        place = used if used + length <= room else room
        weights = e[place : place + length]
        total, gain = soft_gain(ranked.scores[j], scale, ranked.scores[near], ranked.gains[near], weights)
        totals[j] = total
        soft[j] = gain / total
        used += length
    if family == AVERAGE_PRECISION:
        value = average_precision_slopes(discounts, soft, slopes)
    else:
        value = cascade_slopes(discounts, soft, slopes)
    used = 0
    for j in range(deep):
        near = slice(ranked.starts[j], ranked.stops[j])
        length = ranked.stops[j] - ranked.starts[j]
        place = used if used + length <= room else room
        weights = e[place : place + length]
        if place == room:
            soft_gain(ranked.scores[j], scale, ranked.scores[near], ranked.gains[near], weights)
        factor = -2.0 * slopes[j] / (sigma * totals[j] * divisor)
        force = push(ranked.scores[j], factor, soft[j], ranked.scores[near], ranked.gains[near], weights, g[near])
        g[j] -= force
        if len(h):
            curvature = bend(abs(factor), soft[j], ranked.gains[near], weights, h[near])
            h[j] += curvature
        used += length
    return value / divisor


@kernel
def smooth_queries(
    terms: MetricTerms,
    indptr: Ints,
    weights: Floats,
    scores: Floats,
    sigma: float,
    longest: int,
    first: int,
    last: int,
    order: Ints,
    values: Floats,
    grad: Floats,
    hess: Floats,
) -> None:
    """The smooth metric of the queries from first to last, its gradient, and a curvature unless hess is empty.

    All of a query's are multiplied by its weight; queries of weight 0 cost nothing. `order` has the documents of each
    query in an order that decides between tied scores, and is sorted by score: the better sorted, the faster.
    """
    scratch, starts, stops = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    ordered, gains, g, h = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    cumulative, deepest = terms.family == CUMULATIVE, min(longest, len(terms.discounts))
    e = np.empty(longest if cumulative else longest + min(longest * deepest, _ROOM))
    work = np.empty((3, 0 if cumulative else longest))
    reach = np.sqrt(FADED * sigma)
    for query in range(first, last):
        start, n = indptr[query], indptr[query + 1] - indptr[query]
        documents, curved = order[start : start + n], h[: n if len(hess) else 0]
        g[:n] = 0.0
        curved[:] = 0.0
        divisor, value = terms.divisors[query] / weights[query], 0.0
        if divisor != np.inf:
            rank_again(scores, documents, scratch, ordered)
            for r in range(n):
                ordered[r] = scores[documents[r]]
                gains[r] = terms.gains[documents[r]]
            deep = min(n, deepest)
            spans(ordered[:n], reach, starts[:deep], stops[:deep])
            ranked = RankedList(ordered[:n], gains[:n], starts[:deep], stops[:deep])
            if cumulative:
                value = smooth_sum(ranked, terms.discounts, divisor, sigma, e, g[:n], curved)
            else:
                value = smooth_other(
                    ranked,
                    terms.family,
                    terms.discounts,
                    divisor,
                    sigma,
                    e[: n + len(e) - longest],
                    work,
                    g[:n],
                    curved,
                )
        values[query] = value
        for r in range(n):
            grad[documents[r]] = g[r]
        for r in range(len(curved)):
            hess[documents[r]] = h[r]
