"""Lambda constructions [Donmez2009, section 7, Tables 1 and 2]: what else might push documents of a ranked list.

With ranks by score, "better" by gain, dZ_ij the change of the metric if i and j traded places, and
rho_ij = 1 / (1 + exp(sigma (s_i - s_j))) for i better than j, the force that raises i and lowers j is

pairs             sigma |dZ_ij| rho_ij                       for every pair; the standard one, in lambdas.py
spring            sigma (1 + |dZ_ij|) rho_ij                 for every pair: no pair is pushed less than RankNet would
local_gradient    |dZ_ij| / (|s_i - s_j| + 1 / sigma)        for neighbours in rank: the metric's slope between them
local_cost        sigma |dZ_ij| rho_ij                       for each document and the nearest of another gain above it,
                                                             and the nearest below it; twice, where both are nearest
discrete_bounded  min(1, change of the metric)               on each document alone, if it moved to the nearest place
                                                             that is ideal for it, and where that is for the better

The paper has words for these, and no equations; this is our reading. A lower bound of 1, taken as a maximum, would make
`spring` RankNet itself for every metric that stays below 1, so it is a sum. The forces of `discrete_bounded` are taken
less their mean, for those of a query should sum to zero [Burges2006, section 4].

To add one: give it a number and a name in CONSTRUCTIONS, and its equation above. If it is made of pairs, it is a branch
of `push_pairs`, which has the swap gains of a rank at hand; if not, a kernel like `push_alone`, called beside it, which
adds a ranked list's gradient (minus the force) to g and its curvature to h, and gives the sum of the forces' sizes.
"""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.families import WORK_ROWS, list_value, prepare_swaps, rows_that_count, swap_gain_rows
from swaprank.metrics.ordering import rank_documents
from swaprank.metrics.terms import MetricTerms
from swaprank.objectives.lambdas import LONGEST_STEP

SPRING, LOCAL_GRADIENT, LOCAL_COST, DISCRETE_BOUNDED = 10, 11, 12, 13

CONSTRUCTIONS = {
    "spring": SPRING,
    "local_gradient": LOCAL_GRADIENT,
    "local_cost": LOCAL_COST,
    "discrete_bounded": DISCRETE_BOUNDED,
}
"""All but the standard one, "pairs"."""

_NEAREST = 0.01
"""Normalised, a pair counts by the inverse of its difference of scores, which is never taken for less than this."""


@kernel
def push_pair(
    i: int, j: int, weight: float, sigma: float, normalize: bool, gains: Floats, scores: Floats, g: Floats, h: Floats
) -> float:
    """Add sigma * weight * rho to a pair, which raises its better one; gives its size."""
    if gains[i] == gains[j]:
        return 0.0
    if normalize:
        weight /= _NEAREST + abs(scores[i] - scores[j])
    better, worse = (i, j) if gains[i] > gains[j] else (j, i)
    ahead = sigma * (scores[better] - scores[worse])
    small = np.exp(-abs(ahead))
    force = sigma * weight * (small if ahead > 0.0 else 1.0) / (1.0 + small)
    bend = sigma * sigma * weight * small / (1.0 + small) ** 2
    g[better] -= force
    g[worse] += force
    h[better] += bend
    h[worse] += bend
    return float(force)


@kernel
def push_neighbours(i: int, change: float, sigma: float, gains: Floats, scores: Floats, g: Floats, h: Floats) -> float:
    """local_gradient of ranks i and i + 1; a Newton step of it is as long as their distance and the margin."""
    if gains[i] == gains[i + 1]:
        return 0.0
    apart = scores[i] - scores[i + 1] + 1.0 / sigma
    force = change / apart
    better, worse = (i, i + 1) if gains[i] > gains[i + 1] else (i + 1, i)
    g[better] -= force
    g[worse] += force
    h[better] += force / apart
    h[worse] += force / apart
    return float(force)


