"""Bpref: how many judged non-relevant documents rank above the relevant ones."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.data.grouping import sum_by_query
from swaprank.metrics.bpref_kernel import RELEVANT, UNJUDGED
from swaprank.metrics.metric import Metric
from swaprank.metrics.terms import BPREF, Lists, MetricTerms, make_terms


@final
@dataclass(frozen=True, kw_only=True)
class Bpref(Metric):
    """Binary preference [Buckley & Voorhees 2004], as trec_eval computes it; negative labels mean unjudged.

    >>> import swaprank as sr
    >>> sr.metrics.Bpref().mean([1, 0, 1, 0], [4, 3, 2, 1], [0, 4])  # (1 + (1 - 1/2)) / 2
    0.75
    """

    names: ClassVar = ("bpref",)
    title: ClassVar = "binary preference"
    takes_k: ClassVar = False
    rel: float = 1

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        relevant = sum_by_query(pool.labels >= self.rel, pool.indptr)
        others = sum_by_query((pool.labels >= 0) & (pool.labels < self.rel), pool.indptr)
        judged = np.where(lists.labels >= 0, 0.0, UNJUDGED)
        return make_terms(
            BPREF,
            np.where(lists.labels >= self.rel, RELEVANT, judged),
            lists,
            divisors=relevant,
            is_empty=relevant == 0,
            empty=self.empty,
            pool=np.column_stack((relevant, others)),
        )
