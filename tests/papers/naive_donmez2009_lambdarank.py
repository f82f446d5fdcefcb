"""The lambdas of MAP from [Donmez2009], section 4, in plain Python and NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.papers.naive_burges2005_ranknet import Floats


def average_precision(relevant: Sequence[int]) -> float:
    """Of binary labels in the order of the ranks."""
    precisions = [sum(relevant[: r + 1]) / (r + 1) for r in range(len(relevant)) if relevant[r]]
    return sum(precisions) / len(precisions)


def change_of_average_precision(relevant: Sequence[int], upper: int, lower: int) -> float:
    """When a document that is not relevant, at rank `upper`, is swapped with a relevant one at rank `lower` below it.

    n and m are the relevant documents down to both ranks.
    """
    n, m = sum(relevant[:upper]), sum(relevant[:lower])
    between = sum(relevant[k - 1] / k for k in range(upper + 1, lower))
    return ((n + 1) / upper - m / lower + between) / sum(relevant)


def map_lambdas(labels: Floats, scores: Floats) -> Floats:
    """The derivative of RankNet's cost times the change of average precision when the two documents are swapped."""
    order = list(np.argsort(-scores, kind="stable"))
    ranked = [int(labels[i]) for i in order]
    forces = np.zeros(len(labels))
    for a, i in enumerate(order):
        for b, j in enumerate(order):
            if labels[i] > labels[j]:
                swapped = list(ranked)
                swapped[a], swapped[b] = ranked[b], ranked[a]
                change = abs(average_precision(swapped) - average_precision(ranked))
                force = change / (1 + np.exp(scores[i] - scores[j]))
                forces[i] += force
                forces[j] -= force
    return forces
