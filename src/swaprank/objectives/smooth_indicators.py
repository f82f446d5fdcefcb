"""Soft indicators: is document i the one at rank j?

e_ij = exp(-(s_i - s_d(j))² / sigma)          d(j): the document at rank j; sigma: the smoothing factor
h_ij = e_ij / sum_k e_kj                                                              [Chapelle2010, Eq. 7]
p_j  = sum_i g_i h_ij                         the soft gain at rank j

A metric of the gains in rank order becomes smooth when it is computed from p_1, p_2, … instead. Its gradient needs one
number per rank, b_j = dA/dp_j: with x_ij = -2/sigma b_j h_ij (g_i - p_j) (s_i - s_d(j)), document i gets sum_j x_ij,
and the document at rank j gets -sum_i x_ij. This is Eq. 10, summed over i: O(m²) for a list of m documents. The kernels
at the end write minus the metric and minus its gradient.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.elementary import LOG2_E, exp2
from swaprank.kernels import kernel
from swaprank.lanes import WIDTH, dot_range, load, spread, store, sum_lanes, sum_of
from swaprank.metrics.ordering import rank_documents
from swaprank.metrics.terms import AVERAGE_PRECISION, MetricTerms
from swaprank.objectives.query_gradients import gradients_of, longest_of

LARGEST_EXPONENT = 42.0
"""Documents with (s_i - s_d(j))² / sigma beyond this are left out: exp(-42) is negligible in a sum of at least 1."""

_MOVES_PER_DOCUMENT = 8
"""With more moves per document than this, sorting by insertion is slower than ranking from scratch."""
_KEPT_EXPONENTIALS = 2**18
"""Exponentials that are kept until the slopes are known: 2 MB per thread."""


class SmoothSumArrays(NamedTuple):
    """A smooth sum of discounted gains on one data set."""

    terms: MetricTerms
    query_weights: Floats
    smoothing_factor: float
    order: Ints
    """Each query's documents in an order that breaks ties in the scores; becomes the documents by rank."""
    costs: Floats
    """Receives the cost of each query: minus the smooth metric, times the query's weight."""


class SmoothProductArrays(NamedTuple):
    """Smooth average precision or a smooth cascade, sums of products of soft gains; fields as in SmoothSumArrays."""

    terms: MetricTerms
    query_weights: Floats
    smoothing_factor: float
    order: Ints
    costs: Floats


@kernel
def soft_gain(
    center: float, scale: float, start: np.uint64, stop: np.uint64, scores: Floats, gains: Floats, e: Floats
) -> tuple[float, float]:
    """e_i = 2^(scale (s_i - center)²), scale < 0, from start to stop; return their sum and the sum of g_i e_i."""
    for i in range(start, stop):
        away = scores[i] - center
        e[i] = exp2(scale * away * away)
    return sum_of(e, start, stop), dot_range(gains, e, start, stop)


@kernel
def add_rank_gradient(
    center: float, factor: float, mean: float, start: np.uint64, stop: np.uint64, scores: Floats, gains: Floats,
    e: Floats, grad: Floats,
) -> float:  # fmt: skip
    """Add x_ij of one rank j to the documents' gradients; return their sum, minus which d(j) gets."""
    sums, i = spread(0.0), start
    while i + WIDTH <= stop:
        pair_grads = factor * load(e, i) * (load(gains, i) - mean) * (load(scores, i) - center)
        store(grad, i, load(grad, i) + pair_grads)
        sums += pair_grads
        i += WIDTH
    total = sum_lanes(sums)
    for k in range(i, stop):
        pair_grad = factor * e[k] * (gains[k] - mean) * (scores[k] - center)
        grad[k] += pair_grad
        total += pair_grad
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
    """sum_j D(j) p_j (1 - p_1) … (1 - p_(j-1)), and its slope in every p_j: P(arriving) (D(j) - value of the rest)."""
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
    """Write the range, starts[j] to stops[j], of documents whose scores are within `reach` of the score at rank j."""
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
    """Sort an almost sorted order by descending score, with the scores in `ranked`; ties keep their order.

    Line searches change scores a little at a time. After large changes all documents are ranked from scratch.
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
        if moves > _MOVES_PER_DOCUMENT * n:
            rank_documents(scores, order, scratch, ranked)
            for k in range(n):
                ranked[k] = scores[order[k]]
            return


@kernel
def rank_query(
    terms: MetricTerms, scores: Floats, order: Ints, scratch: Ints, ranked: Floats, gains: Floats, g: Floats
) -> None:
    """Scores and gains of one query's documents by rank; `order` is sorted by score, and g is set to 0."""
    n = len(order)
    rank_again(scores, order, scratch, ranked[:n])
    for r in range(n):
        gains[r] = terms.gains[order[r]]
        g[r] = 0.0


