"""Kernels for R-precision: value and swap gains. R is the number of the query's relevant documents."""

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel


@kernel
def r_precision_value(ranked: Floats, ends: Ints, relevant: float) -> float:
    """The number of relevant documents among the first R; tied documents share their mean."""
    last = min(len(ranked), int(relevant))
    value = 0.0
    start = 0
    while start < last:
        end = ends[start]
        hits = 0.0
        for r in range(start, end):
            hits += ranked[r]
        value += hits / (end - start) * (min(end, last) - start)
        start = end
    return value


@kernel
def r_precision_swaps(ranked: Floats, relevant: float, norm: float, i: int, out: Floats) -> None:
    """Only a swap across rank R changes anything."""
    last = int(relevant)
    for j in range(i + 1, len(ranked)):
        out[j] = norm * (ranked[j] - ranked[i]) if i < last <= j else 0.0
