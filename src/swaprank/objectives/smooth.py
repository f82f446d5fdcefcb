"""A smooth version of a metric, and its gradient: what SmoothRank climbs [Chapelle2010, section 4]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.dataset import Dataset
from swaprank.errors import MetricError, ParameterError, did_you_mean
from swaprank.kernels import query_chunks, run_in_threads, thread_count
from swaprank.metrics.metric import Metric
from swaprank.metrics.ordering import seeded_arrangement
from swaprank.metrics.terms import AVERAGE_PRECISION, CASCADE, CUMULATIVE, MetricTerms, longest_list, sum_by_query
from swaprank.objectives.objective import BoundObjective, Objective
from swaprank.objectives.smooth_indicators import smooth_queries
from swaprank.objectives.smooth_ranks import smooth_rank_queries

Smoothing = Literal["indicators", "ranks"]
SMOOTHINGS: tuple[Smoothing, ...] = ("indicators", "ranks")

_PAIRS_WORTH_A_THREAD = 100_000.0


@final
@dataclass(frozen=True)
class SmoothObjective(Objective):
    """A metric of the soft gains at each rank [Chapelle2010, Eq. 8]: sums of discounted gains, AP and cascades.

    Args:
        metric: What is smoothed.
        sigma: How much: towards 0 the smooth metric becomes the metric, towards infinity a constant.
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
    sigma: float = 1.0
    smoothing: Smoothing = "indicators"

    def __post_init__(self) -> None:
        if self.smoothing not in SMOOTHINGS:
            names = did_you_mean(str(self.smoothing), SMOOTHINGS)
            raise ParameterError(f"there is no smoothing '{self.smoothing}'; {names}")

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundSmooth:
        """See `Objective`."""
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
            arrangement=seeded_arrangement(data.indptr, random_state),
            weights=weights,
            costs=deep * lengths + 10.0 * lengths,
            n_threads=thread_count(n_threads),
        )


@final
@dataclass(frozen=True, eq=False)
class BoundSmooth(BoundObjective):
    """A smooth metric bound to one data set."""

    objective: SmoothObjective
    terms: MetricTerms
    indptr: Ints
    arrangement: Ints
    """Documents in the order that decides between tied scores, at which the gradient jumps: shuffled."""
    weights: Floats
    """How much each query counts: the mean weight of its documents."""
    costs: Floats
    n_threads: int

    def evaluate(
        self, scores: Floats, sigma: float, grad: Floats, hess: Floats | None = None, order: Ints | None = None
    ) -> Floats:
        """The smooth metric of every query, times its weight; 0 for those whose order cannot matter.

        Args:
            scores: One a document, query after query.
            sigma: How much is smoothed.
            grad: Receives the gradient by the scores.
            hess: Receives a positive curvature: see `update`.
            order: A copy of `arrangement`, kept by whoever calls again and again: it becomes the documents by rank, and
                scores that have changed little are ranked faster from there.
        """
        values = np.empty(len(self.indptr) - 1)
        curvature = np.empty(0) if hess is None else hess
        order = self.arrangement.copy() if order is None else order
        longest = longest_list(self.indptr)

        def work(first: int, last: int) -> None:
            lists = (self.terms, self.indptr, self.weights, scores, float(sigma), longest, first, last)
            if self.objective.smoothing == "ranks":
                smooth_rank_queries(*lists, values, grad, curvature)
            else:
                smooth_queries(*lists, order, values, grad, curvature)

        chunks = query_chunks(self.indptr, self.n_threads, costs=self.costs, least_cost=_PAIRS_WORTH_A_THREAD)
        run_in_threads(work, chunks)
        return values

    def mean(self, values: Floats) -> float:
        """The mean of what `evaluate` gives, over the queries that count; what has no order adds what it always is."""
        known = ~np.isnan(self.terms.base)
        total, weight = (values + self.terms.base * self.weights)[known].sum(), self.weights[known].sum()
        return float(total / weight) if weight > 0 else float("nan")

    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> None:
        """See `BoundObjective`: the cost is minus the metric, and hess what trees may divide by.

        The metric is not convex, so its second derivative will not do. For each rank j, what bends it are terms
        2/sigma |b_j| h_ij |g_i - p_j|: their sum is the curvature, raised where a step would be longer than
        sqrt(sigma), beyond which the gradient says nothing.

        Where all scores of a list are equal the gradient is 0, but that is no maximum: there, a step to the gains, in
        units of their deviation, stands for it. A good start is better: trees that were boosted on the gains.
        """
        sigma = float(self.objective.sigma)
        bound = self if taken is None else replace(self, weights=self.weights * taken)
        bound.evaluate(scores, sigma, grad, hess)
        longest = sigma if self.objective.smoothing == "ranks" else float(np.sqrt(sigma))
        np.negative(grad, out=grad)
        np.maximum(hess, np.abs(grad) / longest, out=hess)
        for query in all_equal(scores, self.indptr):
            documents = slice(self.indptr[query], self.indptr[query + 1])
            ahead = self.terms.gains[documents] - self.terms.gains[documents].mean()
            grad[documents] = -hess[documents] * ahead / max(float(self.terms.gains.std()), np.finfo(float).tiny)


def all_equal(scores: Floats, indptr: Ints) -> Ints:
    """The queries with several documents, all of the same score."""
    several = np.flatnonzero(np.diff(indptr) > 1)
    if len(several) == 0:
        return several
    differs = np.concatenate((scores[1:] != scores[:-1], [False]))
    differs[indptr[1:] - 1] = False
    equal: Ints = several[sum_by_query(differs, indptr)[several] == 0]
    return equal
