"""Metrics that count relevant documents or pairs: average precision, R-precision, bpref, pairs in the right order."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import Floats, contiguous_floats
from swaprank.data.grouping import longest_list, sum_by_query
from swaprank.errors import DataError, MetricError, Wording
from swaprank.metrics.measuring import shares_in_order
from swaprank.metrics.metric import BoundMetric, Metric
from swaprank.metrics.relevance_kernels import RELEVANT, UNJUDGED, count_pairs
from swaprank.metrics.terms import (
    AVERAGE_PRECISION,
    BPREF,
    GIVEN_PAIRS,
    PAIRWISE,
    R_PRECISION,
    Lists,
    MetricTerms,
    make_terms,
)


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
    bounds: ClassVar = (0.0, 1.0)
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
    bounds: ClassVar = (0.0, 1.0)
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


@final
@dataclass(frozen=True, kw_only=True)
class Bpref(Metric):
    """Binary preference [Buckley2004], as trec_eval computes it; negative labels mean unjudged.

    >>> import swaprank as sr
    >>> sr.metrics.Bpref().mean([1, 0, 1, 0], [4, 3, 2, 1], [0, 4])  # (1 + (1 - 1/2)) / 2
    0.75
    """

    names: ClassVar = ("bpref",)
    title: ClassVar = "binary preference"
    bounds: ClassVar = (0.0, 1.0)
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
    bounds: ClassVar = (0.0, 1.0)
    needs: ClassVar = "two different labels"
    takes_k: ClassVar = False

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        pairs = np.empty(len(lists.indptr) - 1)
        count_pairs(lists.labels, lists.indptr, longest_list(lists.indptr), pairs)
        return make_terms(PAIRWISE, lists.labels, lists, divisors=pairs, is_empty=pairs == 0, empty=self.empty)


@final
@dataclass(frozen=True, kw_only=True)
class AUC(Metric):
    """The area under the ROC curve of each query: how often a relevant document is above one that is not.

    Equal scores count half. With two labels it is the metric `pairwise`, which compares all different labels.

    >>> import swaprank as sr
    >>> sr.metrics.AUC().mean([0, 1, 0], [1, 2, 3], [0, 3])
    0.5
    """

    names: ClassVar = ("auc",)
    title: ClassVar = "area under the ROC curve"
    needs: ClassVar = "a relevant document and another one"
    takes_k: ClassVar = False
    rel: float = 1

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        relevant = contiguous_floats(lists.labels >= self.rel)
        n_relevant = sum_by_query(relevant, lists.indptr)
        pairs = n_relevant * (np.diff(lists.indptr) - n_relevant)
        return make_terms(PAIRWISE, relevant, lists, divisors=pairs, is_empty=pairs == 0, empty=self.empty)


@final
@dataclass(frozen=True, kw_only=True)
class GivenPairs(Metric):
    """The share of a data set's given pairs whose scores are in the order of their probability; labels do not matter.

    Above 1/2, the first document should have the larger score; below, the second. A pair of probability 1/2 has no
    order, and does not count; tied scores count half; pairs count as much as they weigh. As of every metric, the mean
    is over queries: those without a pair that counts are left out.

    >>> import swaprank as sr
    >>> pairs = [(0, 1, 0.9, 1), (1, 2, 0.6, 3), (2, 0, 0.5, 1)]
    >>> data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 0, 0], qid=[1, 1, 1], pairs=pairs)
    >>> sr.evaluate(data, [3.0, 1.0, 2.0], "pairs")["pairs"].mean  # the first is right, the second weighs 3
    0.25
    """

    names: ClassVar = ("pairs",)
    title: ClassVar = "given pairs in the right order, tied scores half"
    bounds: ClassVar = (0.0, 1.0)
    needs: ClassVar = "a given pair with an order"
    takes_k: ClassVar = False
    ties: ClassVar = "expected"  # type: ignore[misc]
    empty: int | str = "skip"

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        if lists.pairs is None:
            raise DataError(
                f"{self} compares scores with given pairs, ",
                Wording("as in Dataset(…, pairs=[(i, j, p), …])", "which only a file of bins can hold"),
                ", and here are none.",
            )
        counted = np.where(lists.pairs.probability == 0.5, 0.0, lists.pairs.weight)
        total = sum_by_query(counted, lists.pairs.indptr)
        return make_terms(GIVEN_PAIRS, lists.labels, lists, divisors=total, is_empty=total == 0, empty=self.empty)

    def measure_bound(self, bound: BoundMetric, scores: Floats) -> Floats:
        """See `Metric.measure_bound`."""
        return shares_in_order(bound.terms, bound.lists.pairs, scores)

    def swap_gains(self, labels_in_rank_order: ArrayLike) -> Floats:
        """See `Metric.swap_gains`: labels do not say what a swap changes."""
        raise MetricError(f"{self} has no swap gains: it compares given pairs, not labels.")
