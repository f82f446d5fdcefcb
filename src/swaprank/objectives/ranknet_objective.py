"""RankNet: the cross entropy of every pair's order, bound to a data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import query_of_row
from swaprank.metrics.pairwise_correct import PairwiseCorrect
from swaprank.objectives.forces import GIVEN_PAIRS, RANKNET, BoundForces, bind_forces, make_forces
from swaprank.objectives.objective import Objective


@final
@dataclass(frozen=True)
class RankNetObjective(Objective):
    """Sum over pairs of -P log p - (1 - P) log(1 - p), with p = 1 / (1 + exp(-sigma (s_i - s_j))) [Burges2005, Eq. 3].

    Pairs come from the labels, with the target P = 1 for the larger one; or, where a data set has `pairs`, from them
    alone, with their probabilities as targets: any, also incomplete or inconsistent ones. Pairs are summed, as in the
    paper, not averaged. One list may have millions of documents: beyond 2000, the pairs from labels are summed in about
    n log n, to better than 1e-7.

    Args:
        sigma: How steep the probability is in the difference of scores.
        ties: Whether documents of equal labels are pairs too, with the target 1/2.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.objectives.ranknet_objective import RankNetObjective
    >>> data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 1, 1], qid=[1, 1, 1])
    >>> bound = RankNetObjective().bind(data, random_state=0, n_threads=1)
    >>> grad, hess = np.empty(3), np.empty(3)
    >>> bound.update(np.zeros(3), grad, hess)
    >>> grad.tolist(), hess.tolist()
    ([1.0, -0.5, -0.5], [0.5, 0.25, 0.25])
    """

    sigma: float = 1.0
    ties: bool = False

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundForces:
        """See `Objective`; nothing is drawn."""
        labels = np.array(data.by_query(data.labels))
        terms = PairwiseCorrect().bind(labels, data.indptr).terms
        terms = terms._replace(divisors=np.ones(data.n_queries))
        rule = RANKNET if data.pairs is None else GIVEN_PAIRS
        forces = make_forces(
            rule, data, terms, by_descending_label(labels, data.indptr), sigma=self.sigma, ties=self.ties
        )
        return bind_forces("pairwise", forces, data, n_threads)


def by_descending_label(labels: Floats, indptr: Ints) -> Ints:
    """Each query's documents, the largest label first, equal ones as they came."""
    return np.lexsort((-labels, query_of_row(indptr))).astype(np.int64)
