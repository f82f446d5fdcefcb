"""The value of RankNet's cost, for those who want to see it fall; learners need its gradients alone."""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel


@kernel
def ranknet_costs(labels: Floats, indptr: Ints, scores: Floats, sigma: float, costs: Floats) -> None:
    """costs[q]: the sum of log(1 + exp(-sigma (s_i - s_j))) over the pairs of query q with i of the larger label."""
    for query in range(len(costs)):
        total = 0.0
        for i in range(indptr[query], indptr[query + 1]):
            for j in range(indptr[query], i):
                if labels[i] != labels[j]:
                    ahead = sigma * (scores[i] - scores[j])
                    if labels[i] < labels[j]:
                        ahead = -ahead
                    total += np.log1p(np.exp(-abs(ahead))) + max(0.0, -ahead)
        costs[query] = total