@kernel
def push_pairs(
    rule: int, terms: MetricTerms, query: int, sigma: float, normalize: bool, gains: Floats, scores: Floats,
    swap: Floats, work: Floats, g: Floats, h: Floats,
) -> float:  # fmt: skip
    """The constructions that are made of pairs: spring, local_gradient, local_cost."""
    n, total = len(gains), 0.0
    rows, below = rows_that_count(terms, query, n), 0
    prepare_swaps(terms, query, gains, work)
    for i in range(n - 1 if rule == SPRING else min(rows, n - 1)):
        if i < rows:
            swap_gain_rows(terms, query, gains, i, i + 1, work, swap)
        if rule == LOCAL_GRADIENT:
            total += push_neighbours(i, abs(swap[0, i + 1]), sigma, gains, scores, g, h)
            continue
        # local_cost: the nearest of another gain below i; and if i is the last of its run, then i is the nearest above
        # for all of the run that follows. `below` comes up twice where the two are nearest to each other.
        while below < n and (below <= i or gains[below] == gains[i]):
            below += 1
        for j in range(i + 1 if rule == SPRING else below, n):
            nearest = j == below or (below == i + 1 and gains[j] == gains[below])
            if rule == LOCAL_COST and not nearest:
                break
            weight = abs(swap[0, j]) if i < rows else 0.0
            if rule == SPRING:
                weight += 1.0
            elif j == i + 1:
                weight *= 2.0
            total += push_pair(i, j, weight, sigma, normalize, gains, scores, g, h)
    return total


@kernel
def push_alone(
    terms: MetricTerms, query: int, sigma: float, gains: Floats, moved: Floats, whole: Ints, scratch: Ints,
    work: Floats, g: Floats, h: Floats,
) -> float:  # fmt: skip
    """discrete_bounded; a document's curvature is sigma times its force, so that a Newton step is 1 / sigma."""
    ideal, places, ends = whole[0], whole[1], whole[2]
    n, total, mean, now = len(gains), 0.0, 0.0, 0.0
    for r in range(n):
        ideal[r] = r
        ends[r] = r + 1
        moved[r] = gains[r]
    rank_documents(gains, ideal[:n], scratch, work[0])
    start, stop = 0, 0
    for step in range(n + 1):  # first the list as it is, then with each document moved
        place = max(step - 1, 0)
        if place == stop:
            start = stop
        while stop < n and gains[ideal[stop]] == gains[ideal[start]]:
            stop += 1
        # Documents of one gain have the ideal ranks from start to stop.
        rank = ideal[place]
        to = min(max(rank, start), stop - 1) if step > 0 else rank
        if to == rank and step > 0:
            continue
        move(gains, rank, to, moved)
        value = list_value(terms, query, moved[:n], ends, work, places, scratch)
        for r in range(min(rank, to), max(rank, to) + 1):
            moved[r] = gains[r]
        if step == 0:
            now = value
            continue
        gained = value - now
        # A metric of the user's own that fails is NaN, and stays it.
        force = gained if gained != gained else min(1.0, max(0.0, gained))
        g[rank] += force if to > rank else -force
        h[rank] += sigma * force
        total += force
    for r in range(n):
        mean += g[r] / n
    for r in range(n):
        g[r] -= mean
    return total


@kernel
def move(gains: Floats, rank: int, to: int, moved: Floats) -> None:
    """moved: gains with the one at `rank` taken out and put in at `to`; the same elsewhere already."""
    step = 1 if to > rank else -1
    r = rank
    while r != to:
        moved[r] = gains[r + step]
        r += step
    moved[to] = gains[rank]


@kernel
def construction_queries(
    rule: int,
    terms: MetricTerms,
    indptr: Ints,
    tie_order: Ints,
    scores: Floats,
    sigma: float,
    normalize: bool,
    longest: int,
    first: int,
    last: int,
    grad: Floats,
    hess: Floats,
) -> None:
    """Write grad and hess of the queries from first to last by one of the rules above."""
    order, scratch, whole = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty((3, longest), np.int64)
    ranked, ordered, swap = np.empty(longest), np.empty(longest), np.empty((1, longest))
    g, h, work = np.empty(longest), np.empty(longest), np.empty((WORK_ROWS, longest + 1))
    for query in range(first, last):
        start = indptr[query]
        n = indptr[query + 1] - start
        for r in range(n):
            order[r] = tie_order[start + r]
            g[r] = 0.0
            h[r] = 0.0
        rank_documents(scores, order[:n], scratch, ranked)
        for r in range(n):
            ranked[r] = terms.gains[order[r]]
            ordered[r] = scores[order[r]]
        total = 0.0
        if n > 1 and rows_that_count(terms, query, n) > 0:
            if rule == DISCRETE_BOUNDED:
                total = push_alone(terms, query, sigma, ranked[:n], swap[0], whole, scratch, work, g, h)
            else:
                total = push_pairs(rule, terms, query, sigma, normalize, ranked[:n], ordered[:n], swap, work, g, h)
        factor = np.log2(1.0 + 2.0 * total) / (2.0 * total) if normalize and total > 0.0 else 1.0
        for r in range(n):
            grad[order[r]] = factor * g[r]
            hess[order[r]] = factor * max(h[r], sigma * abs(g[r]) / LONGEST_STEP)
