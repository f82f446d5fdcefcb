"""Kernels of average precision, R-precision, bpref and pairs in the right order: values and swap gains."""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.ordering import rank_documents


@kernel
def average_precision_value(ranked: Floats, ends: Ints, discounts: Floats) -> float:
    """sum_r rel(r) D(r) c(r), with D(r) = 1/r and c(r) the number of relevant documents down to rank r.

    In a group of t tied documents with m relevant ones, each rank is relevant with probability m/t. Given that, every
    higher rank of the group is relevant with probability (m-1)/(t-1) [McSherry2008].
    """
    n = min(len(ranked), len(discounts))
    value = 0.0
    above = 0.0
    start = 0
    while start < n:
        end = ends[start]
        size = end - start
        if size == 1:
            value += ranked[start] * discounts[start] * (above + 1.0)
            above += ranked[start]
            start = end
            continue
        relevant = 0.0
        for r in range(start, end):
            relevant += ranked[r]
        share = relevant / size
        step = (relevant - 1.0) / (size - 1.0)
        for r in range(start, min(end, n)):
            value += share * discounts[r] * (above + 1.0 + step * (r - start))
        above += relevant
        start = end
    return value


@kernel
def prepare_average_precision(ranked: Floats, discounts: Floats, work: Floats) -> None:
    """Prefix sums: work[0] counts relevant documents, c(r); work[1] sums rel(r) D(r); work[2] is D(r) c(r)."""
    count, total = 0.0, 0.0
    for r in range(len(ranked)):
        discount = discounts[r] if r < len(discounts) else 0.0
        count += ranked[r]
        total += ranked[r] * discount
        work[0, r] = count
        work[1, r] = total
        work[2, r] = discount * count


@kernel
def average_precision_swaps(
    ranked: Floats, discounts: Floats, norm: float, first: int, last: int, work: Floats, out: Floats
) -> None:
    """The change when ranks i < j are swapped [Donmez2009]; a relevant document rises if rel(j) > rel(i).

    A rise from j to i adds 1 to the relevant count of every relevant rank between:
    D(i) (c(i) + 1) - D(j) c(j) + sum_{i<r<j} rel(r) D(r). A fall from i to j is the inverse.
    """
    n, one = np.uint64(len(ranked)), np.uint64(1)
    for i in range(first, last):
        gain, row = ranked[i], np.uint64(i - first)
        discount = discounts[i] if i < len(discounts) else 0.0
        stays, rises = discount * work[0, i] - work[1, i], discount * (work[0, i] + 1.0) - work[1, i]
        # An unsigned index: a loop over an index that could be negative is not vectorized.
        for j in range(np.uint64(i + 1), n):
            rise = ranked[j] - gain
            there = rises if rise > 0.0 else stays
            out[row, j] = norm * rise * (there - work[2, j] + work[1, j - one])


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
    """The number of documents seen so far with a larger label, which is a smaller level."""
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
