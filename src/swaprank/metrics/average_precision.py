"""Average precision: the mean of the precision at each relevant document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.metric import Metric
from swaprank.metrics.metric_options import is_relevant
from swaprank.metrics.terms import (
    AVERAGE_PRECISION,
    Lists,
    MetricTerms,
    longest_list,
    make_terms,
    sum_by_query,
)


@kernel
def average_precision_value(ranked: Floats, ends: Ints, discounts: Floats) -> float:
    """sum_r rel(r) D(r) c(r), D(r) = 1/r and c(r) relevant documents down to rank r.

    Within a group of t tied documents of which m are relevant, each place is relevant with probability m/t, and
    then expects (m-1)/(t-1) relevant ones at each place of the group above it [McSherry & Najork 2008].
    """
    n = min(len(ranked), len(discounts))
    value = 0.0
    above = 0.0
    start = 0
    while start < n:
        end = ends[start]
        size = end - start
        relevant = 0.0
        for r in range(start, end):
            relevant += ranked[r]
        share = relevant / size
        step = (relevant - 1.0) / (size - 1.0) if size > 1 else 0.0
        for r in range(start, min(end, n)):
            value += share * discounts[r] * (above + 1.0 + step * (r - start))
        above += relevant
        start = end
    return value


@kernel
def prepare_average_precision(ranked: Floats, discounts: Floats, work: Floats) -> None:
    """Prefix sums: work[0] counts relevant documents c(r), work[1] adds up rel(r) D(r); work[2] is D(r) c(r)."""
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
    """The change when ranks i < j trade places [Donmez2009]; a relevant document rises where rel(j) > rel(i).

    A rise adds 1 to the relevant count of every relevant rank between, takes the place of rank i and leaves rank j:
    D(i) (c(i) + 1) - D(j) c(j) + sum_{i<r<j} rel(r) D(r). A fall is the same rise undone.
    """
    n, one = np.uint64(len(ranked)), np.uint64(1)
    for i in range(first, last):
        gain, row = ranked[i], np.uint64(i - first)
        discount = discounts[i] if i < len(discounts) else 0.0
        stays, rises = discount * work[0, i] - work[1, i], discount * (work[0, i] + 1.0) - work[1, i]
        # The index is unsigned, for one that might be negative keeps the loop from vectorising.
        for j in range(np.uint64(i + 1), n):
            rise = ranked[j] - gain
            there = rises if rise > 0.0 else stays
            out[row, j] = norm * rise * (there - work[2, j] + work[1, j - one])


@final
@dataclass(frozen=True, kw_only=True)
class AveragePrecision(Metric):
    """Average precision; its mean over queries is MAP. With a cut-off, relevant documents beyond it count 0.

    Divided by the number of relevant documents, or, over="reachable", by k where there are more than k.

    >>> import swaprank as sr
    >>> sr.AveragePrecision().mean([1, 0, 1], [3, 2, 1], [0, 3]) == (1 / 1 + 2 / 3) / 2
    True
    """

    names: ClassVar = ("map", "ap")
    title: ClassVar = "average precision"
    rel: float = 1
    over: str = "relevant"

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        longest = max(longest_list(lists.indptr), 1)
        depth = min(longest, self.k or longest)
        relevant = sum_by_query(is_relevant(pool.labels, self.rel), pool.indptr)
        reachable = relevant if self.over == "relevant" or self.k is None else np.minimum(relevant, self.k)
        return make_terms(
            AVERAGE_PRECISION,
            is_relevant(lists.labels, self.rel),
            lists,
            discounts=1.0 / np.arange(1, depth + 1),
            divisors=reachable,
            is_empty=relevant == 0,
            empty=self.empty,
            depth=depth,
        )
