"""Metrics about what is judged: the share of judged documents, set precision, inferred average precision."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.arrays import Bools, Ints
from swaprank.metrics.evaluation_only import EvaluationMetric, JudgedQuery, OfOrder

_EPSILON = 0.00001
"""trec_eval's smoothing of the share of relevant documents among those judged above a rank."""


def _number_above(marked: Bools) -> Ints:
    return np.asarray(np.cumsum(marked) - marked)


@final
@dataclass(frozen=True, kw_only=True)
class Judged(EvaluationMetric):
    """The share of the first k documents that have a judgement; the shorter list counts if there are fewer than k.

    In TREC judgements these are the documents that are listed, in a data set those whose label is not negative.

    >>> import swaprank as sr
    >>> sr.metrics.Judged(k=2).mean([1, -1, 0], [3, 2, 1], [0, 3])
    0.5
    """

    names: ClassVar = ("judged",)
    title: ClassVar = "share of judged documents"
    needs: ClassVar = "a document"
    rel: ClassVar = 1  # type: ignore[misc]

    def measure_query(self, query: JudgedQuery) -> OfOrder | None:
        """See `EvaluationMetric`."""
        return (lambda order: float(query.judged[order[: self.k]].mean())) if len(query.labels) else None


@final
@dataclass(frozen=True, kw_only=True)
class SetPrecision(EvaluationMetric):
    """The share of all retrieved documents that are relevant, in any order: for runs that retrieve few documents.

    >>> import swaprank as sr
    >>> sr.metrics.SetPrecision().mean([1, 0, 0, 1], [4, 3, 2, 1], [0, 4])
    0.5
    """

    names: ClassVar = ("setp", "set_p")
    title: ClassVar = "relevant documents among all retrieved"
    needs: ClassVar = "a document"
    takes_k: ClassVar = False

    def measure_query(self, query: JudgedQuery) -> OfOrder | None:
        """See `EvaluationMetric`."""
        return (lambda order: float((query.labels >= self.rel).mean())) if len(query.labels) else None


@final
@dataclass(frozen=True, kw_only=True)
class InferredAP(EvaluationMetric):
    """Average precision estimated from a judged sample of the pool [Yilmaz2006], as trec_eval computes it.

    A listed document with a negative label was pooled, but not judged. One that is not listed counts as not relevant.

    >>> import swaprank as sr
    >>> round(sr.metrics.InferredAP().mean([1, -1, 0, 1], [4, 3, 2, 1], [0, 4]), 3)
    0.812
    """

    names: ClassVar = ("infap", "inferred_ap")
    title: ClassVar = "inferred average precision"
    takes_k: ClassVar = False

    def measure_query(self, query: JudgedQuery) -> OfOrder | None:
        """See `EvaluationMetric`."""
        n_relevant = int((query.pool_labels >= self.rel).sum())
        if n_relevant == 0:
            return None

        def value(order: Ints) -> float:
            labels, listed = query.labels[order], query.listed[order]
            relevant, judged = labels >= self.rel, labels >= 0
            above = np.arange(len(order))
            relevant_above, judged_above, listed_above = map(_number_above, (relevant, judged, listed))
            share = (relevant_above + _EPSILON) / (judged_above + 2 * _EPSILON)
            expected = 1.0 / (above + 1) + listed_above / (above + 1) * share
            return float(np.where(above == 0, 1.0, expected)[relevant].sum() / n_relevant)

        return value
