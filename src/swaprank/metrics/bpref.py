"""Bpref: how many judged non-relevant documents stand above the relevant ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.metric import Metric
from swaprank.metrics.metric_options import is_relevant
from swaprank.metrics.terms import BPREF, Lists, MetricTerms, make_terms, sum_by_query

RELEVANT, UNJUDGED = 1.0, -1.0


@kernel
def credit(above: float, relevant: float, others: float) -> float:
    """What a relevant document earns below so many judged non-relevant ones: 1 - min(above, R) / min(N, R)."""
    return 1.0 - min(above, relevant) / min(others, relevant) if above > 0.0 else 1.0


@kernel
def bpref_value(ranked: Floats, ends: Ints, relevant: float, others: float) -> float:
    """sum of credits; among w tied non-relevant ones, a relevant document stands below 0..w of them alike."""
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
    """work[0]: non-relevant above; work[1], work[2]: prefix sums of credit changes with one more, one fewer above."""
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
    """The change when ranks i < j trade places: the two themselves, and the relevant documents between them."""
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


@final
@dataclass(frozen=True, kw_only=True)
class Bpref(Metric):
    """Binary preference [Buckley & Voorhees 2004], as trec_eval computes it; negative labels mean unjudged.

    >>> import swaprank as sr
    >>> sr.Bpref().mean([1, 0, 1, 0], [4, 3, 2, 1], [0, 4])  # (1 + (1 - 1/2)) / 2
    0.75
    """

    names: ClassVar = ("bpref",)
    title: ClassVar = "binary preference"
    takes_k: ClassVar = False
    rel: float = 1

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        relevant = sum_by_query(is_relevant(pool.labels, self.rel), pool.indptr)
        others = sum_by_query((pool.labels >= 0) & ~is_relevant(pool.labels, self.rel), pool.indptr)
        judged = np.where(lists.labels >= 0, 0.0, UNJUDGED)
        return make_terms(
            BPREF,
            np.where(is_relevant(lists.labels, self.rel), RELEVANT, judged),
            lists,
            divisors=relevant,
            is_empty=relevant == 0,
            empty=self.empty,
            pool=np.column_stack((relevant, others)),
        )
