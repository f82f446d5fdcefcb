"""ListNet's cost in plain Python."""

from __future__ import annotations

from math import exp, fsum, log

from swaprank.arrays import Floats, Ints


def top_probabilities(values: list[float]) -> list[float]:
    total = fsum(exp(value) for value in values)
    return [exp(value) / total for value in values]


def listnet_cost(labels: Floats, scores: Floats, indptr: Ints) -> float:
    """The sum of the cross entropies of all queries."""
    costs = []
    for start, stop in zip(indptr[:-1], indptr[1:], strict=True):
        wanted, found = (top_probabilities(values[start:stop].tolist()) for values in (labels, scores))
        costs += [-t * log(p) for t, p in zip(wanted, found, strict=True)]
    return fsum(costs)
