"""RankNet: the cross entropy of every pair's order, bound to a data set."""

from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.arrays import Floats, Ints, contiguous_floats, contiguous_ints
from swaprank.data.dataset import Dataset, Pairs
from swaprank.data.grouping import longest_list, query_of_row
from swaprank.objectives.kernel_objective import BoundKernelObjective, bind_kernel
from swaprank.objectives.objective import Objective
from swaprank.objectives.ranknet_queries import LONG_LIST, GivenPairsArrays, LongRankNetArrays, RankNetArrays

_PAIRS_PER_LONG_LIST_DOCUMENT = 400.0
"""What a document costs by the fast pair sums, in pairs."""
_PAIRS_PER_GIVEN_PAIR = 10.0
"""What a given pair costs, in pairs from labels."""


@final
@dataclass(frozen=True)
class RankNetObjective(Objective):
    """Sum over pairs of -P log p - (1 - P) log(1 - p), with p = 1 / (1 + exp(-sigma (s_i - s_j))) [Burges2005, Eq. 3].

    Pairs come from the labels, with the target P = 1 for the larger label. If a data set has `pairs`, these are used
    instead, with their probabilities as targets; they may be incomplete or inconsistent. The sum is not divided by the
    number of pairs, as in the paper. A list may have millions of documents: beyond 2000, the pairs from labels are
    summed in about n log n, with a relative error below 1e-7.

    Args:
        sigma: Steepness of the probability in the score difference.
        ties: Whether documents of equal labels are pairs too, with the target 1/2.

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

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundKernelObjective:
        """See `Objective`; RankNet draws nothing at random."""
        if data.pairs is None:
            labels = contiguous_floats(data.by_query(data.labels))
            return bind_ranknet(data, labels, np.ones(data.n_queries), self.sigma, self.ties, n_threads)
        arrays = given_pairs(data, data.pairs, self.sigma)
        return bind_kernel(arrays, data, _PAIRS_PER_GIVEN_PAIR * np.diff(arrays.pair_indptr), n_threads)


def bind_ranknet(
    data: Dataset, labels: Floats, divisors: Floats, sigma: float, ties: bool, n_threads: int | None
) -> BoundKernelObjective:
    """RankNet from labels, with the sum over each query's pairs divided by its divisor."""
    arrays = RankNetArrays(labels, by_descending_label(labels, data.indptr), divisors, float(sigma), ties)
    is_long = longest_list(data.indptr) > LONG_LIST
    lengths = np.diff(data.indptr).astype(np.float64)
    costs = lengths * np.where(lengths > LONG_LIST, _PAIRS_PER_LONG_LIST_DOCUMENT, lengths)
    return bind_kernel(LongRankNetArrays(arrays) if is_long else arrays, data, costs, n_threads)


def given_pairs(data: Dataset, pairs: Pairs, sigma: float) -> GivenPairsArrays:
    """The pairs of a data set by query, between documents that are numbered query after query."""
    place = np.arange(len(data)) if data.order is None else np.argsort(data.order)
    by_query = np.argsort(place[pairs.above], kind="stable")
    above, below = place[pairs.above][by_query], place[pairs.below][by_query]
    pair_indptr, targets = (
        contiguous_ints(np.searchsorted(above, data.indptr)),
        contiguous_floats(pairs.probability[by_query]),
    )
    return GivenPairsArrays(pair_indptr, contiguous_ints(above), contiguous_ints(below), targets, float(sigma))


def by_descending_label(labels: Floats, indptr: Ints) -> Ints:
    """Each query's documents by descending label; equal labels keep their order."""
    return np.lexsort((-labels, query_of_row(indptr))).astype(np.int64)
