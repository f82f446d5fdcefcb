"""The share of document pairs in the right order."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.data.grouping import longest_list
from swaprank.metrics.metric import Metric
from swaprank.metrics.pairwise_kernel import count_pairs
from swaprank.metrics.terms import PAIRWISE, Lists, MetricTerms, make_terms


@final
@dataclass(frozen=True, kw_only=True)
class PairwiseCorrect(Metric):
    """The share of pairs with different labels in the right order; the area under the ROC curve for two labels.

    >>> import swaprank as sr
    >>> sr.metrics.PairwiseCorrect().mean([0, 1, 2], [1, 3, 2], [0, 3]) == 2 / 3
    True
    """

    names: ClassVar = ("pairwise",)
    title: ClassVar = "pairs in the right order"
    needs: ClassVar = "two different labels"
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
            is_empty=pairs == 0,
            empty=self.empty,
        )
