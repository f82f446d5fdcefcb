"""LambdaRank on lists of so many documents that visiting all their pairs would take seconds.

For most metrics, the swap gain of rank i with a lower rank j is c(g_i, g_j) (u_i + v_j), where c depends only on the
gains g. With few gains in a list, the sums over all pairs then take about n log n (ranked_sums.py):

    discounted gains      c = |g_i - g_j|                   u_i = D(i)                          v_j = -D(j)
    average precision     c = 1 if relevance differs        u_i = D(i) c(i) - A(i)              v_j = A(j-1) - D(j) c(j)
                                                            u_i + D(i) if i is not relevant
    cascades              c = |R_i - R_j| / (1 - R_i)       u_i = P_i D(i) (1 - R_i) + C(i)     v_j = -C(j-1) - P_j D(j)
    pairs                 c = 1 if labels differ            u_i = 1                             v_j = 0

c(i), A(i) and C(i) are sums down to rank i: of relevant documents, of rel(r) D(r), and of P_r R_r D(r). P_r is the
probability that a user reaches rank r, who stops there with probability R_r.
"""

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.elementary import exp, log2
from swaprank.kernels import kernel
from swaprank.metrics.cascade_kernels import prepare_cascade
from swaprank.metrics.ordering import rank_documents
from swaprank.metrics.relevance_kernels import prepare_average_precision
from swaprank.metrics.terms import AVERAGE_PRECISION, CASCADE, CUMULATIVE, PAIRWISE, WORK_ROWS, MetricTerms
from swaprank.objectives.query_gradients import LEAST_DISTANCE, gradients_of, query_gradients
from swaprank.objectives.ranked_sums import RankedList, add_ranked_sums

MOST_PAIRS = 5000.0 * 5000.0
"""Up to this many documents times ranks that count, all pairs of a list are visited."""
MOST_LEVELS = 32
"""Lists with more different gains than this are visited pair by pair, too."""
PAIRS_PER_DOCUMENT = 1000.0
"""The time of a long list, per document, in pairs that are visited."""
_LEAST_PASSING = 1e-6
"""So are cascades with 1 - R below this and above 0: 1 / (1 - R) would lose too many digits."""


class LongLambdaArrays(NamedTuple):
    """LambdaRank for one metric on data with long lists."""

    lists: Any
    """LambdaArrays, with the kernel for lists of ordinary length."""


def long_lists(terms: MetricTerms, indptr: Ints) -> Bools:
    """Which lists have too many pairs to visit them all, if the metric has sums instead."""
    lengths = np.diff(indptr).astype(np.float64)
    has_sums = terms.family in (CUMULATIVE, AVERAGE_PRECISION, CASCADE, PAIRWISE) and not terms.raising
    return has_sums & (lengths * np.minimum(lengths, terms.depth) > MOST_PAIRS)


