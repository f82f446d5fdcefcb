"""A smooth version of a metric as an objective: what SmoothRank maximizes [Chapelle2010, section 4]."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import sum_by_query
from swaprank.errors import MetricError, ParameterError, did_you_mean
from swaprank.metrics.metric import Metric, bind_metric
from swaprank.metrics.ordering import seeded_tie_order
from swaprank.metrics.parse import metric as parse_metric
from swaprank.metrics.terms import AVERAGE_PRECISION, CASCADE, CUMULATIVE, MetricTerms
from swaprank.objectives.objective import BoundObjective, Objective, objective_chunks, write_gradients
from swaprank.objectives.smooth_indicators import SmoothProductArrays, SmoothSumArrays
from swaprank.objectives.smooth_ranks import RANK_DISCOUNTS, SmoothRankArrays
from swaprank.threads import thread_count

Smoothing = Literal["indicators", "ranks", "ranks_half"]
SMOOTHINGS: tuple[Smoothing, ...] = ("indicators", "ranks", "ranks_half")


@final
@dataclass(frozen=True)
class SmoothObjective(Objective):
    """Minus a metric of the soft gains at each rank [Chapelle2010, Eq. 8].

    For sums of discounted gains such as NDCG, for average precision, and for cascades such as ERR. The hessian is
    |gradient| / width, with the width sqrt(smoothing_factor) for "indicators" and smoothing_factor for others: the
    smooth metric is not convex, and a Newton step of this hessian is one width long.

    Args:
        metric: The metric to smooth, or its name.
        smoothing: "indicators"; or "ranks" for DCG and NDCG [Eq. 5] and average precision, without a cut-off; or
            "ranks_half" for average precision with the constant of Eq. 9, which does not tend to the metric.
        smoothing_factor: How much is smoothed, the paper's sigma, in squared scores for "indicators" and in scores for
            the others. Towards 0 this becomes the metric itself, towards infinity a constant.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 2, 1], qid=[1, 1, 1])
    >>> scores, grad, hess = np.array([1.0, 2.0, 3.0]), np.empty(3), np.empty(3)
    >>> for factor in (100, 1, 0.01):
    ...     objective = sr.objectives.SmoothObjective(sr.metric("ndcg"), smoothing_factor=factor)
    ...     costs = objective.bind(data, random_state=0, n_threads=1).update(scores, grad, hess)
    ...     print(round(float(-costs[0]), 4))
    0.7866
    0.8666
    0.7967
    >>> round(sr.metric("ndcg").mean([0, 2, 1], [1.0, 2.0, 3.0], [0, 3]), 4)
    0.7967
    """

    metric: Metric
    smoothing: Smoothing = "indicators"
    smoothing_factor: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", parse_metric(self.metric))
        if self.smoothing not in SMOOTHINGS:
            names = did_you_mean(str(self.smoothing), SMOOTHINGS)
            raise ParameterError(f"there is no smoothing '{self.smoothing}'; {names}")
        check_smoothing_factor(self.smoothing_factor)

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> "BoundSmooth":
        """See `Objective`."""
        terms = bind_metric(self.metric, data).terms
        if terms.family not in (CUMULATIVE, AVERAGE_PRECISION, CASCADE):
            raise MetricError(
                f"{self.metric} cannot be smoothed: it is not made of gains at ranks. Choose one such as ndcg, dcg, p, "
                "recall, rbp, map, mrr or err, or a CumulativeMetric or CascadeMetric of your own."
            )
        by_ranks = self.smoothing != "indicators"
        if by_ranks:
            self._check_ranks(terms.family)
        lengths = np.diff(data.indptr).astype(np.float64)
        deep = sum_by_query(terms.gains != 0, data.indptr) if by_ranks else np.minimum(lengths, terms.depth)
        query_weights = np.ones(len(lengths))
        if data.sample_weight is not None:
            # One weight per query: with several, the gradient would not be that of any cost.
            query_weights = sum_by_query(data.by_query(data.sample_weight), data.indptr) / np.maximum(lengths, 1.0)
        return BoundSmooth(
            terms=terms,
            smoothing=self.smoothing,
            smoothing_factor=float(self.smoothing_factor),
            is_reciprocal=getattr(self.metric, "discount", None) == "reciprocal",
            indptr=np.array(data.indptr),
            tie_order=seeded_tie_order(data.places, random_state),
            query_weights=query_weights,
            pairs=deep * lengths + 10.0 * lengths,
            n_threads=thread_count(n_threads),
        )

    def _check_ranks(self, family: int) -> None:
        """Raise if the metric is not a smooth function of soft ranks: a cut-off is a step."""
        is_sum = family == CUMULATIVE and getattr(self.metric, "discount", None) in RANK_DISCOUNTS
        fits = family == AVERAGE_PRECISION or (is_sum and self.smoothing == "ranks")
        if not fits or self.metric.k is not None:
            also = "" if self.smoothing == "ranks_half" else " and for dcg and ndcg with discount log2 or reciprocal"
            raise MetricError(f"smoothing='{self.smoothing}' is for map{also}, without a cut-off; found {self.metric}.")


def check_smoothing_factor(value: float) -> None:
    """Raise if the value is not a positive finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise ParameterError(f"smoothing_factor must be a number above 0; found {value!r}.")


@final
@dataclass(frozen=True, eq=False)
class BoundSmooth(BoundObjective):
    """A smooth metric bound to one data set; `dataclasses.replace` changes its smoothing factor or query weights."""

    terms: MetricTerms
    smoothing: Smoothing
    smoothing_factor: float
    is_reciprocal: bool
    """True for a sum of gains with discount 1/r."""
    indptr: Ints
    tie_order: Ints
    """The order that breaks ties in the scores: shuffled, because the gradient jumps there."""
    query_weights: Floats
    """Weight of each query: the mean weight of its documents."""
    pairs: Floats
    """Exponentials that each query takes."""
    n_threads: int
    order: Ints | None = None
    """A copy of `tie_order` for a caller that updates again and again, from one thread. It becomes the documents by
    rank, and scores that changed little are ranked faster from there. If None, ranking starts from `tie_order`."""
    weights: Floats = field(default_factory=lambda: np.empty(0))
    """No weights of documents, because the kernel applies the query weights."""

    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> Floats:
        """See `BoundObjective`. Costs are minus the smooth metric times the query weight; 0 if all gains are 0."""
        arrays = self.kernel_arrays()
        write_gradients(arrays, self, self._chunks, scores, grad, hess, taken)
        costs: Floats = arrays.costs
        return costs

    def kernel_arrays(self) -> Any:
        """See `BoundObjective`."""
        factor, costs = float(self.smoothing_factor), np.zeros(len(self.indptr) - 1)
        if self.smoothing != "indicators":
            own = 0.5 if self.smoothing == "ranks_half" else 1.0
            return SmoothRankArrays(self.terms, self.query_weights, factor, own, self.is_reciprocal, costs)
        kind = SmoothSumArrays if self.terms.family == CUMULATIVE else SmoothProductArrays
        order = self.tie_order.copy() if self.order is None else self.order
        return kind(self.terms, self.query_weights, factor, order, costs)

    @cached_property
    def _chunks(self) -> list[tuple[int, int]]:
        return objective_chunks(self.indptr, self.pairs, self.n_threads)

    def mean(self, costs: Floats) -> float:
        """The mean of the smooth metric over the queries that count, from what `update` returned."""
        known = ~np.isnan(self.terms.base)
        total = (self.terms.base * self.query_weights - costs)[known].sum()
        weight = self.query_weights[known].sum()
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
