"""A smooth version of a metric, and its gradient: what SmoothRank climbs [Chapelle2010, section 4]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import longest_list, sum_by_query
from swaprank.errors import MetricError, ParameterError, did_you_mean
from swaprank.metrics.metric import Metric
from swaprank.metrics.ordering import seeded_tie_order
from swaprank.metrics.terms import AVERAGE_PRECISION, CASCADE, CUMULATIVE, MetricTerms
from swaprank.objectives.smooth_indicators import rank_queries, smooth_other_queries, smooth_sum_queries
from swaprank.objectives.smooth_ranks import smooth_rank_queries
from swaprank.threads import query_chunks, run_in_threads, thread_count

Smoothing = Literal["indicators", "ranks"]
SMOOTHINGS: tuple[Smoothing, ...] = ("indicators", "ranks")

_PAIRS_WORTH_A_THREAD = 1_000_000.0


@final
@dataclass(frozen=True)
class SmoothObjective:
    """A metric of the soft gains at each rank [Chapelle2010, Eq. 8]: sums of discounted gains, AP and cascades.

    Args:
        metric: What is smoothed.
        smoothing: "indicators", or, for average precision alone, "ranks" [Eq. 9].

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.objectives.smooth import SmoothObjective
    >>> data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 2, 1], qid=[1, 1, 1])
    >>> bound = SmoothObjective(sr.metric("ndcg")).bind(data, random_state=0, n_threads=1)
    >>> grad = np.empty(3)
    >>> [round(float(bound.evaluate(np.array([1.0, 2.0, 3.0]), sigma, grad)[0]), 4) for sigma in (100, 1, 0.01)]
    [0.7866, 0.8666, 0.7967]
    >>> round(sr.metric("ndcg").mean([0, 2, 1], [1.0, 2.0, 3.0], [0, 3]), 4)
    0.7967
    """

    metric: Metric
    smoothing: Smoothing = "indicators"

    def __post_init__(self) -> None:
        if self.smoothing not in SMOOTHINGS:
            names = did_you_mean(str(self.smoothing), SMOOTHINGS)
            raise ParameterError(f"there is no smoothing '{self.smoothing}'; {names}")

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundSmooth:
        """Prepare what does not change from step to step."""
        terms = self.metric.bind(np.array(data.by_query(data.labels)), data.indptr).terms
        if terms.family not in (CUMULATIVE, AVERAGE_PRECISION, CASCADE):
            raise MetricError(
                f"{self.metric} cannot be smoothed: it is not made of gains at ranks. Choose one such as ndcg, dcg, p, "
                "recall, rbp, map, mrr or err, or a CumulativeMetric or CascadeMetric of your own."
            )
        if self.smoothing == "ranks" and (terms.family != AVERAGE_PRECISION or self.metric.k is not None):
            raise MetricError(f"smoothing='ranks' is for map without a cut-off, found {self.metric}.")
        lengths = np.diff(data.indptr).astype(np.float64)
        deep = sum_by_query(terms.gains, data.indptr) if self.smoothing == "ranks" else np.minimum(lengths, terms.depth)
        weights = np.ones(len(lengths))
        if data.sample_weight is not None:
            # One number a query, or there would be no cost that this is the gradient of.
            weights = sum_by_query(data.by_query(data.sample_weight), data.indptr) / np.maximum(lengths, 1.0)
        return BoundSmooth(
            objective=self,
            terms=terms,
            indptr=np.array(data.indptr),
            tie_order=seeded_tie_order(data.indptr, random_state),
            weights=weights,
            costs=deep * lengths + 10.0 * lengths,
            n_threads=thread_count(n_threads),
        )


@final
@dataclass(frozen=True, eq=False)
class BoundSmooth:
    """A smooth metric bound to one data set."""

    objective: SmoothObjective
    terms: MetricTerms
    indptr: Ints
    tie_order: Ints
    """Documents in the order that decides between tied scores, at which the gradient jumps: shuffled."""
    weights: Floats
    """How much each query counts: the mean weight of its documents."""
    costs: Floats
    n_threads: int

    def evaluate(self, scores: Floats, sigma: float, grad: Floats, order: Ints | None = None) -> Floats:
        """The smooth metric of every query, times its weight; 0 for those whose order cannot matter.

        Args:
            scores: One a document, query after query.
            sigma: How much is smoothed: towards 0 this becomes the metric itself, towards infinity a constant.
            grad: Receives the gradient by the scores.
            order: A copy of `tie_order`, kept by whoever calls again and again: it becomes the documents by rank, and
                scores that have changed little are ranked faster from there.
        """
        values = np.empty(len(self.indptr) - 1)
        order = self.tie_order.copy() if order is None else order
        longest = longest_list(self.indptr)
        ranked, gains = np.empty(len(scores)), np.empty(len(scores))
        smooth_queries = smooth_sum_queries if self.terms.family == CUMULATIVE else smooth_other_queries

        def work(first: int, last: int) -> None:
            part, sums = (longest, first, last), (values, grad)
            if self.objective.smoothing == "ranks":
                smooth_rank_queries(self.terms, self.indptr, self.weights, scores, float(sigma), *part, *sums)
                return
            rank_queries(self.terms, self.indptr, scores, *part, order, ranked, gains)
            lists = (self.terms, self.indptr, self.weights, ranked, gains, order)
            smooth_queries(*lists, float(sigma), *part, *sums)

        run_in_threads(work, self._chunks)
        return values

    @cached_property
    def _chunks(self) -> list[tuple[int, int]]:
        return query_chunks(self.indptr, self.n_threads, costs=self.costs, least_cost=_PAIRS_WORTH_A_THREAD)

    def mean(self, values: Floats) -> float:
        """The mean of what `evaluate` gives, over the queries that count; what has no order adds what it always is."""
        known = ~np.isnan(self.terms.base)
        total, weight = (values + self.terms.base * self.weights)[known].sum(), self.weights[known].sum()
        return float(total / weight) if weight > 0 else float("nan")


def all_equal(scores: Floats, indptr: Ints) -> Ints:
    """The queries with several documents, all of the same score."""
    several = np.flatnonzero(np.diff(indptr) > 1)
    if len(several) == 0:
        return several
    differs = np.concatenate((scores[1:] != scores[:-1], [False]))
    differs[indptr[1:] - 1] = False
    equal: Ints = several[sum_by_query(differs, indptr)[several] == 0]
    return equal