@gradients_of(LongLambdaArrays)
@kernel
def long_lambda_queries(
    arrays: LongLambdaArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last: of each long list by itself, of those between together."""
    lists, done = arrays.lists, first
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        rows = min(stop - start, lists.terms.depth)
        if (stop - start) * np.float64(rows) > MOST_PAIRS and lists.terms.divisors[query] != np.inf:
            order, gains, ranked = rank_list(lists, query, start, stop, scores)
            if len(ranked.factors) > 0:
                query_gradients(lists, indptr, scores, done, query, grad, hess)
                done = query + 1
                write_long_list(lists, query, order, gains, ranked, grad, hess)
    query_gradients(lists, indptr, scores, done, last, grad, hess)


@kernel
def rank_list(lists: Any, query: int, start: int, stop: int, scores: Floats) -> tuple[Ints, Floats, RankedList]:
    """Documents and gains by rank, and their list; it has no factors if its pairs must be visited one by one."""
    terms, n = lists.terms, stop - start
    order, scratch, work = lists.tie_order[start:stop].copy(), np.empty(n, np.int64), np.empty((WORK_ROWS, n + 1))
    rank_documents(scores, order, scratch, work[0])
    gains, ordered = np.empty(n), np.empty(n)
    for r in range(n):
        gains[r] = terms.gains[order[r]]
        ordered[r] = scores[order[r]]
    levels = np.empty(n, np.int64)
    factors = level_factors(terms, query, n, gain_levels(gains, levels))
    u, v, rows = np.empty(n), np.empty(n), n
    if len(factors) > 0:
        rows = swap_parts(terms, gains, work, u, v)
    return order, gains, RankedList(ordered, levels, factors, u, v, rows, lists.sigma, lists.normalize)


@kernel
def gain_levels(gains: Floats, levels: Ints) -> Floats:
    """The different gains, ascending, and the place of each document's gain among them; none if they are too many."""
    values, count = np.empty(MOST_LEVELS), 0
    for r in range(len(gains)):
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if values[middle] < gains[r]:
                low = middle + 1
            else:
                high = middle
        if low == count or values[low] != gains[r]:
            if count == MOST_LEVELS:
                return values[:0]
            for place in range(count, low, -1):
                values[place] = values[place - 1]
            values[low] = gains[r]
            count += 1
    for r in range(len(gains)):
        levels[r] = np.searchsorted(values[:count], gains[r])
    return values[:count]


@kernel
def level_factors(terms: MetricTerms, query: int, n: int, values: Floats) -> Floats:
    """c of each level with each lower document's level; empty if the list's pairs must be visited one by one."""
    none, factors = np.empty((0, 0)), np.empty((len(values), len(values)))
    norm, cut = 1.0 / terms.divisors[query], min(n, len(terms.discounts))
    for r in range(1, cut):
        if terms.discounts[r] > terms.discounts[r - 1]:  # u + v would be negative for some pairs
            return none
    if cut < n and terms.discounts[cut - 1] < 0.0:
        return none
    for a in range(len(values)):
        passing = 1.0 - values[a] if terms.family == CASCADE else 1.0
        if 0.0 < passing < _LEAST_PASSING:
            return none
        for b in range(len(values)):
            difference = abs(values[a] - values[b])
            if terms.family == PAIRWISE:
                difference = 1.0 if a != b else 0.0
            # Where a user surely stops is one rank at most: see add_certain_stop.
            factors[a, b] = norm * difference / passing if passing > 0.0 else 0.0
    return factors


@kernel
def swap_parts(terms: MetricTerms, gains: Floats, work: Floats, u: Floats, v: Floats) -> int:
    """Write u and v of each rank; return the number of ranks that count as upper ones."""
    n, cut = len(gains), len(terms.discounts)
    if terms.family == AVERAGE_PRECISION:
        prepare_average_precision(gains, terms.discounts, work)
    elif terms.family == CASCADE:
        prepare_cascade(gains, work)
    rows, before = min(n, terms.depth), 0.0
    for r in range(n):
        discount = terms.discounts[r] if r < cut else 0.0
        if terms.family == CUMULATIVE:
            u[r], v[r] = discount, -discount
        elif terms.family == AVERAGE_PRECISION:
            u[r] = work[2, r] - work[1, r] + (0.0 if gains[r] > 0.0 else discount)
            v[r] = before - work[2, r]
            before = work[1, r]
        elif terms.family == CASCADE:
            reached = work[0, r] * discount
            v[r] = -before - reached
            before += reached * gains[r]
            u[r] = reached * (1.0 - gains[r]) + before
            if work[0, r] == 0.0:
                rows = min(rows, r)
        else:
            u[r], v[r] = 1.0, 0.0
    return rows


@kernel
def add_certain_stop(terms: MetricTerms, query: int, gains: Floats, ranked: RankedList, g: Floats, h: Floats) -> float:
    """Add the pairs of the first document at which a user surely stops, with all below; see `cascade_swaps`."""
    n, cut, reaching, stop = len(gains), len(terms.discounts), 1.0, 0
    while stop < ranked.rows and gains[stop] < 1.0:
        reaching *= 1.0 - gains[stop]
        stop += 1
    if stop >= ranked.rows:
        return 0.0
    reward, passing, total, sigma = 0.0, 1.0, 0.0, ranked.sigma
    for j in range(stop + 1, n):
        there = passing * terms.discounts[j] if j < cut else 0.0
        change = reaching * (1.0 - gains[j]) * (terms.discounts[stop] - reward - there) / terms.divisors[query]
        reward += there * gains[j]
        passing *= 1.0 - gains[j]
        x = ranked.scores[stop] - ranked.scores[j]
        small = exp(-sigma * x)
        force = sigma * change * small / ((1.0 + small) * (LEAST_DISTANCE + x if ranked.normalize else 1.0))
        g[stop] -= force
        g[j] += force
        h[stop] += sigma * force / (1.0 + small)
        h[j] += sigma * force / (1.0 + small)
        total += force
    return total


@kernel
def write_long_list(
    lists: Any, query: int, order: Ints, gains: Floats, ranked: RankedList, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of one list's documents, as `lambda_queries` does."""
    n, sigma = len(order), ranked.sigma
    g, h = np.zeros(n), np.zeros(n)
    total = add_ranked_sums(ranked, g, h)
    if lists.terms.family == CASCADE:
        total += add_certain_stop(lists.terms, query, gains, ranked, g, h)
    factor = log2(1.0 + 2.0 * total) / (2.0 * total) if ranked.normalize and total > 0.0 else 1.0
    for r in range(n):
        grad[order[r]] = factor * g[r]
        hess[order[r]] = factor * max(h[r], sigma * abs(g[r]) / lists.longest_step)
