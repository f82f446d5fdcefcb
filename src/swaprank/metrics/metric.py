"""The base class of all metrics: a small immutable value that measures rankings and their swap gains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.collective import ALONE, Collective
from swaprank.data.dataset import Dataset
from swaprank.data.pairs import PairLists, pairs_by_query
from swaprank.data.row_values import check_scores
from swaprank.data.side_columns import number_values
from swaprank.errors import DataError, MetricError, did_you_mean
from swaprank.exact_sums import exact_limbs, rounded_sums
from swaprank.metrics.measuring import by_descending_id, check_beside, check_lists, measure, swap_gain_matrix
from swaprank.metrics.metric_options import GAINS, OPTIONS, check_cut_off, check_option
from swaprank.metrics.terms import CUSTOM, WITHOUT_SWAP_GAINS, Lists, MetricTerms

OWN_SUFFIX = " (own)"
"""Follows the name of a user's own metric in a model file, which cannot hold the metric's functions."""


def is_own(saved: Any) -> bool:
    """True if a parameter from a model file stands for a metric or objective of the user's own."""
    return isinstance(saved, str) and saved.endswith(OWN_SUFFIX)


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """A measure of ranked lists with all its conventions: `str(metric)` reads back as the same metric.

    >>> import swaprank as sr
    >>> isinstance(sr.metric("map"), sr.metrics.Metric)
    True
    """

    names: ClassVar[tuple[str, ...]] = ()
    """Names to parse, the canonical one first; empty for a user's own metric."""
    title: ClassVar[str]
    takes_k: ClassVar[bool] = True
    needs_k: ClassVar[bool] = False
    functions: ClassVar[tuple[str, ...]] = ()
    """Fields that may hold a user's function."""
    needs: ClassVar[str] = "a relevant document"
    """The thing that a query must have for its order to matter."""
    bounds: ClassVar[tuple[float, float]] = (float("-inf"), float("inf"))
    """The least and the greatest value that the metric of a query can have; confidence intervals stay within."""
    expectation: ClassVar[str] = "expected value over their orders"
    """The value that ties="expected" returns, in words."""

    k: int | None = field(default=None, kw_only=False)
    empty: int | str = 0
    ties: str = "expected"

    @abstractmethod
    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """Compile the metric to arrays for these lists; `pool` holds all judged documents of each query."""

    def measure_bound(self, bound: BoundMetric, scores: Floats) -> Floats:
        """The metric of every query, for a family that the kernels do not know (`WITHOUT_SWAP_GAINS`)."""
        raise MetricError(f"{self} does not say how it is measured.")

    def __post_init__(self) -> None:
        label = self._label
        if not isinstance(label, str) or not label.strip():
            raise MetricError(f"a metric's name must be a non-empty string, found {label!r}.")
        if self.k is not None and not self.takes_k:
            raise MetricError(f"{label} has no cut-off, found @{self.k}.")
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

    @property
    def is_own(self) -> bool:
        """True if it is the user's own, with functions that its text does not contain."""
        return not self.names or any(callable(getattr(self, name)) for name in self.functions)

    @property
    def column(self) -> str | None:
        """The side column whose values take the place of the labels; None for the labels themselves."""
        return None

    def _column_of(self, columns: Mapping[str, AnyArray] | None) -> Floats:
        name = str(self.column)
        if columns is None or name not in columns:
            raise MetricError(
                f"{self}: '{name}' is neither a gain nor a side column of the data; "
                f"{did_you_mean(name, [*GAINS, *(columns or ())])}"
            )
        return number_values(columns, name)

    def _options(self) -> list[tuple[str, Any]]:
        """The options of this metric with their values, in the order of OPTIONS."""
        own = {f.name for f in fields(self)}
        return [(name, getattr(self, name)) for name in OPTIONS if name in own]

    def __str__(self) -> str:
        defaults = {f.name: f.default for f in fields(self)}
        # The functions of a metric with a name of its own are not written: the name stands for them.
        changed = [
            f"{name}={'own' if callable(value) else OPTIONS[name].write(value)}"
            for name, value in self._options()
            if value != defaults[name] and (self.names or not callable(value))
        ]
        cut = "" if self.k is None else f"@{self.k}"
        return self._label + cut + (f"({', '.join(changed)})" if changed else "")

    def describe(self) -> str:
        """Describe the metric's conventions in words.

        >>> import swaprank as sr
        >>> print(sr.metric("map@10").describe())
        average precision to rank 10; labels from 1 are relevant; divided by the number of relevant documents; \
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
        pairs: PairLists | None = None,
        columns: Mapping[str, AnyArray] | None = None,
        subtopics: ArrayLike | None = None,
        judged: ArrayLike | None = None,
    ) -> BoundMetric:
        """Prepare to measure many score vectors of the same documents. Do not change the arrays afterwards.

        Args:
            labels: One label per document, grouped by query.
            indptr: Query q has the documents from indptr[q] to indptr[q + 1].
            docid: Document ids, for ties="docid".
            pool: Labels of all judged documents of each query, if some of them were not ranked. The ideal ranking
                is computed from it.
            pairs: Preferences between the documents, for the metric `pairs`.
            columns: Side columns, grouped by query, for a gain that names one: it takes the place of the labels.
            subtopics: (documents, subtopics): labels for each subtopic of the query, for metrics of diversity.
            judged: True for documents with a judgement; by default, those whose label is not negative.

        >>> import swaprank as sr
        >>> bound = sr.metric("ndcg").bind([0, 1], [0, 2])
        >>> bound.mean([0.1, 0.9]), round(bound.mean([0.9, 0.1]), 4)
        (1.0, 0.6309)
        """
        if self.column is not None:
            labels = self._column_of(columns)
        lists = check_beside(check_lists(labels, indptr), subtopics, judged)._replace(pairs=pairs)
        whole = lists if pool is None else check_beside(check_lists(pool.labels, pool.indptr), pool.subtopics, None)
        if len(whole.indptr) != len(lists.indptr):
            raise DataError(f"the pool has {len(whole.indptr) - 1} queries, but {len(lists.indptr) - 1} were ranked.")
        ids = None if docid is None else np.asarray(docid)
        if ids is not None and ids.shape != lists.labels.shape:
            raise DataError(
                f"docid must be one id per document, {len(lists.labels):,} in all; found shape {ids.shape}."
            )
        terms = self.terms(lists, whole)
        return BoundMetric(self, terms, lists, docid=ids, pool=None if pool is None else whole)

    def per_query(
        self,
        labels: ArrayLike,
        scores: ArrayLike,
        indptr: ArrayLike,
        *,
        docid: ArrayLike | None = None,
        n_threads: int | None = None,
    ) -> Floats:
        """The metric of every query; NaN for a query that is left out (empty="skip").

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
        """The mean over all queries that are not left out.

        >>> import swaprank as sr
        >>> sr.metric("mrr").mean([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.2], [0, 2, 4])
        0.75
        """
        return self.bind(labels, indptr, docid=docid).mean(scores, n_threads=n_threads)

    def swap_gains(self, labels_in_rank_order: ArrayLike) -> Floats:
        """The change of one list's metric if the documents at two ranks are swapped, for all pairs of ranks.

        >>> import swaprank as sr
        >>> sr.metric("mrr").swap_gains([0, 0, 1]).round(4)
        array([[0.    , 0.    , 0.6667],
               [0.    , 0.    , 0.1667],
               [0.6667, 0.1667, 0.    ]])
        """
        labels = np.atleast_1d(np.asarray(labels_in_rank_order, dtype=np.float64))
        lists = check_lists(labels, [0, len(labels)])
        gains = np.zeros((len(labels), len(labels)))
        terms = self.terms(lists, lists)
        swap_gain_matrix(terms, gains)
        if terms.family == CUSTOM and not np.isfinite(gains).all():
            raise MetricError(
                f"{self}: evaluate failed or did not return a finite number, for the list or after a swap."
            )
        return gains + 0.0  # turns -0 into 0


