"""Soft indicators: is document i the one at rank j?

e_ij = exp(-(s_i - s_d(j))² / sigma)          d(j): the document at rank j
h_ij = e_ij / sum_k e_kj                                                              [Chapelle2010, Eq. 7]
p_j  = sum_i g_i h_ij                         the soft gain at rank j

A metric of the gains in rank order becomes smooth when it is given p_1, p_2, … instead. Its gradient needs one number a
rank, b_j = dA/dp_j: with x_ij = -2/sigma b_j h_ij (g_i - p_j) (s_i - s_d(j)), document i gets sum_j x_ij, and the
document at rank j gets -sum_i x_ij. This is Eq. 10, added up over i: O(m²) for a list of m documents.
"""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel, vector_kernel
from swaprank.metrics.ordering import rank_documents
from swaprank.metrics.terms import AVERAGE_PRECISION, MetricTerms
from swaprank.objectives.smooth_exponential import LOG2_E, exp2

FADED = 42.0
"""Documents with (s_i - s_d(j))² / sigma beyond this are left out: exp(-42) beside a sum of at least 1 is nothing."""

_MOVES = 8
"""So many moves a document, and an order is no longer worth sorting by insertion."""
_ROOM = 2**18
"""Exponentials that are kept until the slopes are known: 2 MB a thread."""


@vector_kernel
def soft_gain(
    center: float, scale: float, start: np.uint64, stop: np.uint64, scores: Floats, gains: Floats, e: Floats
) -> tuple[float, float]:
    """e_i = 2^(scale (s_i - center)²), scale < 0, from start to stop; gives their sum, and the sum of g_i e_i."""
    total, gain = 0.0, 0.0
    for i in range(start, stop):
        away = scores[i] - center
        value = exp2(scale * away * away)
        e[i] = value
        total += value
        gain += gains[i] * value
    return total, gain


@vector_kernel
def push(
    center: float,
    factor: float,
    mean: float,
    start: np.uint64,
    stop: np.uint64,
    scores: Floats,
    gains: Floats,
    e: Floats,
    grad: Floats,
) -> float:
    """Add x_ij of one rank j to the documents' gradients; gives their sum, which is the force on d(j), reversed."""
    total = 0.0
    for i in range(start, stop):
        force = factor * e[i] * (gains[i] - mean) * (scores[i] - center)
        grad[i] += force
        total += force
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
def rank_again(scores: Floats, order: Ints, scratch: Ints, ranked: Floats) -> None:
    """Sort by descending score an order that is nearly sorted already; tied documents keep the order they came in.

    Line searches move scores a little at a time. Where they were moved far, all documents are ranked anew.
    """
    n, moves = len(order), 0
    for r in range(n):
        ranked[r] = scores[order[r]]
    for r in range(1, n):
        document, score, at = order[r], ranked[r], r
        while at > 0 and ranked[at - 1] < score:
            order[at] = order[at - 1]
            ranked[at] = ranked[at - 1]
            at -= 1
        order[at] = document
        ranked[at] = score
        moves += r - at
        if moves > _MOVES * n:
            rank_documents(scores, order, scratch, ranked)
            for k in range(n):
                ranked[k] = scores[order[k]]
            return


@kernel
def rank_queries(
    terms: MetricTerms,
    indptr: Ints,
    scores: Floats,
    longest: int,
    first: int,
    last: int,
    order: Ints,
    ranked: Floats,
    gains: Floats,
) -> None:
    """Scores and gains by rank, for the queries from first to last.

    `order` has the documents of each query in an order that decides between tied scores, and is sorted by score: the
    better sorted, the faster.
    """
    scratch = np.empty(longest, np.int64)
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        rank_again(scores, order[start:stop], scratch, ranked[start:stop])
        for r in range(start, stop):
            gains[r] = terms.gains[order[r]]


