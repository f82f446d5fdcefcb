"""Metrics that add up gains, each discounted by its rank: (N)DCG, precision, recall, RBP and the user's own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.errors import MetricError
from swaprank.kernels import kernel
from swaprank.metrics.metric import Metric
from swaprank.metrics.metric_options import DISCOUNTS, GAINS, is_relevant, tabulate
from swaprank.metrics.ordering import SELECTED, largest, rank_documents
from swaprank.metrics.terms import (
    CUMULATIVE,
    Lists,
    MetricTerms,
    any_by_query,
    longest_list,
    make_terms,
    own_floats,
    sum_by_query,
)


@kernel
def cumulative_value(ranked: Floats, ends: Ints, discounts: Floats) -> float:
    """sum_r g_r D(r); documents tied in score share their mean gain [McSherry & Najork 2008]."""
    n = min(len(ranked), len(discounts))
    value = 0.0
    start = 0
    while start < n:
        end = ends[start]
        gain = 0.0
        for r in range(start, end):
            gain += ranked[r]
        discount = 0.0
        for r in range(start, min(end, n)):
            discount += discounts[r]
        value += gain / (end - start) * discount
        start = end
    return value


@kernel
def cumulative_swaps(ranked: Floats, discounts: Floats, norm: float, i: int, out: Floats) -> None:
    """N (g_i - g_j) (D_j - D_i) for every rank j below i [Burges2010, section 4]."""
    n, cut = len(ranked), len(discounts)
    gain = ranked[i]
    discount = discounts[i] if i < cut else 0.0
    for j in range(i + 1, min(n, cut)):
        out[j] = norm * (gain - ranked[j]) * (discounts[j] - discount)
    # Slices that begin at 0, for an index that might be negative keeps a loop from vectorising.
    beyond = max(i + 1, cut)
    gains, gained = ranked[beyond:], out[beyond:n]
    for j in range(len(gained)):
        gained[j] = norm * (gains[j] - gain) * discount


@kernel
def best_cumulative(gains: Floats, indptr: Ints, discounts: Floats, falling: bool, longest: int, best: Floats) -> None:
    """The largest sum of gain * discount that any order of each query's documents reaches.

    Largest gain to largest discount [rearrangement inequality]; discounts that do not fall with the rank must reach
    down to the longest list, and are ranked too.
    """
    order, scratch = np.empty(longest, np.int64), np.empty(longest, np.int64)
    gathered, top, weights = np.empty(longest), np.empty(longest), discounts.copy()
    for query in range(len(best)):
        start, stop = indptr[query], indptr[query + 1]
        n = stop - start
        cut = min(n, len(discounts))
        if falling and cut <= SELECTED:
            largest(gains, start, stop, cut, top)
        else:
            descending(gains, start, n, order, scratch, gathered, top)
        if not falling:
            descending(discounts, 0, n, order, scratch, gathered, weights)
        total = 0.0
        for r in range(cut):
            total += top[r] * weights[r]
        best[query] = total


@kernel
def descending(values: Floats, start: int, n: int, order: Ints, scratch: Ints, gathered: Floats, out: Floats) -> None:
    """out[:n]: the n values from `start` on, largest first."""
    for r in range(n):
        order[r] = start + r
    rank_documents(values, order[:n], scratch, gathered)
    for r in range(n):
        out[r] = values[order[r]]


@dataclass(frozen=True, kw_only=True)
class Cumulative(Metric):
    """sum_r gain(label at rank r) * discount(r) / divisor(query)."""

    @abstractmethod
    def gains(self, labels: Floats) -> Floats:
        """What each document is worth."""

    @abstractmethod
    def discounts(self, ranks: Ints) -> Floats:
        """What each rank counts, down to the cut-off."""

    @abstractmethod
    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> Floats:
        """What each query's sum is divided by."""

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        longest = max(longest_list(lists.indptr), longest_list(pool.indptr), 1)
        discounts = self.discounts(np.arange(1, min(longest, self.k or longest) + 1))
        gains = self.gains(lists.labels)
        worth = gains if pool is lists else self.gains(pool.labels)
        refuse_overflow(self, lists.labels, gains, discounts, longest)
        if pool is not lists:
            refuse_overflow(self, pool.labels, worth, discounts, longest)
        divisors = self.divisors(worth, pool.indptr, discounts)
        is_empty = ~any_by_query(worth != 0, pool.indptr) | (divisors <= 0)
        return make_terms(
            CUMULATIVE,
            gains,
            lists,
            discounts=discounts,
            divisors=divisors,
            is_empty=is_empty,
            empty=self.empty,
            depth=len(discounts),
        )


