"""LambdaRank gradients: every pair pushes with the RankNet force, weighted by what swapping it would change.

rho_ij = 1 / (1 + exp(sigma (s_i - s_j)))          for documents i better than j
grad_i -= sigma |dZ_ij| rho_ij                      grad_j += sigma |dZ_ij| rho_ij
hess_i, hess_j += sigma² |dZ_ij| rho_ij (1 - rho_ij)               [Burges2010, sections 4 and 7]
"""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel, vector_kernel
from swaprank.metrics.families import WORK_ROWS, prepare_swaps, rows_that_count, swap_gain_row
from swaprank.metrics.ordering import rank_leading
from swaprank.metrics.terms import PAIRWISE, MetricTerms

LONGEST_STEP = 100.0
"""A document's curvature is at least sigma |grad| over this: where all its pairs are wrong by far, their forces are
straight, and a Newton step, gradient over curvature, would go anywhere."""

_WIDEST = 600.0
"""Beyond this range of sigma * score, exp would leave double precision, and pairs take the slower way."""


@kernel
def weigh(gain: float, score: float, normalize: bool, gains: Floats, scores: Floats, weights: Floats) -> None:
    """Turn one document's swap gains into signed weights: positive where it is the better one, 0 between equals.

    Apart from `push`, because a loop over fewer arrays vectorises.
    """
    for j in range(len(weights)):
        better = gain - gains[j]
        weight = abs(weights[j])
        if normalize:
            weight /= 0.01 + abs(score - scores[j])
        weights[j] = weight if better > 0.0 else (-weight if better < 0.0 else 0.0)


@vector_kernel
def push(mine: float, sigma: float, e: Floats, weights: Floats, g: Floats, h: Floats) -> tuple[float, float, float]:
    """Add one document's forces to those ranked below it; gives its own force and curvature, and their sizes' sum.

    With e_i = exp(sigma s_i), rho_ij = e_j / (e_i + e_j): one division a pair. Sums may be reassociated to vectorise,
    in the same way in every run.
    """
    force, bend, total = 0.0, 0.0, 0.0
    for j in range(len(weights)):
        weight, other = weights[j], e[j]
        inverse = 1.0 / (mine + other)
        signed = sigma * weight * (other if weight > 0.0 else mine) * inverse
        # rho (1 - rho), without the subtraction that would lose all digits where rho is nearly 1.
        bent = sigma * sigma * abs(weight) * mine * other * inverse * inverse
        force += signed
        bend += bent
        total += abs(signed)
        g[j] += signed
        h[j] += bent
    return force, bend, total


@kernel
def push_apart(
    score: float, sigma: float, scores: Floats, weights: Floats, g: Floats, h: Floats
) -> tuple[float, float, float]:
    """The same as `push` from the scores themselves, one exp a pair: for lists whose scores are too far apart."""
    force, bend, total = 0.0, 0.0, 0.0
    for j in range(len(weights)):
        ahead = sigma * (score - scores[j])
        small = np.exp(-abs(ahead))
        right = (ahead > 0.0) == (weights[j] > 0.0)
        signed = sigma * weights[j] * ((small if right else 1.0) / (1.0 + small))
        bent = sigma * sigma * abs(weights[j]) * small / (1.0 + small) ** 2
        force += signed
        bend += bent
        total += abs(signed)
        g[j] += signed
        h[j] += bent
    return force, bend, total


@kernel
def push_list(
    terms: MetricTerms,
    query: int,
    rows: int,
    sigma: float,
    normalize: bool,
    wide: bool,
    gains: Floats,
    scores: Floats,
    e: Floats,
    swap: Floats,
    work: Floats,
    g: Floats,
    h: Floats,
) -> float:
    """Add the forces of a ranked list's pairs whose upper document is among the first `rows`; gives their sum."""
    if terms.family != PAIRWISE:
        prepare_swaps(terms, query, gains, work)
    total = 0.0
    for i in range(rows - 1, -1, -1):
        # Slices that begin at 0, for an index that might be negative keeps a loop from vectorising.
        below = i + 1
        weights = swap[below:]
        if terms.family == PAIRWISE:
            # Pairs in the right order: every pair counts alike, which is RankNet [Burges2010, section 2].
            weights[:] = 1.0 / terms.divisors[query]
        else:
            swap_gain_row(terms, query, gains, i, work, swap)
        weigh(gains[i], scores[i], normalize, gains[below:], scores[below:], weights)
        if wide:
            force, bend, size = push_apart(scores[i], sigma, scores[below:], weights, g[below:], h[below:])
        else:
            force, bend, size = push(e[i], sigma, e[below:], weights, g[below:], h[below:])
        g[i] -= force
        h[i] += bend
        total += size
    return total


@kernel
def lambda_queries(
    terms: MetricTerms,
    indptr: Ints,
    arrangement: Ints,
    scores: Floats,
    sigma: float,
    normalize: bool,
    truncation: int,
    longest: int,
    first: int,
    last: int,
    grad: Floats,
    hess: Floats,
) -> None:
    """Write grad and hess of the queries from first to last."""
    order, scratch = np.empty(longest, np.int64), np.empty(longest, np.int64)
    ranked, ordered, e = np.empty(longest), np.empty(longest), np.empty(longest)
    swap, g, h, work = np.empty(longest), np.empty(longest), np.empty(longest), np.empty((WORK_ROWS, longest + 1))
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        n = stop - start
        rows = min(rows_that_count(terms, query, n), truncation)
        if rows == 0 or n < 2:
            for r in range(start, stop):
                grad[r] = 0.0
                hess[r] = 0.0
            continue
        for r in range(n):
            order[r] = arrangement[start + r]
        rank_leading(scores, order[:n], min(terms.depth, n), scratch, ranked, work[0])
        highest = lowest = scores[order[0]]
        for r in range(n):
            ranked[r] = terms.gains[order[r]]
            ordered[r] = scores[order[r]]
            e[r] = np.exp(sigma * (ordered[r] - highest))
            lowest = min(lowest, ordered[r])
            g[r] = 0.0
            h[r] = 0.0
        wide = sigma * (highest - lowest) >= _WIDEST
        total = push_list(
            terms, query, rows, sigma, normalize, wide, ranked[:n], ordered[:n], e[:n], swap[:n], work, g[:n], h[:n]
        )
        factor = np.log2(1.0 + 2.0 * total) / (2.0 * total) if normalize and total > 0.0 else 1.0
        for r in range(n):
            grad[order[r]] = factor * g[r]
            hess[order[r]] = factor * max(h[r], sigma * abs(g[r]) / LONGEST_STEP)
