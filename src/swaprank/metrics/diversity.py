"""Diversity: how well a list covers the subtopics of a query. Values are those of ndeval, TREC's tool.

A document that is relevant to a subtopic for the c-th time counts (1 - alpha)^(c - 1) for it.
"""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.elementary import logs2
from swaprank.metrics.evaluation_only import DiversityMetric, JudgedQuery, OfOrder


def novelty_gains(covers: Bools, alpha: float) -> Floats:
    """The gain of each rank: the sum over its document's subtopics of (1 - alpha)^(times that they came before)."""
    before: Ints = np.cumsum(covers, axis=0) - covers
    return np.asarray(np.where(covers, (1.0 - alpha) ** before, 0.0).sum(axis=1))


def greedy_order(covers: Bools, alpha: float, depth: int) -> Ints:
    """The documents from the first rank on, each with the largest gain after those above it.

    The best order is NP-hard to find; TREC's ideal list is the greedy one [Clarke2008]. Of documents with the
    same gain, it takes the first given: of TREC judgements the one with the largest id, of a data set the first row.
    """
    left, weights = np.arange(len(covers)), np.ones(covers.shape[1])
    useful = covers[left].any(axis=1)
    left, order = left[useful], np.empty(min(depth, int(useful.sum())), np.int64)
    rows = covers[left].astype(np.float64)
    for rank in range(len(order)):
        best = int(np.argmax((rows * weights).sum(axis=1)))
        order[rank] = left[best]
        weights = np.where(rows[best] > 0, weights * (1.0 - alpha), weights)
        rows[best] = -1.0  # never the largest again
    return order


@final
@dataclass(frozen=True, kw_only=True)
class AlphaNDCG(DiversityMetric):
    """Discounted cumulative gain of what is new in each document, over that of the ideal list [Clarke2008].

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2], [3]], [1, 1, 1], qid=[7, 7, 7])
    >>> about = [[1, 0], [1, 0], [0, 1]]  # the first two documents say the same
    >>> sr.evaluate(data, [3, 2, 1], "alpha_ndcg@2", subtopics=about).results[0].mean.__round__(4)
    0.8066
    >>> sr.evaluate(data, [3, 1, 2], "alpha_ndcg@2", subtopics=about).results[0].mean
    1.0
    """

    names: ClassVar = ("alpha_ndcg",)
    title: ClassVar = "alpha-NDCG"
    alpha: float = 0.5

    def measure_query(self, query: JudgedQuery) -> OfOrder | None:
        """See `EvaluationMetric`."""
        ideal = greedy_order(query.pool_covers, self.alpha, self.k or len(query.pool_covers))
        best = self._discounted(query.pool_covers[ideal])
        return (lambda order: self._discounted(query.covers[order[: self.k]]) / best) if best > 0 else None

    def _discounted(self, covers: Bools) -> float:
        return float((novelty_gains(covers, self.alpha) / logs2(np.arange(2.0, len(covers) + 2.0))).sum())


@final
@dataclass(frozen=True, kw_only=True)
class IntentAwareERR(DiversityMetric):
    """The mean over subtopics of expected reciprocal rank [Chapelle2009b], in the form of TREC's ndeval.

    A relevant document satisfies with probability alpha. As in ndeval, the value is divided by that of a list
    whose documents are all relevant to all subtopics, so that it is at most 1.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2]], [1, 1], qid=[7, 7])
    >>> sr.evaluate(data, [2, 1], "err_ia@2", subtopics=[[1, 1], [1, 1]]).results[0].mean
    1.0
    """

    names: ClassVar = ("err_ia",)
    title: ClassVar = "intent-aware expected reciprocal rank"
    alpha: float = 0.5

    def measure_query(self, query: JudgedQuery) -> OfOrder | None:
        """See `EvaluationMetric`."""
        n_subtopics = int(query.pool_covers.any(axis=0).sum())
        if n_subtopics == 0:
            return None
        ranks = np.arange(1.0, (self.k or max(len(query.labels), 1)) + 1.0)
        most = n_subtopics * float(((1.0 - self.alpha) ** (ranks - 1.0) / ranks).sum())

        def value(order: Ints) -> float:
            gains = novelty_gains(query.covers[order[: self.k]], self.alpha)
            return float((gains / ranks[: len(gains)]).sum()) / most

        return value


@final
@dataclass(frozen=True, kw_only=True)
class SubtopicRecall(DiversityMetric):
    """The share of the query's subtopics that the first k documents cover [Zhai2003].

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2], [3]], [1, 1, 1], qid=[7, 7, 7])
    >>> sr.evaluate(data, [3, 2, 1], "subtopic_recall@2", subtopics=[[1, 0], [1, 0], [0, 1]]).results[0].mean
    0.5
    """

    names: ClassVar = ("subtopic_recall", "strecall", "strec", "s_recall")
    title: ClassVar = "share of subtopics covered"

    def measure_query(self, query: JudgedQuery) -> OfOrder | None:
        """See `EvaluationMetric`."""
        n_subtopics = int(query.pool_covers.any(axis=0).sum())
        if n_subtopics == 0:
            return None
        return lambda order: float(query.covers[order[: self.k]].any(axis=0).sum() / n_subtopics)