def best_possible(gains: Floats, indptr: Ints, discounts: Floats) -> Floats:
    """The largest sum that any order of each query's documents reaches."""
    best, longest = np.empty(len(indptr) - 1), longest_list(indptr)
    falling = bool((np.diff(discounts) <= 0).all())
    if not falling:
        discounts = np.pad(discounts, (0, max(0, longest - len(discounts))))
    best_cumulative(gains, indptr, own_floats(discounts), falling, longest, best)
    return best


def ones(indptr: Ints) -> Floats:
    """Divide by nothing."""
    return np.ones(len(indptr) - 1)


def refuse_overflow(metric: Metric, labels: Floats, gains: Floats, discounts: Floats, longest: int) -> None:
    """Refuse gains whose sums could leave double precision: their quotients would be 0 or NaN without a word."""
    highest = max(float(gains.max(initial=0.0)), -float(gains.min(initial=0.0)))
    if not np.isfinite(highest * max(1.0, float(np.abs(discounts).max())) * longest):
        label = labels[np.argmax(np.abs(gains))]
        advice = "gain=linear" if getattr(metric, "gain", None) == "exp2" else "smaller gains"
        raise MetricError(
            f"{metric}: label {label:g} has a gain of {highest:g}, too large to add up over {longest:,} "
            f"{'documents' if longest > 1 else 'document'}; choose {advice}, or a smaller scale of labels."
        )


@final
@dataclass(frozen=True, kw_only=True)
class DCG(Cumulative):
    """Discounted cumulative gain [Järvelin & Kekäläinen 2002]: sum_r gain(l_r) D(r).

    >>> import swaprank as sr
    >>> round(sr.DCG(k=2).mean([0, 3, 1], [0.1, 0.9, 0.5], [0, 3]), 4)  # 7 / log2(2) + 1 / log2(3)
    7.6309
    """

    names: ClassVar = ("dcg",)
    title: ClassVar = "discounted cumulative gain"
    gain: str = "exp2"
    discount: str = "log2"

    def gains(self, labels: Floats) -> Floats:
        """See `Cumulative`."""
        return GAINS[self.gain](labels)

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cumulative`."""
        return DISCOUNTS[self.discount](ranks)

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> Floats:
        """See `Cumulative`."""
        return ones(indptr)


@final
@dataclass(frozen=True, kw_only=True)
class NDCG(Cumulative):
    """Normalised discounted cumulative gain: DCG over the best DCG that the same documents allow.

    >>> import swaprank as sr
    >>> sr.NDCG(k=10).mean([0, 2, 1], [0.1, 0.9, 0.5], [0, 3])
    1.0
    """

    names: ClassVar = ("ndcg",)
    title: ClassVar = "normalised discounted cumulative gain"
    gain: str = "exp2"
    discount: str = "log2"
    short: str = "as_is"

    def gains(self, labels: Floats) -> Floats:
        """See `Cumulative`."""
        return GAINS[self.gain](labels)

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cumulative`."""
        return DISCOUNTS[self.discount](ranks)

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> Floats:
        """See `Cumulative`."""
        best = best_possible(gains, indptr, discounts)
        if self.short == "zero" and self.k is not None:
            # The LETOR scripts never reach rank k of such a list and leave 0 there.
            best[np.diff(indptr) < self.k] = np.inf
        return best


@final
@dataclass(frozen=True, kw_only=True)
class Precision(Cumulative):
    """The share of relevant documents among the first k; a list shorter than k is still divided by k.

    >>> import swaprank as sr
    >>> sr.Precision(k=2).mean([0, 1, 1], [0.3, 0.2, 0.9], [0, 3])
    0.5
    """

    names: ClassVar = ("p", "precision", "prec")
    title: ClassVar = "precision"
    needs_k: ClassVar = True
    rel: float = 1

    def gains(self, labels: Floats) -> Floats:
        """See `Cumulative`."""
        return is_relevant(labels, self.rel).astype(np.float64)

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cumulative`."""
        return np.full(len(ranks), 1.0 / (self.k or 1))

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> Floats:
        """See `Cumulative`."""
        return ones(indptr)


