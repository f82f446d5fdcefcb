"""RankNet's gradients, query by query: from the labels, or from given pairs.

p_ij = 1 / (1 + exp(-sigma (s_i - s_j)))            the model's probability that i is above j
C_ij = -P_ij log p_ij - (1 - P_ij) log(1 - p_ij)     with the target P_ij               [Burges2005, Eq. 3]
grad_i += sigma (p_ij - P_ij)                        grad_j -= sigma (p_ij - P_ij)
hess_i, hess_j += sigma² p_ij (1 - p_ij)
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.elementary import exp
from swaprank.kernels import kernel
from swaprank.objectives.pair_limits import LONGEST_STEP
from swaprank.objectives.pair_sums import add_pair_sums
from swaprank.objectives.query_gradients import gradients_of, longest_of
from swaprank.objectives.ranknet_pairs import add_list

LONG_LIST = 2000
"""Longer lists take the fast pair sums, which break even with the exact ones at 500 to 1000 documents."""


class RankNetArrays(NamedTuple):
    """RankNet from the labels of one data set."""

    labels: Floats
    by_label: Ints
    """Each query's documents by descending label."""
    divisors: Floats
    """What the sum over the pairs of each query is divided by."""
    sigma: float
    ties: bool
    """Whether documents of equal labels are pairs with the target 1/2."""


class LongRankNetArrays(NamedTuple):
    """The same where some list is longer than LONG_LIST: a type of its own, as fast pair sums take long to compile."""

    lists: RankNetArrays


class GivenPairsArrays(NamedTuple):
    """RankNet from the pairs of a data set."""

    pair_indptr: Ints
    """Query q has the pairs from pair_indptr[q] to pair_indptr[q + 1]."""
    above: Ints
    below: Ints
    targets: Floats
    """P of each pair."""
    sigma: float


@kernel
def read_query(
    arrays: RankNetArrays, scores: Floats, order: Ints, labels: Floats, x: Floats, g: Floats, h: Floats
) -> None:
    """Labels and x = sigma * score of one query's documents by descending label; g and h are set to 0."""
    for r in range(len(order)):
        labels[r] = arrays.labels[order[r]]
        x[r] = arrays.sigma * scores[order[r]]
        g[r] = 0.0
        h[r] = 0.0


@kernel
def write_query(sigma: float, divisor: float, order: Ints, g: Floats, h: Floats, grad: Floats, hess: Floats) -> None:
    """grad and hess of one query's documents from the sums over their pairs."""
    for r in range(len(order)):
        own_grad = sigma * g[r] / divisor
        grad[order[r]] = own_grad
        hess[order[r]] = max(sigma * sigma * h[r] / divisor, sigma * abs(own_grad) / LONGEST_STEP)


@gradients_of(RankNetArrays)
@kernel
def ranknet_queries(
    arrays: RankNetArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last."""
    longest = longest_of(indptr, first, last)
    labels, x, e, g, h = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    for query in range(first, last):
        order = arrays.by_label[indptr[query] : indptr[query + 1]]
        n = len(order)
        read_query(arrays, scores, order, labels, x, g, h)
        if n > 0:
            add_list(labels[:n], x[:n], arrays.ties, e[:n], g[:n], h[:n])
        write_query(arrays.sigma, arrays.divisors[query], order, g, h, grad, hess)


@gradients_of(LongRankNetArrays)
@kernel
def long_ranknet_queries(
    arrays: LongRankNetArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """`ranknet_queries` for lists of any length."""
    lists, longest = arrays.lists, longest_of(indptr, first, last)
    labels, x, e, g, h = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    places, scratch = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for query in range(first, last):
        order = lists.by_label[indptr[query] : indptr[query + 1]]
        n = len(order)
        read_query(lists, scores, order, labels, x, g, h)
        if n > LONG_LIST:
            add_pair_sums(labels[:n], x[:n], lists.ties, places, scratch, e, g, h)
        elif n > 0:
            add_list(labels[:n], x[:n], lists.ties, e[:n], g[:n], h[:n])
        write_query(lists.sigma, lists.divisors[query], order, g, h, grad, hess)


@gradients_of(GivenPairsArrays)
@kernel
def given_pairs_queries(
    arrays: GivenPairsArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last, from the given pairs with their targets P."""
    sigma = arrays.sigma
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        for r in range(start, stop):
            grad[r] = 0.0
            hess[r] = 0.0
        for pair in range(arrays.pair_indptr[query], arrays.pair_indptr[query + 1]):
            i, j, target = arrays.above[pair], arrays.below[pair], arrays.targets[pair]
            margin = sigma * (scores[i] - scores[j])
            small = exp(-abs(margin))
            upper, lower = 1.0 / (1.0 + small), small / (1.0 + small)
            p, q = (upper, lower) if margin > 0.0 else (lower, upper)
            # (1 - P) p - P (1 - p) = p - P, without cancellation where P is 0 or 1.
            pair_grad = sigma * ((1.0 - target) * p - target * q)
            pair_hess = sigma * sigma * upper * lower
            grad[i] += pair_grad
            grad[j] -= pair_grad
            hess[i] += pair_hess
            hess[j] += pair_hess
        for r in range(start, stop):
            hess[r] = max(hess[r], sigma * abs(grad[r]) / LONGEST_STEP)
