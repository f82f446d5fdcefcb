"""LambdaRank gradients: every pair pushes with the RankNet force, weighted by what swapping it would change.

rho_ij = 1 / (1 + exp(sigma (s_i - s_j)))          for documents i better than j
grad_i -= sigma |dZ_ij| rho_ij                      grad_j += sigma |dZ_ij| rho_ij
hess_i, hess_j += sigma² |dZ_ij| rho_ij (1 - rho_ij)               [Burges2010, sections 4 and 7]
"""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel, vector_kernel
from swaprank.metrics.families import WORK_ROWS, prepare_swaps, rows_reached, rows_that_count, swap_gain_rows
from swaprank.metrics.ordering import rank_leading
from swaprank.metrics.terms import CUMULATIVE, PAIRWISE, MetricTerms

LONGEST_STEP = 100.0
"""A document's curvature is at least sigma |grad| over this: where all its pairs are wrong by far, their forces are
straight, and a Newton step, gradient over curvature, would go anywhere."""

_WIDEST = 300.0
"""Beyond this range of sigma * score, exp squared would leave double precision, and pairs take the slower way."""

ROWS_AT_ONCE = 16
"""Swap gains of so many ranks are computed in one go."""

_NEAREST = 0.01
"""Normalised, a pair counts by the inverse of its difference of scores, which is never taken for less than this."""


@kernel
def weigh_rows(
    terms: MetricTerms, query: int, first: int, last: int, gains: Floats, work: Floats, weights: Floats
) -> None:
    """|dZ_ij| of ranks i from first to last with every j below: negative where j is better, 0 between equals."""
    if terms.family == PAIRWISE:
        # Pairs in the right order: every pair counts alike, which is RankNet [Burges2010, section 2].
        weights[:] = 1.0 / terms.divisors[query]
    else:
        swap_gain_rows(terms, query, gains, first, last, work, weights)
    for i in range(first, last):
        row, gain = np.uint64(i - first), gains[i]
        for j in range(np.uint64(i + 1), np.uint64(len(gains))):
            better = gain - gains[j]
            weight = abs(weights[row, j])
            weights[row, j] = weight if better > 0.0 else (-weight if better < 0.0 else 0.0)


@vector_kernel
def push_list(
    terms: MetricTerms,
    query: int,
    rows: int,
    sigma: float,
    normalize: bool,
    gains: Floats,
    scores: Floats,
    e: Floats,
    discounts: Floats,
    weights: Floats,
    apart: Floats,
    work: Floats,
    g: Floats,
    h: Floats,
) -> float:
    """Add the forces of a ranked list's pairs whose upper document is among the first `rows`; gives their sum.

    With e_i = exp(sigma s_i), rho_ij = e_j / (e_i + e_j), and one division a pair serves rho and the normalisation.
    Everything is written out in one function: Numba counts references of every array that is handed on, atomically,
    which would cost as much as the pairs of a row. Indices are unsigned: one that might be negative keeps a loop from
    vectorising. Sums may be reassociated, in the same way in every run.
    """
    total, norm, n, one = 0.0, 1.0 / terms.divisors[query], np.uint64(len(gains)), np.uint64(1)
    for upper in range(rows):
        i, row = np.uint64(upper), np.uint64(upper % ROWS_AT_ONCE)
        gain, score, mine, discount = gains[i], scores[i], e[i], discounts[i]
        if terms.family == CUMULATIVE:
            for j in range(i + one, n):
                weights[row, j] = norm * (gain - gains[j]) * abs(discount - discounts[j])
        elif row == 0:
            weigh_rows(terms, query, upper, min(upper + ROWS_AT_ONCE, rows), gains, work, weights)
        if normalize:
            for j in range(i + one, n):
                apart[j] = _NEAREST + abs(score - scores[j])
        force, bend, size = 0.0, 0.0, 0.0
        for j in range(i + one, n):
            weight, other = weights[row, j], e[j]
            both = mine + other
            # rho (1 - rho), without the subtraction that would lose all digits where rho is nearly 1.
            scaled = sigma * weight / (both * both * apart[j])
            signed = scaled * both * (other if weight > 0.0 else mine)
            bent = sigma * abs(scaled) * mine * other
            force += signed
            bend += bent
            size += abs(signed)
            g[j] += signed
            h[j] += bent
        g[i] -= force
        h[i] += bend
        total += size
    return total


@kernel
def push_wide_list(
    terms: MetricTerms,
    query: int,
    rows: int,
    sigma: float,
    normalize: bool,
    gains: Floats,
    scores: Floats,
    weights: Floats,
    work: Floats,
    g: Floats,
    h: Floats,
) -> float:
    """The same as `push_list` from the scores themselves, one exp a pair: for scores that are too far apart."""
    total = 0.0
    for i in range(rows):
        weigh_rows(terms, query, i, i + 1, gains, work, weights)
        for j in range(i + 1, len(gains)):
            ahead = sigma * (scores[i] - scores[j])
            weight = weights[0, j] / (_NEAREST + abs(scores[i] - scores[j])) if normalize else weights[0, j]
            small = np.exp(-abs(ahead))
            right = (ahead > 0.0) == (weight > 0.0)
            signed = sigma * weight * ((small if right else 1.0) / (1.0 + small))
            bent = sigma * sigma * abs(weight) * small / (1.0 + small) ** 2
            g[i] -= signed
            g[j] += signed
            h[i] += bent
            h[j] += bent
            total += abs(signed)
    return total


@kernel
def lambda_queries(
    terms: MetricTerms,
    indptr: Ints,
    tie_order: Ints,
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
    ranked, ordered, e, weights = (
        np.empty(longest),
        np.empty(longest),
        np.empty(longest),
        np.empty((ROWS_AT_ONCE, longest)),
    )
    g, h, work = np.empty(longest), np.empty(longest), np.empty((WORK_ROWS, longest + 1))
    apart, discounts = np.ones(longest), np.zeros(longest)
    for r in range(min(longest, len(terms.discounts))):
        discounts[r] = terms.discounts[r]
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
            order[r] = tie_order[start + r]
        rank_leading(scores, order[:n], min(terms.depth, n), scratch, ranked, work[0])
        highest = lowest = scores[order[0]]
        for r in range(n):
            ranked[r] = terms.gains[order[r]]
            ordered[r] = scores[order[r]]
            e[r] = np.exp(sigma * (ordered[r] - highest))
            lowest = min(lowest, ordered[r])
            g[r] = 0.0
            h[r] = 0.0
        if terms.family != CUMULATIVE and terms.family != PAIRWISE:
            prepare_swaps(terms, query, ranked[:n], work)
            rows = rows_reached(terms, rows, work)
        if sigma * (highest - lowest) < _WIDEST:
            total = push_list(
                terms, query, rows, sigma, normalize, ranked[:n], ordered[:n], e, discounts, weights, apart, work,
                g, h,
            )  # fmt: skip
        else:
            total = push_wide_list(terms, query, rows, sigma, normalize, ranked[:n], ordered[:n], weights, work, g, h)
        factor = np.log2(1.0 + 2.0 * total) / (2.0 * total) if normalize and total > 0.0 else 1.0
        for r in range(n):
            grad[order[r]] = factor * g[r]
            hess[order[r]] = factor * max(h[r], sigma * abs(g[r]) / LONGEST_STEP)
