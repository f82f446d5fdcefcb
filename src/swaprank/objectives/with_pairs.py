"""LambdaRank's lambdas, and the order of all pairs beside them, as RankNet learns it.

Lambdas say which pairs matter: few, if the metric looks at the top only. With few queries, a net learns more from all
pairs beside them than from the lambdas alone. With many queries, or if a net is too small to learn all pairs, they only
distract it.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.metrics.metric import bind_metric
from swaprank.metrics.terms import BPREF
from swaprank.objectives.beside import beside
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective import BoundKernelObjective, Objective
from swaprank.objectives.query_gradients import longest_step
from swaprank.objectives.ranknet_objective import bind_ranknet
from swaprank.parameters import Bounds, check_parameter


@final
@dataclass(frozen=True)
class WithPairs(Objective):
    """LambdaRank's objective plus RankNet's, from all pairs of documents with different gains in the metric.

    For NDCG these are the pairs with different labels, for MAP those of a relevant document and another one.

    Args:
        objective: The objective to add to.
        weight: The hessians of the pairs, relative to those of the lambdas: the ratio of their sums in each query.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 0, 1], qid=[1, 1, 1])
    >>> lambdas = sr.objectives.LambdaRankObjective(sr.metric("p@1"), normalize=False)
    >>> bound = sr.objectives.WithPairs(lambdas, weight=1.0).bind(data, random_state=0, n_threads=1)
    >>> grad, hess = np.empty(3), np.empty(3)
    >>> bound.update(np.array([0.2, 0.1, 0.0]), grad, hess)
    >>> grad.round(2).tolist()  # p@1 changes with the first document only: (0.55, 0, -0.55) without pairs
    [0.82, 0.26, -1.09]
    """

    objective: LambdaRankObjective
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_parameter("weight", self.weight, Bounds(False, 0, np.inf))

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundKernelObjective:
        """See `Objective`."""
        lambdas = self.objective.bind(data, random_state=random_state, n_threads=n_threads)
        terms = bind_metric(self.objective.metric, data).terms
        # Below 0 are documents without a judgement, which bpref does not look at.
        gains = np.maximum(terms.gains, 0.0) if terms.family == BPREF else terms.gains
        sigma, longest = float(self.objective.sigma), longest_step(self.objective.hessian_floor)
        pairs = bind_ranknet(data, gains, np.ones(data.n_queries), sigma, False, n_threads, longest)
        return beside(lambdas, pairs.arrays, self.weight)


def default_pair_weight(n_documents: int) -> float:
    """The weight of the pairs for nets with hidden layers: 1 up to 50,000 documents, then in proportion to 1 / n.

    >>> from swaprank.objectives.with_pairs import default_pair_weight
    >>> [default_pair_weight(n) for n in (1000, 50_000, 100_000, 1_000_000)]
    [1.0, 1.0, 0.5, 0.05]
    """
    return 50_000 / max(n_documents, 50_000)
