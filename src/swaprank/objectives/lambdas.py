"""LambdaRank gradients: the RankNet gradient of every pair times the change of the metric if the pair swapped ranks.

rho_ij = 1 / (1 + exp(sigma (s_i - s_j)))          for documents i better than j
grad_i -= sigma |dZ_ij| rho_ij                      grad_j += sigma |dZ_ij| rho_ij
hess_i, hess_j += sigma² |dZ_ij| rho_ij (1 - rho_ij)               [Burges2010, sections 4 and 7]
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.elementary import exp, log2
from swaprank.kernels import kernel
from swaprank.lanes import WIDTH, load, spread, store, sum_lanes, where_positive
from swaprank.metrics.families import WORK_ROWS, prepare_swaps, rows_reached, rows_that_count, swap_gain_rows
from swaprank.metrics.ordering import rank_leading
from swaprank.metrics.terms import PAIRWISE, MetricTerms
from swaprank.objectives.pair_limits import LEAST_DISTANCE, LONGEST_STEP, WIDEST_RANGE
from swaprank.objectives.query_gradients import gradients_of, longest_of

ROWS_AT_ONCE = 16
"""The swap gains of this many ranks are computed in one call."""


class LambdaArrays(NamedTuple):
    """LambdaRank for one metric on one data set."""

    terms: MetricTerms
    swaps: MetricTerms | None
    """The terms again; None for sums of discounted gains, which need no kernels of other families."""
    tie_order: Ints
    """Each query's documents in the order that breaks ties in the scores."""
    sigma: float
    normalize: bool


@kernel
def prepare_weights(swaps: MetricTerms | None, query: int, rows: int, gains: Floats, work: Floats) -> int:
    """Fill `work` for `swap_weights`; return how many of the first `rows` ranks count."""
    if swaps is None or swaps.family == PAIRWISE:
        return rows
    prepare_swaps(swaps, query, gains, work)
    return rows_reached(swaps, rows, work)


@kernel
def swap_weights(
    swaps: MetricTerms | None, query: int, norm: float, discounts: Floats, first: int, last: int, gains: Floats,
    work: Floats, weights: Floats,
) -> None:  # fmt: skip
    """|dZ_ij| of ranks i from first to last with every j below: negative where j is better, 0 for equal gains."""
    if swaps is None:
        for i in range(first, last):
            row, gain, discount = np.uint64(i - first), gains[i], discounts[i]
            for j in range(np.uint64(i + 1), np.uint64(len(gains))):
                weights[row, j] = norm * (gain - gains[j]) * abs(discount - discounts[j])
        return
    if swaps.family == PAIRWISE:
        # The share of pairs in the right order: all pairs weigh the same, as in RankNet [Burges2010, section 2].
        weights[:] = norm
    else:
        swap_gain_rows(swaps, query, gains, first, last, work, weights)
    for i in range(first, last):
        row, gain = np.uint64(i - first), gains[i]
        for j in range(np.uint64(i + 1), np.uint64(len(gains))):
            better = gain - gains[j]
            weight = abs(weights[row, j])
            weights[row, j] = weight if better > 0.0 else (-weight if better < 0.0 else 0.0)


@kernel
def add_pairs(
    swaps: MetricTerms | None,
    query: int,
    norm: float,
    rows: int,
    sigma: float,
    normalize: bool,
    gains: Floats,
    scores: Floats,
    e: Floats,
    discounts: Floats,
    weights: Floats,
    distance: Floats,
    work: Floats,
    g: Floats,
    h: Floats,
) -> float:
    """Add the gradients of a ranked list's pairs with the upper document in the first `rows`; return the sum of sizes.

    With e_i = exp(sigma s_i), rho_ij = e_j / (e_i + e_j), so one division per pair serves rho and the normalization.
    Everything is in one function because Numba counts the references of every array that is passed on, atomically,
    which would cost as much as the pairs of a row. Indices are unsigned because an index that might be negative keeps
    a loop from vectorizing. e, weights, distance, g and h have room for eight more documents than a list: the last
    lanes of a row are filled up with pairs of weight 0.
    """
    sizes, n, one = spread(0.0), np.uint64(len(gains)), np.uint64(1)
    for upper in range(rows):
        i, row = np.uint64(upper), np.uint64(upper % ROWS_AT_ONCE)
        score, mine = scores[i], e[i]
        if row == 0:
            swap_weights(swaps, query, norm, discounts, upper, min(upper + ROWS_AT_ONCE, rows), gains, work, weights)
        for j in range(n, n + WIDTH):
            weights[row, j] = 0.0
        if normalize:
            for j in range(i + one, n):
                distance[j] = LEAST_DISTANCE + abs(score - scores[j])
        row_grad, row_hess, first = spread(0.0), spread(0.0), row * np.uint64(weights.shape[1])
        for j in range(i + one, n, WIDTH):
            weight, other = load(weights, first + j), load(e, j)
            both = mine + other
            # rho (1 - rho), without the subtraction that would lose all digits where rho is nearly 1.
            scaled = sigma * weight / (both * both * load(distance, j))
            pair_grad = scaled * both * where_positive(weight, other, mine)
            pair_hess = sigma * abs(scaled) * mine * other
            row_grad += pair_grad
            row_hess += pair_hess
            sizes += abs(pair_grad)
            store(g, j, load(g, j) + pair_grad)
            store(h, j, load(h, j) + pair_hess)
        g[i] -= sum_lanes(row_grad)
        h[i] += sum_lanes(row_hess)
    return sum_lanes(sizes)


