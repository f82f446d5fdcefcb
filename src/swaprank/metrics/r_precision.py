"""R-precision: precision at the number of relevant documents."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.data.grouping import sum_by_query
from swaprank.metrics.metric import Metric
from swaprank.metrics.terms import R_PRECISION, Lists, MetricTerms, make_terms


@final
@dataclass(frozen=True, kw_only=True)
class RPrecision(Metric):
    """The share of relevant documents among the first R, where R is the number of the query's relevant documents.

    >>> import swaprank as sr
    >>> sr.metrics.RPrecision().mean([1, 0, 1, 0], [4, 3, 2, 1], [0, 4])  # one of the first two
    0.5
    """

    names: ClassVar = ("rprec",)
    title: ClassVar = "R-precision"
    takes_k: ClassVar = False
    rel: float = 1

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        relevant = sum_by_query(pool.labels >= self.rel, pool.indptr)
        return make_terms(
            R_PRECISION,
            lists.labels >= self.rel,
            lists,
            divisors=relevant,
            is_empty=relevant == 0,
            empty=self.empty,
            pool=np.column_stack((relevant, np.zeros_like(relevant))),
            depth=max(1, int(relevant.max(initial=0))),
        )
