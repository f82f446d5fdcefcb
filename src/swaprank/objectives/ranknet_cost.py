"""The value of RankNet's cost, for reporting; learners need only its gradient."""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.elementary import exp, log1p
from swaprank.kernels import kernel


@kernel
def pair_cost(margin: float) -> float:
    """log(1 + exp(-margin)), without overflow."""
    return log1p(exp(-abs(margin))) + max(0.0, -margin)


@kernel
def given_pair_costs(margins: Floats, targets: Floats) -> Floats:
    """The cost of each pair with P(i above j) = target: log(1 + exp(-m)) + (1 - P) m, m = sigma (s_i - s_j).

    >>> import numpy as np
    >>> from swaprank.objectives.ranknet_cost import given_pair_costs
    >>> given_pair_costs(np.array([0.0, 2.0]), np.array([0.5, 1.0])).round(4).tolist()
    [0.6931, 0.1269]
    """
    costs = np.empty(len(margins))
    for pair in range(len(margins)):
        costs[pair] = pair_cost(margins[pair]) + (1.0 - targets[pair]) * margins[pair]
    return costs


@kernel
def ranknet_costs(labels: Floats, indptr: Ints, scores: Floats, sigma: float, costs: Floats) -> None:
    """costs[q]: the sum of log(1 + exp(-sigma (s_i - s_j))) over the pairs of query q with i of the larger label."""
    for query in range(len(costs)):
        total = 0.0
        for i in range(indptr[query], indptr[query + 1]):
            for j in range(indptr[query], i):
                if labels[i] != labels[j]:
                    margin = sigma * (scores[i] - scores[j])
                    if labels[i] < labels[j]:
                        margin = -margin
                    total += pair_cost(margin)
        costs[query] = total
