"""Lambda constructions: other ways to make a gradient from a ranked list.

The first five are those of [Donmez2009, section 7, Tables 1 and 2], the last two of [Burges2006, section 6.2]. With
ranks by score, "better" by gain, dZ_ij the change of the metric if i and j swapped ranks, and
rho_ij = 1 / (1 + exp(sigma (s_i - s_j))) for i better than j, the lambda that raises i and lowers j is

pairs             sigma |dZ_ij| rho_ij                       for every pair; the standard, see LambdaRankObjective
spring            sigma (1 + |dZ_ij|) rho_ij                 for every pair: at least RankNet's lambda
local_gradient    |dZ_ij| / (|s_i - s_j| + 1 / sigma)        for neighbours in rank: the metric's slope between them
local_cost        sigma |dZ_ij| rho_ij                       for each document with the nearest of another gain above it
                                                             and the nearest below it; twice if each is nearest to the
                                                             other
discrete_bounded  min(1, change of the metric)               for each document by itself, if it moved to the nearest
                                                             rank that is ideal for it, where that raises the metric
step              sigma |dZ_ij|                              for every pair, as long as s_i - s_j <= margin
linear            sigma² |dZ_ij| (margin - (s_i - s_j))      for every pair, as long as s_i - s_j <= margin: a spring

With a margin, the pairs of the others, too, have a lambda only as long as s_i - s_j <= margin. That of `step` and
`linear` is 1 / sigma unless it is given. In an order of the documents, `step` is the slope of |dZ| times a hinge, and
`linear` that of half its square.

The papers describe these in words, without equations; this is our reading. Taking the maximum of 1 and |dZ| would make
`spring` equal to RankNet for every metric below 1, so it is a sum. The lambdas of `discrete_bounded` are centred,
because the lambdas of a query should sum to zero [Burges2006, section 4].

To add one, give it a number and a name in CONSTRUCTIONS and its equation above. If it is made of pairs, add a branch to
`add_pair_construction`, which has the swap gains of a rank at hand. If not, write a kernel like `add_single_moves` that
adds a ranked list's gradient (minus lambda) to g and its hessian to h, and returns the sum of the absolute lambdas.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.elementary import exp, log2
from swaprank.kernels import kernel
from swaprank.metrics.ordering import rank_documents
from swaprank.metrics.terms import (
    PAIRWISE,
    WORK_ROWS,
    MetricTerms,
    list_value,
    prepare_swaps,
    rows_that_count,
    swap_gain_rows,
)
from swaprank.objectives.query_gradients import LEAST_DISTANCE, gradients_of, longest_of

PAIRS, SPRING, LOCAL_GRADIENT, LOCAL_COST, DISCRETE_BOUNDED, STEP, LINEAR = range(7)

CONSTRUCTIONS = {
    "spring": SPRING,
    "local_gradient": LOCAL_GRADIENT,
    "local_cost": LOCAL_COST,
    "discrete_bounded": DISCRETE_BOUNDED,
    "step": STEP,
    "linear": LINEAR,
}
"""All but the standard one, "pairs"."""


class ConstructionArrays(NamedTuple):
    """One construction for one metric on one data set."""

    construction: int
    terms: MetricTerms
    tie_order: Ints
    """Each query's documents in the order that breaks ties in the scores."""
    sigma: float
    normalize: bool
    longest_step: float
    margin: float
    """Pairs whose better document leads by more have no lambda; infinite for no limit."""


@kernel
def add_pair(
    construction: int, i: int, j: int, weight: float, sigma: float, normalize: bool, margin: float, gains: Floats,
    scores: Floats, g: Floats, h: Floats,
) -> float:  # fmt: skip
    """Add the lambda of a pair to its better document; return it."""
    better, worse = (i, j) if gains[i] > gains[j] else (j, i)
    lead = scores[better] - scores[worse]
    if gains[i] == gains[j] or lead > margin:
        return 0.0
    if normalize:
        weight /= LEAST_DISTANCE + abs(lead)
    if construction == STEP:
        # It has no curvature; this makes a Newton step of 1 / sigma.
        pair_grad = sigma * weight
        pair_hess = sigma * pair_grad
    elif construction == LINEAR:
        pair_hess = sigma * sigma * weight
        pair_grad = pair_hess * (margin - lead)
    else:
        small = exp(-abs(sigma * lead))
        pair_grad = sigma * weight * (small if lead > 0.0 else 1.0) / (1.0 + small)
        pair_hess = sigma * sigma * weight * small / (1.0 + small) ** 2
    g[better] -= pair_grad
    g[worse] += pair_grad
    h[better] += pair_hess
    h[worse] += pair_hess
    return float(pair_grad)


@kernel
def add_neighbours(
    i: int, change: float, sigma: float, margin: float, gains: Floats, scores: Floats, g: Floats, h: Floats
) -> float:
    """local_gradient of ranks i and i + 1; its Newton step is the score difference plus 1 / sigma."""
    if gains[i] == gains[i + 1] or (gains[i] > gains[i + 1] and scores[i] - scores[i + 1] > margin):
        return 0.0
    distance = scores[i] - scores[i + 1] + 1.0 / sigma
    pair_grad = change / distance
    better, worse = (i, i + 1) if gains[i] > gains[i + 1] else (i + 1, i)
    g[better] -= pair_grad
    g[worse] += pair_grad
    h[better] += pair_grad / distance
    h[worse] += pair_grad / distance
    return float(pair_grad)


