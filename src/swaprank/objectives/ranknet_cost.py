"""The value of RankNet's cost, for reporting; learners need only its gradient."""

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
                    margin = sigma * (scores[i] - scores[j])
                    if labels[i] < labels[j]:
                        margin = -margin
                    total += np.log1p(np.exp(-abs(margin))) + max(0.0, -margin)
        costs[query] = total