@kernel
def smooth_sum(
    scores: Floats,
    gains: Floats,
    starts: Ints,
    stops: Ints,
    discounts: Floats,
    divisor: float,
    sigma: float,
    e: Floats,
    g: Floats,
) -> float:
    """sum_j D(j) p_j / divisor, and its gradient: the slopes are known, so every rank is done at once."""
    value, scale, unit = 0.0, -LOG2_E / sigma, -2.0 / (sigma * divisor)
    for j in range(len(starts)):
        center, start, stop = scores[j], np.uint64(starts[j]), np.uint64(stops[j])
        total, gain = soft_gain(center, scale, start, stop, scores, gains, e)
        mean, factor = gain / total, unit * discounts[j] / total
        value += discounts[j] * mean
        force = push(center, factor, mean, start, stop, scores, gains, e, g)
        g[j] -= force
    return value / divisor


@kernel
def smooth_other(
    scores: Floats,
    gains: Floats,
    starts: Ints,
    stops: Ints,
    family: int,
    discounts: Floats,
    divisor: float,
    sigma: float,
    e: Floats,
    work: Floats,
    g: Floats,
) -> float:
    """Average precision or a cascade of the soft gains, and its gradient, whose slopes depend on all soft gains.

    e: A row of exponentials a rank; the last row is for all ranks that find none, whose are computed a second time.
    """
    deep, last, scale = len(starts), len(e) - 1, -LOG2_E / sigma
    soft, totals, slopes = work[0, :deep], work[1, :deep], work[2, :deep]
    for j in range(deep):
        start, stop = np.uint64(starts[j]), np.uint64(stops[j])
        total, gain = soft_gain(scores[j], scale, start, stop, scores, gains, e[min(j, last)])
        totals[j] = total
        soft[j] = gain / total
    if family == AVERAGE_PRECISION:
        value = average_precision_slopes(discounts, soft, slopes)
    else:
        value = cascade_slopes(discounts, soft, slopes)
    for j in range(deep):
        row, center, start, stop = e[min(j, last)], scores[j], np.uint64(starts[j]), np.uint64(stops[j])
        if j >= last:
            soft_gain(center, scale, start, stop, scores, gains, row)
        factor = -2.0 * slopes[j] / (sigma * totals[j] * divisor)
        force = push(center, factor, soft[j], start, stop, scores, gains, row, g)
        g[j] -= force
    return value / divisor


@kernel
def smooth_sum_queries(
    terms: MetricTerms,
    indptr: Ints,
    weights: Floats,
    scores: Floats,
    gains: Floats,
    order: Ints,
    sigma: float,
    longest: int,
    first: int,
    last: int,
    values: Floats,
    grad: Floats,
) -> None:
    """The smooth metric of the queries from first to last, and its gradient.

    For sums of discounted gains, with scores and gains by rank. Both are multiplied by the query's weight; queries of
    weight 0 cost nothing.
    """
    starts, stops, e = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest)
    g, reach = np.empty(longest), np.sqrt(FADED * sigma)
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        divisor, value = terms.divisors[query] / weights[query], 0.0
        g[: stop - start] = 0.0
        if divisor != np.inf:
            deep = min(stop - start, len(terms.discounts))
            s, a, b = scores[start:stop], starts[:deep], stops[:deep]
            spans(s, reach, a, b)
            value = smooth_sum(s, gains[start:stop], a, b, terms.discounts, divisor, sigma, e, g)
        values[query] = value
        for r in range(start, stop):
            grad[order[r]] = g[r - start]


@kernel
def smooth_other_queries(
    terms: MetricTerms,
    indptr: Ints,
    weights: Floats,
    scores: Floats,
    gains: Floats,
    order: Ints,
    sigma: float,
    longest: int,
    first: int,
    last: int,
    values: Floats,
    grad: Floats,
) -> None:
    """The same for average precision and cascades."""
    starts, stops, work = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty((3, longest))
    e = np.empty((1 + min(longest, len(terms.discounts), _ROOM // max(longest, 1)), longest))
    g, reach = np.empty(longest), np.sqrt(FADED * sigma)
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        divisor, value = terms.divisors[query] / weights[query], 0.0
        g[: stop - start] = 0.0
        if divisor != np.inf:
            deep = min(stop - start, len(terms.discounts))
            s, a, b = scores[start:stop], starts[:deep], stops[:deep]
            spans(s, reach, a, b)
            value = smooth_other(s, gains[start:stop], a, b, terms.family, terms.discounts, divisor, sigma, e, work, g)
        values[query] = value
        for r in range(start, stop):
            grad[order[r]] = g[r - start]
