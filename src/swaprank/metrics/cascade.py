"""Metrics of a user who walks down the list and stops: ERR, reciprocal rank, success and custom cascades."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.data.grouping import longest_list, sum_by_query
from swaprank.elementary import exps2
from swaprank.errors import MetricError
from swaprank.metrics.metric import Metric
from swaprank.metrics.metric_options import DISCOUNTS, tabulate
from swaprank.metrics.terms import CASCADE, Lists, MetricTerms, make_terms


@dataclass(frozen=True, kw_only=True)
class Cascade(Metric):
    """sum_r discount(r) * P(the user stops at rank r)."""

    @abstractmethod
    def stops(self, labels: Floats) -> Floats:
        """The probability that a user who reads a document stops there."""

    @abstractmethod
    def discounts(self, ranks: Ints) -> Floats:
        """The reward for stopping at each rank, down to the cut-off."""

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        longest = max(longest_list(lists.indptr), 1)
        discounts = self.discounts(np.arange(1, min(longest, self.k or longest) + 1))
        return make_terms(
            CASCADE,
            self.stops(lists.labels),
            lists,
            discounts=discounts,
            is_empty=sum_by_query(self.stops(pool.labels) > 0, pool.indptr) == 0,
            empty=self.empty,
            depth=len(discounts),
        )


@dataclass(frozen=True, kw_only=True)
class FirstRelevant(Cascade):
    """Base of reciprocal rank and success: the user stops at the first document with a label of at least `rel`."""

    bounds: ClassVar = (0.0, 1.0)
    rel: float = 1

    def stops(self, labels: Floats) -> Floats:
        """See `Cascade`."""
        return (labels >= self.rel).astype(np.float64)


@final
@dataclass(frozen=True, kw_only=True)
class ReciprocalRank(FirstRelevant):
    """One over the rank of the first relevant document; its mean over queries is MRR.

    With swaps="raising", only the swaps that raise a relevant document above the first one have a gain, and LambdaRank
    learns from these alone [Donmez2009, Eq. 11]. By default, swaps that lower the first one count, too.

    >>> import swaprank as sr
    >>> sr.metrics.ReciprocalRank().mean([0, 1, 1], [3, 2, 1], [0, 3])
    0.5
    >>> [sr.metric(name).swap_gains([0, 1, 0])[1].round(4).tolist() for name in ("mrr", "mrr(swaps=raising)")]
    [[0.5, 0.0, -0.1667], [0.5, 0.0, 0.0]]
    """

    names: ClassVar = ("mrr", "rr")
    title: ClassVar = "reciprocal rank"
    swaps: str = "exact"

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        return super().terms(lists, pool)._replace(raising=self.swaps == "raising")

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cascade`."""
        return 1.0 / ranks


@final
@dataclass(frozen=True, kw_only=True)
class Success(FirstRelevant):
    """1 if a relevant document ranks among the first k, else 0.

    >>> import swaprank as sr
    >>> sr.metrics.Success(k=2).mean([0, 1, 0, 0, 0, 1], [3, 2, 1, 3, 2, 1], [0, 3, 6])
    0.5
    """

    names: ClassVar = ("success", "hit")
    title: ClassVar = "success"
    needs_k: ClassVar = True

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cascade`."""
        return np.ones(len(ranks))


@final
@dataclass(frozen=True, kw_only=True)
class ERR(Cascade):
    """Expected reciprocal rank [Chapelle2009b]: label l satisfies a user with (2^l - 1) / 2^max_label.

    `max_label` is the top of the label scale, not the largest label in the data, so all parts of a data set are
    measured in the same way.

    >>> import swaprank as sr
    >>> sr.metrics.ERR().mean([4, 0], [2, 1], [0, 2]) == 15 / 16
    True
    """

    names: ClassVar = ("err",)
    title: ClassVar = "expected reciprocal rank"
    bounds: ClassVar = (0.0, 1.0)
    max_label: float = 4

    def stops(self, labels: Floats) -> Floats:
        """See `Cascade`."""
        largest = labels.max(initial=0.0)
        if largest > self.max_label:
            raise MetricError(
                f"{self}: labels must be at most {self.max_label:g}, found {largest:g}; "
                f"write err(max_label={largest:g}) for a larger scale."
            )
        # (2^l - 1) / 2^max_label, written so that no power overflows.
        powers = exps2(np.append(np.maximum(labels, 0.0), 0.0) - self.max_label)
        stops: Floats = powers[:-1] - powers[-1]
        return stops

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cascade`."""
        return 1.0 / ranks


@final
@dataclass(frozen=True, kw_only=True)
class CascadeMetric(Cascade):
    """Your own cascade: `stop(label)` is the probability that a user who reads a document stops there.

    A stop at rank r is rewarded with `discount(r)`; the default is 1/r. Both functions take and return one number and
    are called once per distinct label or rank, so training and evaluation are as fast as for ERR.

    >>> import swaprank as sr
    >>> buys = sr.metrics.CascadeMetric(stop=lambda label: {0: 0.0, 1: 0.1, 2: 0.5}[label], name="buys")
    >>> buys.mean([1, 2], [2, 1], [0, 2]) == 0.1 + 0.9 * 0.5 / 2
    True
    """

    functions: ClassVar = ("stop", "discount")
    needs: ClassVar = "a document to stop at"
    title: ClassVar = "own cascade metric"
    stop: Callable[[float], float]
    discount: Callable[[int], float] | str = "reciprocal"
    name: str = "cascade"

    def stops(self, labels: Floats) -> Floats:
        """See `Cascade`."""
        stops = tabulate(self.stop, labels, "stop", self)
        bad = np.flatnonzero((stops < 0) | (stops > 1))
        if len(bad):
            raise MetricError(
                f"{self}: stop({labels[bad[0]]:g}) returned {stops[bad[0]]}; a probability must be between 0 and 1."
            )
        return stops

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cascade`."""
        if isinstance(self.discount, str):
            return DISCOUNTS[self.discount](ranks)
        return tabulate(self.discount, ranks, "discount", self)
