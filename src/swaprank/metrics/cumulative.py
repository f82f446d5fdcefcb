"""Metrics that sum gains, each discounted by its rank: (N)DCG, precision, recall, RBP and custom sums."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints, contiguous_floats
from swaprank.data.grouping import longest_list, sum_by_query
from swaprank.elementary import powers
from swaprank.errors import MetricError
from swaprank.metrics.cumulative_kernels import best_cumulative
from swaprank.metrics.metric import Metric
from swaprank.metrics.metric_options import DISCOUNTS, GAINS, listed_gains, tabulate
from swaprank.metrics.terms import CUMULATIVE, Lists, MetricTerms, make_terms


@dataclass(frozen=True, kw_only=True)
class Cumulative(Metric):
    """sum_r gain(label at rank r) * discount(r) / divisor(query)."""

    @abstractmethod
    def gains(self, labels: Floats) -> Floats:
        """The gain of each document."""

    @abstractmethod
    def discounts(self, ranks: Ints) -> Floats:
        """The discount of each rank down to the cut-off."""

    @abstractmethod
    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> Floats | float:
        """The number that divides each query's sum."""

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        longest = max(longest_list(lists.indptr), longest_list(pool.indptr), 1)
        discounts = self.discounts(np.arange(1, min(longest, self.k or longest) + 1))
        gains = self.gains(lists.labels)
        check_overflow(self, lists.labels, gains, discounts, longest)
        pool_gains = gains
        if pool is not lists:
            pool_gains = self.gains(pool.labels)
            check_overflow(self, pool.labels, pool_gains, discounts, longest)
        divisors = self.divisors(pool_gains, pool.indptr, discounts)
        sizes = pool_gains if pool_gains.min(initial=0.0) == 0.0 else np.abs(pool_gains)
        return make_terms(
            CUMULATIVE,
            gains,
            lists,
            discounts=discounts,
            divisors=divisors,
            is_empty=(sum_by_query(sizes, pool.indptr) == 0) | (np.asarray(divisors) <= 0),
            empty=self.empty,
            depth=len(discounts),
        )


def best_possible(gains: Floats, indptr: Ints, discounts: Floats) -> Floats:
    """The largest sum that any order of each query's documents reaches."""
    best, longest = np.empty(len(indptr) - 1), longest_list(indptr)
    falling = bool((np.diff(discounts) <= 0).all())
    if not falling:
        discounts = np.pad(discounts, (0, max(0, longest - len(discounts))))
    best_cumulative(gains, indptr, contiguous_floats(discounts), falling, longest, best)
    return best


def check_overflow(metric: Metric, labels: Floats, gains: Floats, discounts: Floats, longest: int) -> None:
    """Raise MetricError if a sum of gains could overflow: the metric would silently be 0 or NaN."""
    highest = max(float(gains.max(initial=0.0)), -float(gains.min(initial=0.0)))
    if not np.isfinite(highest * max(1.0, float(np.abs(discounts).max())) * longest):
        label = labels[np.argmax(np.abs(gains))]
        advice = "gain=linear" if getattr(metric, "gain", None) == "exp2" else "smaller gains"
        raise MetricError(
            f"{metric}: label {label:g} has a gain of {highest:g}, too large to sum over {longest:,} "
            f"{'documents' if longest > 1 else 'document'}; choose {advice}, or a smaller scale of labels."
        )


