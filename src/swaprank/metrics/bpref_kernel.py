"""Kernels for bpref: value and swap gains."""

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel

RELEVANT, UNJUDGED = 1.0, -1.0


@kernel
def credit(above: float, relevant: float, others: float) -> float:
    """The credit of a relevant document with `above` judged non-relevant ones above: 1 - min(above, R) / min(N, R)."""
    return 1.0 - min(above, relevant) / min(others, relevant) if above > 0.0 else 1.0


@kernel
def bpref_value(ranked: Floats, ends: Ints, relevant: float, others: float) -> float:
    """Sum of credits; a relevant document tied with w non-relevant ones ranks below 0..w of them, equally likely."""
    n = len(ranked)
    value = 0.0
    above = 0
    start = 0
    while start < n:
        end = ends[start]
        hits, misses = 0, 0
        for r in range(start, end):
            hits += ranked[r] == RELEVANT
            misses += ranked[r] == 0.0
        if hits > 0:
            total = 0.0
            for x in range(misses + 1):
                total += credit(above + x, relevant, others)
            value += hits * total / (misses + 1)
        above += misses
        start = end
    return value


@kernel
def prepare_bpref(ranked: Floats, relevant: float, others: float, work: Floats) -> None:
    """work[0]: non-relevant above; work[1], work[2]: prefix sums of credit changes for one more, one fewer above."""
    above, more, fewer = 0.0, 0.0, 0.0
    for r in range(len(ranked)):
        work[0, r] = above
        if ranked[r] == RELEVANT:
            now = credit(above, relevant, others)
            more += credit(above + 1.0, relevant, others) - now
            fewer += credit(above - 1.0, relevant, others) - now
        elif ranked[r] == 0.0:
            above += 1.0
        work[1, r] = more
        work[2, r] = fewer


@kernel
def bpref_swaps(ranked: Floats, relevant: float, others: float, norm: float, i: int, work: Floats, out: Floats) -> None:
    """The change when ranks i < j are swapped: of the two documents, and of the relevant ones between them."""
    for j in range(i + 1, len(ranked)):
        shift = (1.0 if ranked[j] == 0.0 else 0.0) - (1.0 if ranked[i] == 0.0 else 0.0)
        change = 0.0
        if ranked[j] == RELEVANT:
            change += credit(work[0, i], relevant, others) - credit(work[0, j], relevant, others)
        if ranked[i] == RELEVANT:
            change += credit(work[0, j] + shift, relevant, others) - credit(work[0, i], relevant, others)
        if shift > 0.0:
            change += work[1, j - 1] - work[1, i]
        elif shift < 0.0:
            change += work[2, j - 1] - work[2, i]
        out[j] = norm * change
