"""Kernels for cascade metrics: value and swap gains of a user who walks down the list and stops."""

from swaprank.arrays import Floats, Ints
from swaprank.elementary import log
from swaprank.kernels import kernel


@kernel
def cascade_value(ranked: Floats, ends: Ints, discounts: Floats, work: Floats) -> float:
    """sum_r D(r) R_r prod_{t<r} (1 - R_t): the user stops at rank r with probability R_r, for a reward of D(r).

    In a group of tied documents, the expected product over its first p ranks is the mean of all products of p of its
    (1 - R). `mean_products` computes it without enumerating orders.
    """
    n = min(len(ranked), len(discounts))
    value = 0.0
    reaching = 1.0
    start = 0
    while start < n and reaching > 0.0:
        end = ends[start]
        if end == start + 1:
            value += reaching * ranked[start] * discounts[start]
            reaching *= 1.0 - ranked[start]
        else:
            passing = work[0]
            reach = ranks_reached(ranked[start:end], min(end, n) - start)
            mean_products(ranked[start:end], reach, passing)
            for p in range(reach):
                value += reaching * (passing[p] - passing[p + 1]) * discounts[start + p]
            reaching *= passing[reach]
        start = end
    return value


@kernel
def ranks_reached(stops: Floats, reach: int) -> int:
    """The number of ranks of a tie group that a user reaches with probability above 1e-18.

    The probability of passing p ranks is at most (mean of 1 - stop)^p [Maclaurin's inequality]. Without this limit,
    thousands of tied documents would take quadratic time.
    """
    passing = 0.0
    for s in range(len(stops)):
        passing += (1.0 - stops[s]) / len(stops)
    if passing >= 1.0:
        return reach
    if passing <= 0.0:
        return 1
    return min(reach, 1 + int(log(1e-18) / log(passing)))


@kernel
def mean_products(stops: Floats, reach: int, means: Floats) -> None:
    """means[p], p = 0..reach: the mean over all p-subsets of the product of their (1 - stop).

    With one more element x, a p-subset of s + 1 elements contains it with probability p / (s + 1):
    means[p] <- ((s + 1 - p) means[p] + p x means[p-1]) / (s + 1). Averages of averages neither overflow nor underflow.
    Most documents stop nobody, so only stops strictly between 0 and 1 take a step each: all subsets of the zeros have
    product 1, and a p-subset with a certain stop has product 0, so the result is scaled by the chance of having none.
    """
    zeros, certain = 0, 0
    for s in range(len(stops)):
        zeros += stops[s] == 0.0
        certain += stops[s] == 1.0
    for p in range(reach + 1):
        means[p] = 1.0 if p <= zeros else 0.0
    size = zeros
    for s in range(len(stops)):
        if stops[s] != 0.0 and stops[s] != 1.0:
            x = 1.0 - stops[s]
            size += 1
            for p in range(min(size, reach), 0, -1):
                means[p] = ((size - p) * means[p] + p * x * means[p - 1]) / size
    chance = 1.0
    for p in range(1, reach + 1):
        chance *= max(size - p + 1, 0) / (size + certain - p + 1)
        means[p] *= chance


@kernel
def prepare_cascade(ranked: Floats, work: Floats) -> None:
    """work[0, r]: the probability that a user reaches rank r."""
    reaching = 1.0
    for r in range(len(ranked)):
        work[0, r] = reaching
        reaching *= 1.0 - ranked[r]


@kernel
def cascade_swaps(
    ranked: Floats, discounts: Floats, norm: float, first: int, last: int, work: Floats, out: Floats
) -> None:
    """The change when ranks i < j are swapped, in one walk down from i [Burges2010, section 3, for ERR].

    P_i (R_i - R_j) (S_ij + D(j) Q_ij - D(i)), with P_i the probability of reaching i, Q_ij of passing all between,
    and S_ij the expected reward of those between. There is no division, so R = 1 needs no special case.
    """
    n, cut = len(ranked), len(discounts)
    for i in range(first, last):
        scale, stop, row = norm * work[0, i], ranked[i], i - first
        discount = discounts[i] if i < cut else 0.0
        reward, passing = 0.0, 1.0
        for j in range(i + 1, min(n, cut)):
            there = passing * discounts[j]
            out[row, j] = scale * (stop - ranked[j]) * (reward + there - discount)
            reward += there * ranked[j]
            passing *= 1.0 - ranked[j]
        for j in range(max(i + 1, cut), n):
            out[row, j] = scale * (stop - ranked[j]) * (reward - discount)