@kernel
def add_wide_pairs(
    swaps: MetricTerms | None,
    query: int,
    norm: float,
    rows: int,
    sigma: float,
    normalize: bool,
    gains: Floats,
    scores: Floats,
    discounts: Floats,
    weights: Floats,
    work: Floats,
    g: Floats,
    h: Floats,
) -> float:
    """`add_pairs` from the scores themselves, with one exp per pair: for scores of a range beyond WIDEST_RANGE."""
    total = 0.0
    for i in range(rows):
        swap_weights(swaps, query, norm, discounts, i, i + 1, gains, work, weights)
        for j in range(i + 1, len(gains)):
            margin = sigma * (scores[i] - scores[j])
            weight = weights[0, j] / (LEAST_DISTANCE + abs(scores[i] - scores[j])) if normalize else weights[0, j]
            small = exp(-abs(margin))
            right = (margin > 0.0) == (weight > 0.0)
            pair_grad = sigma * weight * ((small if right else 1.0) / (1.0 + small))
            pair_hess = sigma * sigma * abs(weight) * small / (1.0 + small) ** 2
            g[i] -= pair_grad
            g[j] += pair_grad
            h[i] += pair_hess
            h[j] += pair_hess
            total += abs(pair_grad)
    return total


@gradients_of(LambdaArrays)
@kernel
def lambda_queries(
    arrays: LambdaArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last."""
    terms, swaps, sigma, normalize = arrays.terms, arrays.swaps, arrays.sigma, arrays.normalize
    longest = longest_of(indptr, first, last)
    order, scratch = np.empty(longest, np.int64), np.empty(longest, np.int64)
    ranked, ordered, work, room = np.empty(longest), np.empty(longest), np.empty((WORK_ROWS, longest + 1)), longest + 8
    e, weights, distance, discounts = np.ones(room), np.empty((ROWS_AT_ONCE, room)), np.ones(room), np.zeros(longest)
    g, h = np.zeros(room), np.zeros(room)
    for r in range(min(longest, len(terms.discounts))):
        discounts[r] = terms.discounts[r]
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        n = stop - start
        rows = rows_that_count(terms, query, n)
        if rows == 0 or n < 2:
            for r in range(start, stop):
                grad[r] = 0.0
                hess[r] = 0.0
            continue
        for r in range(n):
            order[r] = arrays.tie_order[start + r]
        rank_leading(scores, order[:n], min(terms.depth, n), scratch, ranked, work[0])
        highest = lowest = scores[order[0]]
        for r in range(n):
            ranked[r] = terms.gains[order[r]]
            ordered[r] = scores[order[r]]
            e[r] = exp(sigma * (ordered[r] - highest))
            lowest = min(lowest, ordered[r])
            g[r] = 0.0
            h[r] = 0.0
        rows, norm = prepare_weights(swaps, query, rows, ranked[:n], work), 1.0 / terms.divisors[query]
        if sigma * (highest - lowest) < WIDEST_RANGE:
            total = add_pairs(
                swaps, query, norm, rows, sigma, normalize, ranked[:n], ordered[:n], e, discounts, weights, distance,
                work, g, h,
            )  # fmt: skip
        else:
            total = add_wide_pairs(
                swaps, query, norm, rows, sigma, normalize, ranked[:n], ordered[:n], discounts, weights, work, g, h
            )
        factor = log2(1.0 + 2.0 * total) / (2.0 * total) if normalize and total > 0.0 else 1.0
        for r in range(n):
            grad[order[r]] = factor * g[r]
            hess[order[r]] = factor * max(h[r], sigma * abs(g[r]) / LONGEST_STEP)
