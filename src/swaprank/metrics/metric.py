"""What every metric is: a small immutable value that measures rankings and knows what a swap would change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.errors import MetricError
from swaprank.metrics.metric_options import OPTIONS, check_cut_off, check_option
from swaprank.metrics.terms import Lists, MetricTerms

OWN_METRIC = " (own)"
"""What follows the name of a user's own metric in a model file, where its functions cannot be."""


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """A measure of ranked lists with all its conventions: `str(metric)` reads back as the same metric.

    >>> import swaprank as sr
    >>> isinstance(sr.metric("map"), sr.Metric)
    True
    """

    names: ClassVar[tuple[str, ...]] = ()
    """How it is written, the first being its own name; empty for the metrics that users make."""
    title: ClassVar[str]
    takes_k: ClassVar[bool] = True
    needs_k: ClassVar[bool] = False
    functions: ClassVar[tuple[str, ...]] = ()
    """Fields that may be functions of the user's."""
    needs: ClassVar[str] = "a relevant document"
    """What a query must have for its order to matter."""
    expectation: ClassVar[str] = "expected value over their orders"
    """What ties="expected" gives."""

    k: int | None = field(default=None, kw_only=False)
    empty: int | str = 0
    ties: str = "expected"

    @abstractmethod
    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """Compile to data for these lists; `pool` has every judged document of each query, ranked or not."""

    def __post_init__(self) -> None:
        label = self._label
        if not isinstance(label, str) or not label.strip():
            raise MetricError(f"a metric's name must be a text that is not empty, found {label!r}.")
        if self.k is not None and not self.takes_k:
            raise MetricError(f"{label} takes no cut-off, found @{self.k}.")
        if self.k is None and self.needs_k:
            raise MetricError(f"{label} needs a cut-off, for example {label}@10.")
        if self.k is not None:
            object.__setattr__(self, "k", check_cut_off(label, self.k))
        for name in self.functions:
            if name not in OPTIONS and not callable(getattr(self, name)):
                raise MetricError(f"{label}: {name} must be a function, found {getattr(self, name)!r}.")
        for name, value in self._options():
            if not (name in self.functions and callable(value)):
                object.__setattr__(self, name, check_option(label, name, value))

    @property
    def _label(self) -> str:
        return self.names[0] if self.names else getattr(self, "name", "metric")

    def _options(self) -> list[tuple[str, Any]]:
        """Conventions in the order of OPTIONS, with their values."""
        own = {f.name for f in fields(self)}
        return [(name, getattr(self, name)) for name in OPTIONS if name in own]

    def __str__(self) -> str:
        defaults = {f.name: f.default for f in fields(self)}
        changed = [f"{n}={v}" for n, v in self._options() if v != defaults[n] and not callable(v)]
        cut = "" if self.k is None else f"@{self.k}"
        return self._label + cut + (f"({', '.join(changed)})" if changed else "")

    def describe(self) -> str:
        """The conventions in words.

        >>> import swaprank as sr
        >>> print(sr.metric("map@10").describe())
        average precision to rank 10; relevant from label 1; over all relevant documents; \
a query without a relevant document counts 0; tied scores: expected value over their orders
        """
        first = self.title if self.k is None else f"{self.title} to rank {self.k}"
        wording = {"needs": self.needs, "expectation": self.expectation}
        words = [
            f"own {name}" if callable(value) else OPTIONS[name].describe(value, wording)
            for name, value in self._options()
        ]
        return "; ".join([first, *words])

    def bind(
        self,
        labels: ArrayLike,
        indptr: ArrayLike,
        *,
        docid: ArrayLike | None = None,
        pool: Lists | None = None,
    ) -> BoundMetric:
        """Prepare to measure many scorings of the same documents; the arrays given must stay as they are.

        Args:
            labels: One a document, query after query.
            indptr: Query q has the documents from indptr[q] to indptr[q + 1].
            docid: Document ids, for ties="docid".
            pool: Labels of all judged documents of each query, where some were not ranked; what a perfect
                ranking could have reached is taken from it.

        >>> import swaprank as sr
        >>> bound = sr.metric("ndcg").bind([0, 1], [0, 2])
        >>> bound.mean([0.1, 0.9]), round(bound.mean([0.9, 0.1]), 4)
        (1.0, 0.6309)
        """
        from swaprank.metrics.measuring import bind

        return bind(self, labels, indptr, docid=docid, pool=pool)

    def per_query(
        self,
        labels: ArrayLike,
        scores: ArrayLike,
        indptr: ArrayLike,
        *,
        docid: ArrayLike | None = None,
        n_threads: int | None = None,
    ) -> Floats:
        """The metric of every query; NaN for a query that is left out.

        >>> import swaprank as sr
        >>> sr.metric("mrr").per_query([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.2], [0, 2, 4])
        array([1. , 0.5])
        """
        return self.bind(labels, indptr, docid=docid).per_query(scores, n_threads=n_threads)

    def mean(
        self,
        labels: ArrayLike,
        scores: ArrayLike,
        indptr: ArrayLike,
        *,
        docid: ArrayLike | None = None,
        n_threads: int | None = None,
    ) -> float:
        """The mean over the queries that are not left out.

        >>> import swaprank as sr
        >>> sr.metric("mrr").mean([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.2], [0, 2, 4])
        0.75
        """
        return self.bind(labels, indptr, docid=docid).mean(scores, n_threads=n_threads)

    def swap_gains(self, labels_in_rank_order: ArrayLike) -> Floats:
        """How the metric of one list would change if the documents at two ranks traded places, for all pairs.

        >>> import swaprank as sr
        >>> sr.metric("mrr").swap_gains([0, 0, 1]).round(4)
        array([[0.    , 0.    , 0.6667],
               [0.    , 0.    , 0.1667],
               [0.6667, 0.1667, 0.    ]])
        """
        from swaprank.metrics.measuring import swap_gains

        return swap_gains(self, labels_in_rank_order)


@final
@dataclass(frozen=True, eq=False)
class BoundMetric:
    """A metric bound to labels: measures scorings of the same documents without preparing anew.

    Another process binds anew when it unpickles one: the terms of a CustomMetric hold an address in this process.

    >>> import swaprank as sr
    >>> isinstance(sr.metric("map").bind([0, 1], [0, 2]), sr.BoundMetric)
    True
    """

    metric: Metric
    terms: MetricTerms
    labels: Floats
    indptr: Ints
    tie_order: Ints
    """Positions, query after query, in the order that decides between tied scores."""
    docid: AnyArray | None
    pool: Lists | None

    def __reduce__(self) -> tuple[Any, ...]:
        return _bind_anew, (self.metric, self.labels, self.indptr, self.docid, self.pool)

    def per_query(self, scores: ArrayLike, *, n_threads: int | None = None) -> Floats:
        """The metric of every query; NaN for a query that is left out."""
        from swaprank.metrics.measuring import measure

        return measure(self, scores, n_threads)

    def mean(self, scores: ArrayLike, *, n_threads: int | None = None) -> float:
        """The mean over the queries that are not left out; NaN if none remains."""
        values = self.per_query(scores, n_threads=n_threads)
        kept = values[~np.isnan(values)]
        return float(kept.mean()) if len(kept) else float("nan")


def _bind_anew(metric: Metric, labels: Floats, indptr: Ints, docid: AnyArray | None, pool: Lists | None) -> BoundMetric:
    return metric.bind(labels, indptr, docid=docid, pool=pool)
