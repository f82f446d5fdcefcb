"""Metrics of a user who walks down the list and stops: ERR, reciprocal rank, success and the user's own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.errors import MetricError
from swaprank.kernels import kernel
from swaprank.metrics.metric import Metric
from swaprank.metrics.metric_options import DISCOUNTS, is_relevant, tabulate
from swaprank.metrics.terms import CASCADE, Lists, MetricTerms, any_by_query, longest_list, make_terms


@kernel
def cascade_value(ranked: Floats, ends: Ints, discounts: Floats, work: Floats) -> float:
    """sum_r D(r) R_r prod_{t<r} (1 - R_t): the user stops at rank r with probability R_r and is paid D(r).

    In a group of tied documents, the expected product over its first p places is the mean of all products of p of
    its (1 - R), built up document by document: no order is ever tried.
    """
    n = min(len(ranked), len(discounts))
    value = 0.0
    arriving = 1.0
    start = 0
    while start < n and arriving > 0.0:
        end = ends[start]
        if end == start + 1:
            value += arriving * ranked[start] * discounts[start]
            arriving *= 1.0 - ranked[start]
        else:
            still = work[0]
            reach = places_that_matter(ranked[start:end], min(end, n) - start)
            mean_products(ranked[start:end], reach, still)
            for p in range(reach):
                value += arriving * (still[p] - still[p + 1]) * discounts[start + p]
            arriving *= still[reach]
        start = end
    return value


@kernel
def places_that_matter(stops: Floats, reach: int) -> int:
    """How far down a group of ties a user gets with a chance above 1e-18: no further than (mean of 1 - stop)^p.

    [Maclaurin's inequality] Thousands of tied documents would cost their square without this.
    """
    passing = 0.0
    for s in range(len(stops)):
        passing += (1.0 - stops[s]) / len(stops)
    if passing >= 1.0:
        return reach
    if passing <= 0.0:
        return 1
    return min(reach, 1 + int(np.log(1e-18) / np.log(passing)))


@kernel
def mean_products(stops: Floats, reach: int, means: Floats) -> None:
    """means[p], p = 0..reach: the mean over all p-subsets of the product of their (1 - stop).

    With an element x more, a p-subset of s + 1 holds it with probability p / (s + 1):
    means[p] <- ((s + 1 - p) means[p] + p x means[p-1]) / (s + 1). Averages of averages: nothing over- or underflows.
    Only stops between 0 and 1 are worth a step each, for most documents do not stop anyone: all subsets of the zeros
    have product 1, and of certain stops no p-subset may hold any, with the chance of drawing p from the s others.
    """
    zeros, certain = 0, 0
    for s in range(len(stops)):
        zeros += stops[s] == 0.0
        certain += stops[s] == 1.0
    for p in range(reach + 1):
        means[p] = 1.0 if p <= zeros else 0.0
    size = zeros
    for s in range(len(stops)):
        if stops[s] != 0.0 and stops[s] != 1.0:
            x = 1.0 - stops[s]
            size += 1
            for p in range(min(size, reach), 0, -1):
                means[p] = ((size - p) * means[p] + p * x * means[p - 1]) / size
    chance = 1.0
    for p in range(1, reach + 1):
        chance *= max(size - p + 1, 0) / (size + certain - p + 1)
        means[p] *= chance


@kernel
def prepare_cascade(ranked: Floats, work: Floats) -> None:
    """work[0, r]: the probability of arriving at rank r."""
    arriving = 1.0
    for r in range(len(ranked)):
        work[0, r] = arriving
        arriving *= 1.0 - ranked[r]


@kernel
def cascade_swaps(
    ranked: Floats, discounts: Floats, norm: float, first: int, last: int, work: Floats, out: Floats
) -> None:
    """The change when ranks i < j trade places, in one walk down from i [Burges2010, section 3, for ERR].

    P_i (R_i - R_j) (S_ij + D(j) Q_ij - D(i)), with P_i the probability of arriving at i, Q_ij of passing all
    between, and S_ij what those between pay. Nothing is divided, so a certain stop (R = 1) is no special case.
    """
    n, cut = len(ranked), len(discounts)
    for i in range(first, last):
        scale, stop, row = norm * work[0, i], ranked[i], i - first
        discount = discounts[i] if i < cut else 0.0
        paid, passing = 0.0, 1.0
        for j in range(i + 1, min(n, cut)):
            there = passing * discounts[j]
            out[row, j] = scale * (stop - ranked[j]) * (paid + there - discount)
            paid += there * ranked[j]
            passing *= 1.0 - ranked[j]
        for j in range(max(i + 1, cut), n):
            out[row, j] = scale * (stop - ranked[j]) * (paid - discount)


@dataclass(frozen=True, kw_only=True)
class Cascade(Metric):
    """sum_r discount(r) * P(the user stops at rank r)."""

    @abstractmethod
    def stops(self, labels: Floats) -> Floats:
        """The probability that a user who reads a document stops there."""

    @abstractmethod
    def discounts(self, ranks: Ints) -> Floats:
        """What a stop at each rank pays, down to the cut-off."""

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        longest = max(longest_list(lists.indptr), 1)
        discounts = self.discounts(np.arange(1, min(longest, self.k or longest) + 1))
        return make_terms(
            CASCADE,
            self.stops(lists.labels),
            lists,
            discounts=discounts,
            is_empty=~any_by_query(self.stops(pool.labels) > 0, pool.indptr),
            empty=self.empty,
            depth=len(discounts),
        )


@final
@dataclass(frozen=True, kw_only=True)
class ReciprocalRank(Cascade):
    """One over the rank of the first relevant document; its mean over queries is MRR.

    >>> import swaprank as sr
    >>> sr.ReciprocalRank().mean([0, 1, 1], [3, 2, 1], [0, 3])
    0.5
    """

    names: ClassVar = ("mrr", "rr")
    title: ClassVar = "reciprocal rank"
    rel: float = 1

    def stops(self, labels: Floats) -> Floats:
        """See `Cascade`."""
        return is_relevant(labels, self.rel).astype(np.float64)

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cascade`."""
        return 1.0 / ranks


@final
@dataclass(frozen=True, kw_only=True)
class Success(Cascade):
    """1 where a relevant document stands among the first k.

    >>> import swaprank as sr
    >>> sr.Success(k=2).mean([0, 1, 0, 0, 0, 1], [3, 2, 1, 3, 2, 1], [0, 3, 6])
    0.5
    """

    names: ClassVar = ("success",)
    title: ClassVar = "success"
    needs_k: ClassVar = True
    rel: float = 1

    def stops(self, labels: Floats) -> Floats:
        """See `Cascade`."""
        return is_relevant(labels, self.rel).astype(np.float64)

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cascade`."""
        return np.ones(len(ranks))


@final
@dataclass(frozen=True, kw_only=True)
class ERR(Cascade):
    """Expected reciprocal rank [Chapelle et al. 2009]: a document of label l satisfies with (2^l - 1) / 2^max_label.

    `max_label` is the top of the scale, not of the data, so that parts of a data set are measured alike.

    >>> import swaprank as sr
    >>> sr.ERR().mean([4, 0], [2, 1], [0, 2]) == 15 / 16
    True
    """

    names: ClassVar = ("err",)
    title: ClassVar = "expected reciprocal rank"
    max_label: float = 4

    def stops(self, labels: Floats) -> Floats:
        """See `Cascade`."""
        largest = labels.max(initial=0.0)
        if largest > self.max_label:
            raise MetricError(
                f"{self} takes labels up to {self.max_label:g}, found {largest:g}; "
                f"write err(max_label={largest:g}) for a larger scale."
            )
        # (2^l - 1) / 2^max_label, with each power in range whatever the scale.
        return np.asarray(np.exp2(np.maximum(labels, 0.0) - self.max_label) - np.exp2(-float(self.max_label)))

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cascade`."""
        return 1.0 / ranks


@final
@dataclass(frozen=True, kw_only=True)
class CascadeMetric(Cascade):
    """Your own cascade: `stop(label)` is the chance that a user who reads a document stops there.

    A stop at rank r pays `discount(r)`, 1/r if not given. Both functions take and give one number and are called
    once for every distinct label and rank: training and evaluation run at the speed of ERR.

    >>> import swaprank as sr
    >>> buys = sr.CascadeMetric(stop=lambda label: {0: 0.0, 1: 0.1, 2: 0.5}[label], name="buys")
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
                f"{self}: stop({labels[bad[0]]:g}) gave {stops[bad[0]]}; a probability lies between 0 and 1."
            )
        return stops

    def discounts(self, ranks: Ints) -> Floats:
        """See `Cascade`."""
        if isinstance(self.discount, str):
            return DISCOUNTS[self.discount](ranks)
        return tabulate(self.discount, ranks, "discount", self)