@final
@dataclass(frozen=True, eq=False)
class BoundMetric:
    """A metric bound to labels: measures many score vectors of the same documents.

    Unpickling binds again, because the terms of a CustomMetric hold a memory address of this process.

    >>> import swaprank as sr
    >>> isinstance(sr.metric("map").bind([0, 1], [0, 2]), sr.metrics.BoundMetric)
    True
    """

    metric: Metric
    terms: MetricTerms
    lists: Lists
    docid: AnyArray | None
    pool: Lists | None

    def __reduce__(self) -> tuple[Any, ...]:
        return _bind, (self.metric, self.lists, self.docid, self.pool)

    @property
    def labels(self) -> Floats:
        """The labels, grouped by query."""
        return self.lists.labels

    @property
    def indptr(self) -> Ints:
        """Query q has the documents from indptr[q] to indptr[q + 1]."""
        return self.lists.indptr

    @cached_property
    def tie_order(self) -> Ints:
        """Positions grouped by query; among tied scores, the document that comes first here ranks first."""
        if self.metric.ties == "docid" and self.docid is not None:
            return by_descending_id(self.docid, self.indptr)
        return np.arange(len(self.labels))

    def per_query(self, scores: ArrayLike, *, n_threads: int | None = None) -> Floats:
        """The metric of every query; NaN for a query that is left out (empty="skip")."""
        (values,) = measure_each([self], scores, n_threads)
        return values

    def mean(self, scores: ArrayLike, *, n_threads: int | None = None) -> float:
        """The mean over all queries that are not left out; NaN if there is none."""
        (mean,) = mean_of_each([self], scores, n_threads)
        return mean