@final
@dataclass(frozen=True, kw_only=True)
class Recall(Cumulative):
    """The share of the query's relevant documents that stand among the first k.

    >>> import swaprank as sr
    >>> sr.Recall(k=2).mean([0, 1, 1, 1], [0.3, 0.2, 0.9, 0.1], [0, 4]) == 1 / 3
    True
    """

    names: ClassVar = ("recall", "r")
    title: ClassVar = "recall"
    needs_k: ClassVar = True
    rel: float = 1

    def gains(self, labels: Floats) -> Floats:
        """See `Cumulative`."""
        return is_relevant(labels, self.rel).astype(np.float64)

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cumulative`."""
        return np.ones(len(ranks))

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> Floats:
        """See `Cumulative`."""
        return sum_by_query(gains, indptr)


@final
@dataclass(frozen=True, kw_only=True)
class WTA(Cumulative):
    """Winner takes all, as accuracy: 1 where the first document is relevant [Burges2006, section 2].

    >>> import swaprank as sr
    >>> sr.WTA().mean([0, 1], [0.2, 0.9], [0, 2])
    1.0
    """

    names: ClassVar = ("wta",)
    title: ClassVar = "winner takes all"
    takes_k: ClassVar = False
    rel: float = 1

    def gains(self, labels: Floats) -> Floats:
        """See `Cumulative`."""
        return is_relevant(labels, self.rel).astype(np.float64)

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cumulative`."""
        return np.ones(1)

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> Floats:
        """See `Cumulative`."""
        return ones(indptr)


@final
@dataclass(frozen=True, kw_only=True)
class RBP(Cumulative):
    """Rank-biased precision [Moffat & Zobel 2008]: (1 - p) sum_r rel(r) p^(r-1), p the user's persistence.

    >>> import swaprank as sr
    >>> round(sr.RBP(p=0.5).mean([1, 0, 1], [3, 2, 1], [0, 3]), 4)
    0.625
    """

    names: ClassVar = ("rbp",)
    title: ClassVar = "rank-biased precision"
    p: float = 0.8
    rel: float = 1

    def gains(self, labels: Floats) -> Floats:
        """See `Cumulative`."""
        return is_relevant(labels, self.rel).astype(np.float64)

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cumulative`."""
        return (1.0 - self.p) * np.power(float(self.p), ranks - 1)

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> Floats:
        """See `Cumulative`."""
        return ones(indptr)


@final
@dataclass(frozen=True, kw_only=True)
class CumulativeMetric(Cumulative):
    """Your own sum of discounted gains: `gain(label)` and `discount(rank)` take and give one number.

    Both are called once for every distinct label and rank, never inside a loop over documents: training and
    evaluation run at the speed of NDCG. With `normalize` the sum is divided by the best one possible, and neither
    function may give less than 0: where the best sum has losses in it, a share of it means nothing.

    >>> import swaprank as sr
    >>> revenue = sr.CumulativeMetric(gain=lambda price: price, discount=lambda r: 0.7 ** (r - 1), name="revenue")
    >>> round(revenue.mean([5.0, 20.0], [0.9, 0.1], [0, 2]), 4)  # (5 + 0.7 * 20) / (20 + 0.7 * 5)
    0.8085
    """

    functions: ClassVar = ("gain", "discount")
    needs: ClassVar = "any gain"
    title: ClassVar = "own cumulative metric"
    gain: Callable[[float], float] | str = "exp2"
    discount: Callable[[int], float] | str = "log2"
    normalize: bool = True
    name: str = "cumulative"

    def gains(self, labels: Floats) -> Floats:
        """See `Cumulative`."""
        if isinstance(self.gain, str):
            return GAINS[self.gain](labels)
        return self._refuse_negative(tabulate(self.gain, labels, "gain", self), labels, "gain")

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cumulative`."""
        if isinstance(self.discount, str):
            return DISCOUNTS[self.discount](ranks)
        return self._refuse_negative(tabulate(self.discount, ranks, "discount", self), ranks, "discount")

    def divisors(self, gains: Floats, indptr: Ints, discounts: Floats) -> Floats:
        """See `Cumulative`."""
        return best_possible(gains, indptr, discounts) if self.normalize else ones(indptr)

    def _refuse_negative(self, results: Floats, values: AnyArray, role: str) -> Floats:
        if self.normalize and results.min(initial=0.0) < 0:
            at = int(results.argmin())
            raise MetricError(
                f"{self}: {role}({values[at]:g}) gave {results[at]:g}; a sum with losses cannot be divided by the best "
                f"one possible. Give numbers from 0 on, or choose normalize=False."
            )
        return results
