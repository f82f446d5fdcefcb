"""Average precision: the mean of the precision at each relevant document."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.arrays import contiguous_floats
from swaprank.data.grouping import longest_list, sum_by_query
from swaprank.metrics.metric import Metric
from swaprank.metrics.terms import AVERAGE_PRECISION, Lists, MetricTerms, make_terms


@final
@dataclass(frozen=True, kw_only=True)
class AveragePrecision(Metric):
    """Average precision; its mean over queries is MAP. Relevant documents beyond a cut-off count 0.

    It is divided by the number of relevant documents. With over="reachable", it is divided by at most k.

    >>> import swaprank as sr
    >>> sr.metrics.AveragePrecision().mean([1, 0, 1], [3, 2, 1], [0, 3]) == (1 / 1 + 2 / 3) / 2
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
        gains = contiguous_floats(lists.labels >= self.rel)
        relevant = sum_by_query(gains if pool is lists else pool.labels >= self.rel, pool.indptr)
        reachable = relevant if self.over == "relevant" or self.k is None else np.minimum(relevant, self.k)
        return make_terms(
            AVERAGE_PRECISION,
            gains,
            lists,
            discounts=1.0 / np.arange(1, depth + 1),
            divisors=reachable,
            is_empty=relevant == 0,
            empty=self.empty,
            depth=depth,
        )