def bind_metric(metric: Metric, data: Dataset, *, refuse_constant: bool = False) -> BoundMetric:
    """Bind a metric to a data set, to measure scores that are grouped by query.

    With `refuse_constant`, raises DataError if the metric is the same for every order of the documents.

    >>> import swaprank as sr
    >>> from swaprank.metrics.metric import bind_metric
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> bind_metric(sr.metric("mrr"), data).mean([0.7, 0.5])
    0.5
    """
    docid = None if data.docid is None else data.by_query(data.docid)
    columns = {name: data.by_query(data.columns[name]) for name in data.columns if name == metric.column}
    pairs = None if data.pairs is None else pairs_by_query(data.pairs, data.indptr, data.order)
    bound = metric.bind(data.by_query(data.labels), data.indptr, docid=docid, pairs=pairs, columns=columns)
    if refuse_constant and bound.terms.is_empty.all():
        raise DataError(f"{metric} is the same for every order: no query has {metric.needs}.")
    return bound


def measure_each(bound: Sequence[BoundMetric], scores: ArrayLike, n_threads: int | None = None) -> list[Floats]:
    """Measure several metrics, bound to the same documents: they share one ranking for each treatment of ties.

    >>> import swaprank as sr
    >>> from swaprank.metrics.metric import measure_each
    >>> measure_each([sr.metric(name).bind([0, 1], [0, 2]) for name in ("mrr", "p@1")], [0.7, 0.5])
    [array([0.5]), array([0.])]
    """
    checked = check_scores(scores, len(bound[0].labels))
    values: dict[int, Floats] = {}
    ranked = [at for at, each in enumerate(bound) if each.terms.family not in WITHOUT_SWAP_GAINS]
    for at in {*range(len(bound))} - {*ranked}:
        values[at] = bound[at].metric.measure_bound(bound[at], checked)
    for ties in dict.fromkeys(bound[at].metric.ties for at in ranked):
        alike = [at for at in ranked if bound[at].metric.ties == ties]
        values |= zip(alike, _measure_ranking([bound[at] for at in alike], checked, n_threads), strict=True)
    for at, each in enumerate(bound):
        failed = np.flatnonzero(~np.isfinite(values[at]) & ~each.terms.is_empty)
        if len(failed):
            raise MetricError(
                f"{each.metric}: evaluate failed or did not return a finite number for query {failed[0]} "
                f"({each.indptr[failed[0] + 1] - each.indptr[failed[0]]} documents)."
            )
    return [values[at] for at in range(len(bound))]


def mean_of_each(
    bound: Sequence[BoundMetric], scores: ArrayLike, n_threads: int | None = None, collective: Collective = ALONE
) -> list[float]:
    """The means of several metrics, bound to the same documents, over all queries (of all workers) not left out.

    Sums are exact, so that the means do not depend on the order of the queries.
    """
    kept = [values[~np.isnan(values)] for values in measure_each(bound, scores, n_threads)]
    sums = np.array([[len(values), *exact_limbs(values)] for values in kept])
    collective.add(sums.reshape(-1))
    counts, totals = sums[:, 0], rounded_sums(sums[:, 1:].copy())
    return [float(total / n) if n else float("nan") for total, n in zip(totals, counts, strict=True)]


def _measure_ranking(bound: Sequence[BoundMetric], scores: Floats, n_threads: int | None) -> list[Floats]:
    """Measure metrics that treat ties in the same way."""
    deepest = max(bound, key=lambda each: each.terms.depth)
    ties, indptr, terms = deepest.metric.ties, deepest.indptr, [each.terms for each in bound]
    values, tied = measure(terms, indptr, None, scores, ties, n_threads)
    if ties != "docid" or tied < 0:
        return values
    if deepest.docid is None:
        query = int(np.searchsorted(indptr, tied, side="right")) - 1
        raise DataError(
            f"{deepest.metric} breaks ties by document id, but no document ids are given, and in query {query} "
            f"document {tied - indptr[query]} (both counted from 0) has the same score as another one, "
            f"{scores[tied]:g}. Give document ids, or choose ties=input or ties=expected."
        )
    # Sorting ids takes many times longer than ranking, so it is done only if there are ties.
    return measure(terms, indptr, deepest.tie_order, scores, ties, n_threads)[0]


def _bind(metric: Metric, lists: Lists, docid: AnyArray | None, pool: Lists | None) -> BoundMetric:
    return metric.bind(
        lists.labels,
        lists.indptr,
        docid=docid,
        pool=pool,
        pairs=lists.pairs,
        subtopics=lists.subtopics,
        judged=lists.judged,
        columns=None if metric.column is None else {metric.column: lists.labels},
    )