@kernel
def write_query(sigma: float, order: Ints, g: Floats, grad: Floats, hess: Floats) -> None:
    """Minus the gradient g by rank, and the hessian |g| / width, for one query's documents."""
    width = np.sqrt(sigma)
    for r in range(len(order)):
        grad[order[r]] = -g[r]
        hess[order[r]] = abs(g[r]) / width


@kernel
def smooth_sum(
    scores: Floats, gains: Floats, starts: Ints, stops: Ints, discounts: Floats, divisor: float, sigma: float,
    e: Floats, g: Floats,
) -> float:  # fmt: skip
    """sum_j D(j) p_j / divisor, and its gradient in g: the slopes are known, so one pass over the ranks is enough."""
    value, scale, unit = 0.0, -LOG2_E / sigma, -2.0 / (sigma * divisor)
    for j in range(len(starts)):
        center, start, stop = scores[j], np.uint64(starts[j]), np.uint64(stops[j])
        total, gain = soft_gain(center, scale, start, stop, scores, gains, e)
        mean, factor = gain / total, unit * discounts[j] / total
        value += discounts[j] * mean
        pair_grad = add_rank_gradient(center, factor, mean, start, stop, scores, gains, e, g)
        g[j] -= pair_grad
    return value / divisor


@kernel
def smooth_product(
    scores: Floats, gains: Floats, starts: Ints, stops: Ints, family: int, discounts: Floats, divisor: float,
    sigma: float, e: Floats, work: Floats, g: Floats,
) -> float:  # fmt: skip
    """Average precision or a cascade of the soft gains, and its gradient in g; a slope depends on all soft gains.

    e: A row of exponentials per rank. Ranks beyond share the last row, and their exponentials are computed twice.
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
        pair_grad = add_rank_gradient(center, factor, soft[j], start, stop, scores, gains, row, g)
        g[j] -= pair_grad
    return value / divisor


@gradients_of(SmoothSumArrays)
@kernel
def smooth_sum_queries(
    arrays: SmoothSumArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write costs, grad and hess of the queries from first to last; queries of weight 0 take no time."""
    terms, sigma, longest = arrays.terms, arrays.smoothing_factor, longest_of(indptr, first, last)
    starts, stops, scratch = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    ranked, gains, e, g = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    reach = np.sqrt(LARGEST_EXPONENT * sigma)
    for query in range(first, last):
        order = arrays.order[indptr[query] : indptr[query + 1]]
        n = len(order)
        divisor, value = terms.divisors[query] / arrays.query_weights[query], 0.0
        rank_query(terms, scores, order, scratch, ranked, gains, g)
        if divisor != np.inf:
            deep = min(n, len(terms.discounts))
            s, a, b = ranked[:n], starts[:deep], stops[:deep]
            spans(s, reach, a, b)
            value = smooth_sum(s, gains[:n], a, b, terms.discounts, divisor, sigma, e, g)
        arrays.costs[query] = -value
        write_query(sigma, order, g, grad, hess)


@gradients_of(SmoothProductArrays)
@kernel
def smooth_product_queries(
    arrays: SmoothProductArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """`smooth_sum_queries` for average precision and cascades."""
    terms, sigma, longest = arrays.terms, arrays.smoothing_factor, longest_of(indptr, first, last)
    starts, stops, scratch = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    ranked, gains, work, g = np.empty(longest), np.empty(longest), np.empty((3, longest)), np.empty(longest)
    e = np.empty((1 + min(longest, len(terms.discounts), _KEPT_EXPONENTIALS // max(longest, 1)), longest))
    reach = np.sqrt(LARGEST_EXPONENT * sigma)
    for query in range(first, last):
        order = arrays.order[indptr[query] : indptr[query + 1]]
        n = len(order)
        divisor, value = terms.divisors[query] / arrays.query_weights[query], 0.0
        rank_query(terms, scores, order, scratch, ranked, gains, g)
        if divisor != np.inf:
            deep = min(n, len(terms.discounts))
            s, a, b = ranked[:n], starts[:deep], stops[:deep]
            spans(s, reach, a, b)
            value = smooth_product(s, gains[:n], a, b, terms.family, terms.discounts, divisor, sigma, e, work, g)
        arrays.costs[query] = -value
        write_query(sigma, order, g, grad, hess)
