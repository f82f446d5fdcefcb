"""RankNet: the cross entropy of every pair's order, from the labels or from given pairs.

p_ij = 1 / (1 + exp(-sigma (s_i - s_j)))            the model's probability that i is above j
C_ij = -P_ij log p_ij - (1 - P_ij) log(1 - p_ij)     with the target P_ij               [Burges2005, Eq. 3]
grad_i += sigma (p_ij - P_ij)                        grad_j -= sigma (p_ij - P_ij)
hess_i, hess_j += sigma² p_ij (1 - p_ij)
"""

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Floats, Ints, contiguous_floats
from swaprank.collective import Collective, total
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import longest_list, query_of_row
from swaprank.data.pairs import PairLists, pairs_by_query
from swaprank.elementary import exp
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.objectives.objective import BoundKernelObjective, BoundObjective, Objective, bind_kernel
from swaprank.objectives.pair_sums import add_pair_sums
from swaprank.objectives.query_gradients import HESSIAN_FLOOR, LONGEST_STEP, gradients_of, longest_of, longest_step
from swaprank.objectives.ranknet_pairs import add_list
from swaprank.parameters import Bounds, check_parameter

LONG_LIST = 2000
"""Longer lists take the fast pair sums, which break even with the exact ones at 500 to 1000 documents."""
_PAIRS_PER_LONG_LIST_DOCUMENT = 400.0
"""The cost of a document by the fast pair sums, in pairs."""
_PAIRS_PER_GIVEN_PAIR = 10.0
"""The cost of a given pair, in pairs from labels."""


class RankNetArrays(NamedTuple):
    """RankNet from the labels of one data set."""

    labels: Floats
    by_label: Ints
    """Each query's documents by descending label."""
    divisors: Floats
    """The divisor of the sum over the pairs of each query."""
    sigma: float
    ties: bool
    """True if documents of equal labels are pairs with the target 1/2."""
    longest_step: float = LONGEST_STEP


class LongRankNetArrays(NamedTuple):
    """The same where some list is longer than LONG_LIST: a type of its own, as fast pair sums take long to compile."""

    lists: RankNetArrays


class GivenPairsArrays(NamedTuple):
    """RankNet from the pairs of a data set."""

    pairs: PairLists
    """The probability of each pair is its target P."""
    sigma: float
    longest_step: float = LONGEST_STEP


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
def write_query(
    sigma: float, longest_step: float, divisor: float, order: Ints, g: Floats, h: Floats, grad: Floats, hess: Floats
) -> None:
    """grad and hess of one query's documents from the sums over their pairs."""
    for r in range(len(order)):
        own_grad = sigma * g[r] / divisor
        grad[order[r]] = own_grad
        hess[order[r]] = max(sigma * sigma * h[r] / divisor, sigma * abs(own_grad) / longest_step)


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
        write_query(arrays.sigma, arrays.longest_step, arrays.divisors[query], order, g, h, grad, hess)


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
        write_query(lists.sigma, lists.longest_step, lists.divisors[query], order, g, h, grad, hess)


@kernel
def pair_derivatives(margin: float, target: float) -> tuple[float, float]:
    """First and second derivative of a pair's cost by its margin m = sigma (s_i - s_j): p - P and p (1 - p)."""
    small = exp(-abs(margin))
    upper, lower = 1.0 / (1.0 + small), small / (1.0 + small)
    p, q = (upper, lower) if margin > 0.0 else (lower, upper)
    # (1 - P) p - P (1 - p) = p - P, without cancellation where P is 0 or 1.
    return (1.0 - target) * p - target * q, upper * lower