@dataclass(frozen=True, kw_only=True)
class DiscountedGain(Cumulative):
    """Base of DCG, NDCG and custom sums: a gain per label and a discount per rank, by name or by function.

    Gains may also be a list: that of label 0, of label 1, and so on.
    """

    functions: ClassVar = ("gain", "discount")
    gain: str | Sequence[float] | Callable[[float], float] = "exp2"
    discount: str | Callable[[int], float] = "log2"

    @property
    @abstractmethod
    def normalize(self) -> bool:
        """True if the sum is divided by the best possible sum."""

    def gains(self, labels: Floats) -> Floats:
        """See `Cumulative`."""
        if isinstance(self.gain, str):
            # The values of a column, which stand in for labels, are gains themselves.
            return GAINS["linear" if self.column is not None else self.gain](labels)
        if callable(self.gain):
            return self._tabulated(self.gain, labels, "gain")
        return listed_gains(self.gain, labels, self)

    @property
    def column(self) -> str | None:
        """See `Metric`: a gain that has none of the known names."""
        return self.gain if isinstance(self.gain, str) and self.gain not in GAINS else None

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cumulative`."""
        if isinstance(self.discount, str):
            return DISCOUNTS[self.discount](ranks)
        return self._tabulated(self.discount, ranks, "discount")

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> Floats | float:
        """See `Cumulative`."""
        return best_possible(gains, indptr, discounts) if self.normalize else 1.0

    def _tabulated(self, function: Callable[..., float], values: AnyArray, role: str) -> Floats:
        results = tabulate(function, values, role, self)
        if self.normalize and results.min(initial=0.0) < 0:
            at = int(results.argmin())
            raise MetricError(
                f"{self}: {role}({values[at]:g}) returned {results[at]:g}; a sum with losses cannot be divided by the "
                f"best possible sum. Return numbers from 0, or choose {'dcg' if self.names else 'normalize=False'}."
            )
        return results


@final
@dataclass(frozen=True, kw_only=True)
class DCG(DiscountedGain):
    """Discounted cumulative gain [Jarvelin2002]: sum_r gain(l_r) D(r).

    >>> import swaprank as sr
    >>> round(sr.metrics.DCG(k=2).mean([0, 3, 1], [0.1, 0.9, 0.5], [0, 3]), 4)  # 7 / log2(2) + 1 / log2(3)
    7.6309
    """

    names: ClassVar = ("dcg",)
    title: ClassVar = "discounted cumulative gain"
    normalize: ClassVar = False


@final
@dataclass(frozen=True, kw_only=True)
class NDCG(DiscountedGain):
    """Normalized discounted cumulative gain: DCG divided by the best DCG that the same documents allow.

    Args:
        gain: "exp2" (2^l - 1), "linear" (l), a list with the gain of every label from 0, a function of the label, or
            the name of a side column of the data that has the gains, such as "revenue".
        discount: "log2" (1/log2(1+r)), "letor", "reciprocal" (1/r), or a function of the rank.
        short: "as_is"; or "zero", so that a list shorter than k counts 0.

    >>> import swaprank as sr
    >>> sr.metrics.NDCG(k=10).mean([0, 2, 1], [0.1, 0.9, 0.5], [0, 3])
    1.0
    >>> print(sr.metrics.NDCG(k=10, gain=[0, 1, 5]))
    ndcg@10(gain=0/1/5)
    """

    names: ClassVar = ("ndcg",)
    title: ClassVar = "normalized discounted cumulative gain"
    bounds: ClassVar = (0.0, 1.0)
    normalize: ClassVar = True
    short: str = "as_is"

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> Floats:
        """See `Cumulative`."""
        best = best_possible(gains, indptr, discounts)
        if self.short == "zero" and self.k is not None:
            # The LETOR scripts never reach rank k of such a list and leave 0 there.
            best[np.diff(indptr) < self.k] = np.inf
        return best


@dataclass(frozen=True, kw_only=True)
class RelevanceSum(Cumulative):
    """Base of precision, recall, WTA and RBP: a document has gain 1 if its label is at least `rel`, else 0."""

    bounds: ClassVar = (0.0, 1.0)
    rel: float = 1

    def gains(self, labels: Floats) -> Floats:
        """See `Cumulative`."""
        return (labels >= self.rel).astype(np.float64)


@final
@dataclass(frozen=True, kw_only=True)
class Precision(RelevanceSum):
    """The share of relevant documents among the first k. A list shorter than k is also divided by k.

    >>> import swaprank as sr
    >>> sr.metrics.Precision(k=2).mean([0, 1, 1], [0.3, 0.2, 0.9], [0, 3])
    0.5
    """

    names: ClassVar = ("p", "precision", "prec", "pre")
    title: ClassVar = "precision"
    needs_k: ClassVar = True

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cumulative`."""
        return np.full(len(ranks), 1.0 / (self.k or 1))

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> float:
        """See `Cumulative`."""
        return 1.0


@final
@dataclass(frozen=True, kw_only=True)
class Recall(RelevanceSum):
    """The share of the query's relevant documents that rank among the first k.

    >>> import swaprank as sr
    >>> sr.metrics.Recall(k=2).mean([0, 1, 1, 1], [0.3, 0.2, 0.9, 0.1], [0, 4]) == 1 / 3
    True
    """

    names: ClassVar = ("recall", "r")
    title: ClassVar = "recall"
    needs_k: ClassVar = True

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cumulative`."""
        return np.ones(len(ranks))

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> Floats:
        """See `Cumulative`."""
        return sum_by_query(gains, indptr)


@final
@dataclass(frozen=True, kw_only=True)
class WTA(RelevanceSum):
    """Winner takes all, as accuracy: 1 if the first document is relevant [Burges2006, section 2].

    >>> import swaprank as sr
    >>> sr.metrics.WTA().mean([0, 1], [0.2, 0.9], [0, 2])
    1.0
    """

    names: ClassVar = ("wta",)
    title: ClassVar = "winner takes all"
    takes_k: ClassVar = False

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cumulative`."""
        return np.ones(1)

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> float:
        """See `Cumulative`."""
        return 1.0


@final
@dataclass(frozen=True, kw_only=True)
class RBP(RelevanceSum):
    """Rank-biased precision [Moffat2008]: (1 - p) sum_r rel(r) p^(r-1), p the user's persistence.

    >>> import swaprank as sr
    >>> round(sr.metrics.RBP(p=0.5).mean([1, 0, 1], [3, 2, 1], [0, 3]), 4)
    0.625
    """

    names: ClassVar = ("rbp",)
    title: ClassVar = "rank-biased precision"
    p: float = 0.8

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cumulative`."""
        return (1.0 - self.p) * powers(float(self.p), ranks - 1)

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> float:
        """See `Cumulative`."""
        return 1.0


@final
@dataclass(frozen=True, kw_only=True)
class CumulativeMetric(DiscountedGain):
    """Your own sum of discounted gains: `gain(label)` and `discount(rank)` take and return one number.

    Both are called once per distinct label or rank, never once per document, so training and evaluation are as fast
    as for NDCG. With `normalize`, the sum is divided by the best possible sum, and neither function may return a
    negative number: a share of a sum that contains losses has no meaning.

    >>> import swaprank as sr
    >>> fading = lambda rank: 0.7 ** (rank - 1)
    >>> revenue = sr.metrics.CumulativeMetric(gain=lambda price: price, discount=fading, name="revenue")
    >>> round(revenue.mean([5.0, 20.0], [0.9, 0.1], [0, 2]), 4)  # (5 + 0.7 * 20) / (20 + 0.7 * 5)
    0.8085
    """

    needs: ClassVar = "any gain"
    title: ClassVar = "own cumulative metric"
    normalize: bool = True
    name: str = "cumulative"
