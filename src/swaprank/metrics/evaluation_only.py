"""Metrics that only evaluate: they read more than the gains of a ranked list, and have no swap gains.

A new one is a class with `measure_query`: it is given what is known of one query, and returns the function that
measures an order of its documents. Ties are treated here.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import Bools, Floats, Ints
from swaprank.errors import DataError, MetricError, Wording
from swaprank.metrics.custom_kernels import SHUFFLES
from swaprank.metrics.measuring import scores_to_rank
from swaprank.metrics.metric import BoundMetric, Metric
from swaprank.metrics.terms import EVALUATION_ONLY, Lists, MetricTerms, make_terms
from swaprank.seeds import random_generator


class JudgedQuery(NamedTuple):
    """What is known of one query: of its ranked documents, and of all judged ones (the pool)."""

    labels: Floats
    judged: Bools
    listed: Bools
    """The documents that are in the judgements, be it with a negative label, which means pooled and not judged."""
    pool_labels: Floats
    covers: Bools
    """(documents, subtopics): True where a document is relevant to a subtopic; no columns without subtopics."""
    pool_covers: Bools


OfOrder = Callable[[Ints], float]
"""Measures a ranking, given as positions of the query's documents from the first rank on."""


@dataclass(frozen=True, kw_only=True)
class EvaluationMetric(Metric):
    """A metric without swap gains: `evaluate`, `compare` and early stopping take it, training for it is refused.

    >>> import swaprank as sr
    >>> isinstance(sr.metric("compat"), sr.metrics.EvaluationMetric)
    True
    """

    expectation: ClassVar[str] = f"mean over {SHUFFLES} seeded shuffles"
    rel: float = 1

    @abstractmethod
    def measure_query(self, query: JudgedQuery) -> OfOrder | None:
        """The function that measures an order of the documents; None if all orders have the same value (`empty`)."""

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        queries = self._queries(lists, pool)
        is_empty = np.array([self.measure_query(query) is None for query in queries], np.bool_)
        return make_terms(EVALUATION_ONLY, lists.labels, lists, is_empty=is_empty, empty=self.empty)

    def measure_bound(self, bound: BoundMetric, scores: Floats) -> Floats:
        """See `Metric.measure_bound`."""
        values = bound.terms.base.copy()
        pool = bound.lists if bound.pool is None else bound.pool
        given = scores_to_rank(scores, self.ties)
        for number, query in enumerate(self._queries(bound.lists, pool)):
            measured = self.measure_query(query)
            if measured is not None:
                rows = slice(bound.indptr[number], bound.indptr[number + 1])
                values[number] = self._over_ties(measured, given[rows], bound, rows)
        return values

    def _over_ties(self, measured: OfOrder, scores: Floats, bound: BoundMetric, rows: slice) -> float:
        tied = len(np.unique(scores)) < len(scores)
        if not tied or self.ties == "input":
            return measured(np.argsort(-scores, kind="stable"))
        if self.ties == "docid":
            if bound.docid is None:
                raise DataError(
                    f"{self} breaks ties by document id, but no document ids are given, and a query has equal scores. "
                    "Give document ids, or choose ties=input or ties=expected."
                )
            first = bound.tie_order[rows] - rows.start
            return measured(first[np.argsort(-scores[first], kind="stable")])
        # The seed is the same for every query, so that its value depends on no other query.
        shuffles = random_generator(0).random((SHUFFLES, len(scores)))
        return float(np.mean([measured(np.lexsort((shuffle, -scores))) for shuffle in shuffles]))

    def _queries(self, lists: Lists, pool: Lists) -> Iterator[JudgedQuery]:
        covers, pool_covers = _covers(lists, self.rel), _covers(pool, self.rel)
        judged = lists.labels >= 0 if lists.judged is None else lists.judged
        listed = np.ones(len(judged), np.bool_) if lists.judged is None else lists.judged
        for number in range(len(lists.indptr) - 1):
            rows = slice(lists.indptr[number], lists.indptr[number + 1])
            whole = slice(pool.indptr[number], pool.indptr[number + 1])
            yield JudgedQuery(
                lists.labels[rows], judged[rows], listed[rows], pool.labels[whole], covers[rows], pool_covers[whole]
            )

    def swap_gains(self, labels_in_rank_order: ArrayLike) -> Floats:
        """See `Metric.swap_gains`: this metric has none."""
        raise MetricError(f"{self} only evaluates: it has no swap gains.")


@dataclass(frozen=True, kw_only=True)
class DiversityMetric(EvaluationMetric):
    """A metric of how well a list covers the subtopics of its query.

    >>> import swaprank as sr
    >>> isinstance(sr.metric("alpha_ndcg@10"), sr.metrics.DiversityMetric)
    True
    """

    needs: ClassVar[str] = "a document relevant to a subtopic"

    def terms(self, lists: Lists, pool: Lists) -> MetricTerms:
        """See `Metric.terms`."""
        if lists.subtopics is None or pool.subtopics is None:
            raise DataError(
                f"{self} measures the diversity of a list, and here are no subtopics: ",
                Wording(
                    "give evaluate(…, subtopics=table), with a row for each document and a column for each subtopic, "
                    "or TREC judgements with subtopics, read_qrels(file, subtopics=True)",
                    "give TREC judgements whose second column is the subtopic, and a TREC run",
                ),
                ".",
            )
        return super().terms(lists, pool)


def _covers(lists: Lists, rel: float) -> Bools:
    if lists.subtopics is None:
        return np.zeros((len(lists.labels), 0), np.bool_)
    return np.asarray(lists.subtopics >= rel)  # NaN, no judgement, is not relevant