@gradients_of(GivenPairsArrays)
@kernel
def given_pairs_queries(
    arrays: GivenPairsArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last, from the given pairs with their targets P and weights."""
    pairs, sigma = arrays.pairs, arrays.sigma
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        for r in range(start, stop):
            grad[r] = 0.0
            hess[r] = 0.0
        for pair in range(pairs.indptr[query], pairs.indptr[query + 1]):
            i, j, target, weight = pairs.above[pair], pairs.below[pair], pairs.probability[pair], pairs.weight[pair]
            slope, curvature = pair_derivatives(sigma * (scores[i] - scores[j]), target)
            pair_grad, pair_hess = weight * sigma * slope, weight * sigma * sigma * curvature
            grad[i] += pair_grad
            grad[j] -= pair_grad
            hess[i] += pair_hess
            hess[j] += pair_hess
        for r in range(start, stop):
            hess[r] = max(hess[r], sigma * abs(grad[r]) / arrays.longest_step)


@final
@dataclass(frozen=True)
class RankNetObjective(Objective):
    """Sum over pairs of -P log p - (1 - P) log(1 - p), with p = 1 / (1 + exp(-sigma (s_i - s_j))) [Burges2005, Eq. 3].

    Pairs come from the labels, with the target P = 1 for the larger label. If a data set has `pairs`, these are used
    instead, with their probabilities as targets, and their costs times their weights; they may be incomplete or
    inconsistent. The sum is not divided by the number of pairs, as in the paper. A list may have millions of documents:
    beyond 2000, the pairs from labels are summed in about n log n, with a relative error below 1e-7.

    Args:
        sigma: Steepness of the probability in the score difference.
        ties: Whether documents of equal labels are pairs too, with the target 1/2.
        hessian_floor: A document's hessian is at least this times sigma |grad|. 0: as in the paper.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 1, 1], qid=[1, 1, 1])
    >>> bound = sr.objectives.RankNetObjective().bind(data, random_state=0, n_threads=1)
    >>> grad, hess = np.empty(3), np.empty(3)
    >>> bound.update(np.zeros(3), grad, hess)
    >>> grad.tolist(), hess.tolist()
    ([1.0, -0.5, -0.5], [0.5, 0.25, 0.25])
    """

    sigma: float = 1.0
    ties: bool = False
    hessian_floor: float = HESSIAN_FLOOR

    def __post_init__(self) -> None:
        check_parameter("hessian_floor", self.hessian_floor, Bounds(False, 0, 1))

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundKernelObjective:
        """See `Objective`; RankNet draws nothing at random."""
        longest = longest_step(self.hessian_floor)
        if data.pairs is None:
            labels = contiguous_floats(data.by_query(data.labels))
            return bind_ranknet(data, labels, np.ones(data.n_queries), self.sigma, self.ties, n_threads, longest)
        pairs = pairs_by_query(data.pairs, data.indptr, data.order)
        arrays = GivenPairsArrays(pairs, float(self.sigma), longest)
        return bind_kernel(arrays, data, _PAIRS_PER_GIVEN_PAIR * np.diff(pairs.indptr), n_threads)

    def bind_share(
        self, data: Dataset, *, random_state: int, n_threads: int | None, collective: Collective
    ) -> BoundObjective:
        """See `Objective`. Given pairs of all workers must weigh something; those of one worker need not."""
        weigh = data.pairs is None or bool(data.pairs.weight.any())
        if total(collective, int(weigh)) == 0:
            raise DataError("no given pair has a weight above 0: there is nothing to learn from.")
        return super().bind_share(data, random_state=random_state, n_threads=n_threads, collective=collective)


def bind_ranknet(
    data: Dataset, labels: Floats, divisors: Floats, sigma: float, ties: bool, n_threads: int | None, longest: float
) -> BoundKernelObjective:
    """RankNet from labels, with the sum over each query's pairs divided by its divisor."""
    arrays = RankNetArrays(labels, by_descending_label(labels, data.indptr), divisors, float(sigma), ties, longest)
    is_long = longest_list(data.indptr) > LONG_LIST
    lengths = np.diff(data.indptr).astype(np.float64)
    costs = lengths * np.where(lengths > LONG_LIST, _PAIRS_PER_LONG_LIST_DOCUMENT, lengths)
    return bind_kernel(LongRankNetArrays(arrays) if is_long else arrays, data, costs, n_threads)


def by_descending_label(labels: Floats, indptr: Ints) -> Ints:
    """Each query's documents by descending label; equal labels keep their order."""
    return np.lexsort((-labels, query_of_row(indptr))).astype(np.int64)
