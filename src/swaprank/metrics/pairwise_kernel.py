"""Kernels for pairs in the right order: value, swap gains, and the number of pairs."""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.ordering import rank_documents


@kernel
def pairwise_value(ranked: Floats, ends: Ints, work: Floats, levels: Ints, scratch: Ints) -> float:
    """The number of pairs of different labels with the larger one above; a pair with tied scores counts half.

    One walk down the list with a Fenwick tree over the label levels: O(n log n).
    """
    n = len(ranked)
    seen, in_group = work[0], work[1]
    for r in range(n):
        seen[r] = in_group[r] = 0.0
    seen[n] = 0.0
    label_levels(ranked, work[2], levels, scratch)
    pairs = 0.0
    start = 0
    while start < n:
        end = ends[start]
        for r in range(start, end):
            pairs += _seen_above(seen, levels[r])
        for r in range(start, end):
            pairs += 0.5 * (r - start - in_group[levels[r]])
            in_group[levels[r]] += 1.0
        for r in range(start, end):
            in_group[levels[r]] = 0.0
            _see(seen, levels[r], n)
        start = end
    return pairs


@kernel
def label_levels(ranked: Floats, level_of: Floats, levels: Ints, scratch: Ints) -> None:
    """levels[r]: 0 for the largest label of the list, 1 for the next largest, and so on."""
    n = len(ranked)
    for r in range(n):
        levels[r] = r
    rank_documents(ranked, levels[:n], scratch, level_of)
    level = 0
    for place in range(n):
        if place > 0 and ranked[levels[place]] != ranked[levels[place - 1]]:
            level += 1
        level_of[levels[place]] = level
    for r in range(n):
        levels[r] = np.int64(level_of[r])


@kernel
def _see(seen: Floats, level: int, n: int) -> None:
    node = level + 1
    while node <= n:
        seen[node] += 1.0
        node += node & -node


@kernel
def _seen_above(seen: Floats, level: int) -> float:
    """How many documents seen so far have a larger label, which is a smaller level."""
    total = 0.0
    node = level
    while node > 0:
        total += seen[node]
        node -= node & -node
    return total


@kernel
def prepare_pairwise(ranked: Floats, work: Floats) -> None:
    """work[0, j]: how many labels are larger than l_j; work[1, j]: sum over r < j of sign(l_j - l_r).

    Comparing all pairs is vectorized, and takes a small part of the time of all swap gains.
    """
    n = len(ranked)
    for j in range(n):
        label = ranked[j]
        larger, order = np.int64(0), np.int64(0)
        for r in range(n):
            larger += np.int64(ranked[r] > label)
        for r in range(j):
            order += np.int64(label > ranked[r]) - np.int64(label < ranked[r])
        work[0, j] = larger
        work[1, j] = order


@kernel
def pairwise_swaps(ranked: Floats, norm: float, i: int, work: Floats, out: Floats) -> None:
    """The change when ranks i < j are swapped.

    It is sign(l_j - l_i) for the pair itself, plus sign(l_j - l_r) + sign(l_r - l_i) for each document r between. The
    first sum over r is the sum over all r < j minus that over r <= i, which is equal for all j of one label and is
    stored in work[2]; the second sum is accumulated along the row.
    """
    n = len(ranked)
    levels, down_to_i = work[0], work[2]
    for level in range(n):
        down_to_i[level] = 0.0
    for r in range(i + 1):
        down_to_i[np.int64(levels[r])] += 1.0
    larger = 0.0
    for level in range(n):
        equal = down_to_i[level]
        down_to_i[level] = (i + 1 - larger - equal) - larger
        larger += equal
    between = 0.0
    label = ranked[i]
    for j in range(i + 1, n):
        # Includes j, not only j - 1: this term is the sign of the pair itself.
        between += np.sign(ranked[j] - label)
        out[j] = norm * (work[1, j] - down_to_i[np.int64(levels[j])] + between)


@kernel
def count_pairs(labels: Floats, indptr: Ints, longest: int, pairs: Floats) -> None:
    """The number of pairs of different labels in each query: all pairs minus those of equal labels."""
    order, scratch, gathered = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest)
    for query in range(len(pairs)):
        first, n = indptr[query], indptr[query + 1] - indptr[query]
        for r in range(n):
            order[r] = first + r
        rank_documents(labels, order[:n], scratch, gathered)
        total = n * (n - 1) / 2.0
        start = 0
        for r in range(1, n + 1):
            if r == n or labels[order[r]] != labels[order[start]]:
                total -= (r - start) * (r - start - 1) / 2.0
                start = r
        pairs[query] = total