@kernel
def add_pair_construction(
    construction: int, terms: MetricTerms, query: int, sigma: float, normalize: bool, margin: float, gains: Floats,
    scores: Floats, swap: Floats, work: Floats, g: Floats, h: Floats,
) -> float:  # fmt: skip
    """Add a construction that is made of pairs; return the sum of the lambdas."""
    n, total = len(gains), 0.0
    # As in LambdaRankObjective: for the pairwise metric all pairs weigh the same.
    alike = 1.0 / terms.divisors[query] if construction == PAIRS and terms.family == PAIRWISE else 0.0
    rows, below = rows_that_count(terms, query, n), 0
    prepare_swaps(terms, query, gains, work)
    for i in range(n - 1 if construction == SPRING else min(rows, n - 1)):
        if i < rows:
            swap_gain_rows(terms, query, gains, i, i + 1, work, swap)
        if construction == LOCAL_GRADIENT:
            total += add_neighbours(i, abs(swap[0, i + 1]), sigma, margin, gains, scores, g, h)
            continue
        # local_cost: `below` is the nearest of another gain below i. If i is the last of a run of equal gains, it is
        # the nearest above for the whole run that follows. The pair counts twice if each is nearest to the other.
        while below < n and (below <= i or gains[below] == gains[i]):
            below += 1
        for j in range(below if construction == LOCAL_COST else i + 1, n):
            nearest = j == below or (below == i + 1 and gains[j] == gains[below])
            if construction == LOCAL_COST and not nearest:
                break
            weight = abs(swap[0, j]) if i < rows else 0.0
            if construction == SPRING:
                weight += 1.0
            elif construction == LOCAL_COST and j == i + 1:
                weight *= 2.0
            elif alike > 0.0:
                weight = alike
            total += add_pair(construction, i, j, weight, sigma, normalize, margin, gains, scores, g, h)
    return total


@kernel
def add_single_moves(
    terms: MetricTerms, query: int, sigma: float, gains: Floats, moved: Floats, whole: Ints, scratch: Ints,
    work: Floats, g: Floats, h: Floats,
) -> float:  # fmt: skip
    """Add discrete_bounded; a document's hessian is sigma times its lambda, so that a Newton step is 1 / sigma."""
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
        move_document(gains, rank, to, moved)
        value = list_value(terms, query, moved[:n], ends, work, places, scratch)
        for r in range(min(rank, to), max(rank, to) + 1):
            moved[r] = gains[r]
        if step == 0:
            now = value
            continue
        gained = value - now
        # NaN, from an own metric that failed, must stay NaN.
        size = gained if gained != gained else min(1.0, max(0.0, gained))
        g[rank] += size if to > rank else -size
        h[rank] += sigma * size
        total += size
    for r in range(n):
        mean += g[r] / n
    for r in range(n):
        g[r] -= mean
    return total


@kernel
def move_document(gains: Floats, rank: int, to: int, moved: Floats) -> None:
    """Write into `moved`, a copy of `gains`, the gains with the document at `rank` moved to rank `to`."""
    step = 1 if to > rank else -1
    r = rank
    while r != to:
        moved[r] = gains[r + step]
        r += step
    moved[to] = gains[rank]


@gradients_of(ConstructionArrays)
@kernel
def construction_queries(
    arrays: ConstructionArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last by one of the constructions above."""
    terms, construction, longest = arrays.terms, arrays.construction, longest_of(indptr, first, last)
    sigma, normalize, margin = arrays.sigma, arrays.normalize, arrays.margin
    order, scratch, whole = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty((3, longest), np.int64)
    ranked, ordered, swap = np.empty(longest), np.empty(longest), np.empty((1, longest))
    g, h, work = np.empty(longest), np.empty(longest), np.empty((WORK_ROWS, longest + 1))
    for query in range(first, last):
        start = indptr[query]
        n = indptr[query + 1] - start
        for r in range(n):
            order[r] = arrays.tie_order[start + r]
            g[r] = 0.0
            h[r] = 0.0
        rank_documents(scores, order[:n], scratch, ranked)
        for r in range(n):
            ranked[r] = terms.gains[order[r]]
            ordered[r] = scores[order[r]]
        total = 0.0
        if n > 1 and rows_that_count(terms, query, n) > 0:
            if construction == DISCRETE_BOUNDED:
                total = add_single_moves(terms, query, sigma, ranked[:n], swap[0], whole, scratch, work, g, h)
            else:
                total = add_pair_construction(
                    construction, terms, query, sigma, normalize, margin, ranked[:n], ordered[:n], swap, work, g, h
                )
        factor = log2(1.0 + 2.0 * total) / (2.0 * total) if normalize and total > 0.0 else 1.0
        for r in range(n):
            grad[order[r]] = factor * g[r]
            hess[order[r]] = factor * max(h[r], sigma * abs(g[r]) / arrays.longest_step)
