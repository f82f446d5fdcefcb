"""Pairs of documents in the right order: the share that a pairwise learner counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.metric import Metric
from swaprank.metrics.ordering import rank_documents
from swaprank.metrics.terms import PAIRWISE, Lists, MetricTerms, longest_list, make_terms


@kernel
def pairwise_value(ranked: Floats, ends: Ints, work: Floats, levels: Ints, scratch: Ints) -> float:
    """Pairs of different labels with the larger one above; half a pair where their scores are tied.

    One walk down the list with a Fenwick tree over the label levels: n log n, whatever the list's length.
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
    """Documents seen so far whose label is larger: whose level has a smaller number."""
    total = 0.0
    node = level
    while node > 0:
        total += seen[node]
        node -= node & -node
    return total


@kernel
def prepare_pairwise(ranked: Floats, work: Floats) -> None:
    """work[0, j] will hold, for the row i at hand, the sum over i < r < j of sign(l_j - l_r)."""
    work[0, : len(ranked)] = 0.0


@kernel
def pairwise_swaps(ranked: Floats, norm: float, i: int, work: Floats, out: Floats) -> None:
    """The change when ranks i < j trade places; rows must be asked for from the last rank up.

    sign(l_j - l_i) for the pair itself, and for each document r between, which both now stand on the other side of,
    sign(l_j - l_r) + sign(l_r - l_i). The first sum grows row by row in `work`, the second along the row.
    """
    n = len(ranked)
    between = 0.0
    for j in range(i + 1, n):
        if j > i + 1:
            work[0, j] += np.sign(ranked[j] - ranked[i + 1])
            between += np.sign(ranked[j - 1] - ranked[i])
        out[j] = norm * (np.sign(ranked[j] - ranked[i]) + work[0, j] + between)


@kernel
def count_pairs(labels: Floats, indptr: Ints, longest: int, pairs: Floats) -> None:
    """Pairs of different labels in each query: all pairs less those of equal labels."""
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


@final
@dataclass(frozen=True, kw_only=True)
class PairwiseCorrect(Metric):
    """The share of pairs of different labels in the right order; the area under the ROC curve for two labels.

    >>> import swaprank as sr
    >>> sr.PairwiseCorrect().mean([0, 1, 2], [1, 3, 2], [0, 3]) == 2 / 3
    True
    """

    names: ClassVar = ("pairwise",)
    title: ClassVar = "pairs in the right order"
    takes_k: ClassVar = False

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        pairs = np.empty(len(lists.indptr) - 1)
        count_pairs(lists.labels, lists.indptr, longest_list(lists.indptr), pairs)
        return make_terms(
            PAIRWISE,
            lists.labels,
            lists,
            divisors=pairs,
            hopeless=pairs == 0,
            empty=self.empty,
        )
