"""LambdaRank for any metric: the RankNet gradient of every pair times the change of the metric if the pair swapped.

rho_ij = 1 / (1 + exp(sigma (s_i - s_j)))          for documents i better than j
grad_i -= sigma |dZ_ij| rho_ij                      grad_j += sigma |dZ_ij| rho_ij
hess_i, hess_j += sigma² |dZ_ij| rho_ij (1 - rho_ij)               [Burges2010, sections 4 and 7]
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.elementary import exp, log2
from swaprank.errors import ParameterError, did_you_mean
from swaprank.kernels import kernel
from swaprank.lanes import WIDTH, load, spread, store, sum_lanes, where_positive
from swaprank.metrics.metric import Metric, bind_metric
from swaprank.metrics.ordering import rank_leading, seeded_tie_order
from swaprank.metrics.parse import metric as parse_metric
from swaprank.metrics.terms import (
    CUMULATIVE,
    CUSTOM,
    EVALUATION_ONLY,
    GIVEN_PAIRS,
    PAIRWISE,
    WORK_ROWS,
    MetricTerms,
    prepare_swaps,
    rows_reached,
    rows_that_count,
    swap_gain_rows,
)
from swaprank.objectives.constructions import CONSTRUCTIONS, LINEAR, PAIRS, STEP, ConstructionArrays
from swaprank.objectives.diagonal import with_diagonal
from swaprank.objectives.discounted_pairs import GainOrder, discounted_gradients, gain_order, make_slots, score_range
from swaprank.objectives.long_lists import PAIRS_PER_DOCUMENT, LongLambdaArrays, long_lists
from swaprank.objectives.objective import BoundKernelObjective, Objective, bind_kernel
from swaprank.objectives.query_gradients import (
    HESSIAN_FLOOR,
    LEAST_DISTANCE,
    WIDEST_RANGE,
    gradients_of,
    longest_of,
    longest_step,
)
from swaprank.objectives.ranknet_objective import bind_ranknet
from swaprank.parameters import Bounds, check_parameter

_LEAST_HORIZON = 30
"""Trees learn a metric with a smaller cut-off to this rank."""
ROWS_AT_ONCE = 16
"""The swap gains of this many ranks are computed in one call."""


class LambdaArrays(NamedTuple):
    """LambdaRank for one metric on one data set."""

    terms: MetricTerms
    swaps: MetricTerms | None
    """The terms again; None for sums of discounted gains, which need no kernels of other families."""
    by_gain: GainOrder
    """For sums of discounted gains; otherwise empty."""
    tie_order: Ints
    """Each query's documents in the order that breaks ties in the scores."""
    sigma: float
    normalize: bool
    longest_step: float
    """See `longest_step`."""


@kernel
def prepare_weights(swaps: MetricTerms | None, query: int, rows: int, gains: Floats, work: Floats) -> int:
    """Fill `work` for `swap_weights`; return how many of the first `rows` ranks count."""
    if swaps is None or swaps.family == PAIRWISE:
        return rows
    prepare_swaps(swaps, query, gains, work)
    return rows_reached(swaps, rows, work)


@kernel
def swap_weights(
    swaps: MetricTerms | None, query: int, norm: float, discounts: Floats, first: int, last: int, gains: Floats,
    work: Floats, weights: Floats,
) -> None:  # fmt: skip
    """|dZ_ij| of ranks i from first to last with every j below: negative where j is better, 0 for equal gains."""
    if swaps is None:
        for i in range(first, last):
            row, gain, discount = np.uint64(i - first), gains[i], discounts[i]
            for j in range(np.uint64(i + 1), np.uint64(len(gains))):
                weights[row, j] = norm * (gain - gains[j]) * abs(discount - discounts[j])
        return
    if swaps.family == PAIRWISE:
        # The share of pairs in the right order: all pairs weigh the same, as in RankNet [Burges2010, section 2].
        weights[:] = norm
    else:
        swap_gain_rows(swaps, query, gains, first, last, work, weights)
    for i in range(first, last):
        row, gain = np.uint64(i - first), gains[i]
        for j in range(np.uint64(i + 1), np.uint64(len(gains))):
            better = gain - gains[j]
            weight = abs(weights[row, j])
            weights[row, j] = weight if better > 0.0 else (-weight if better < 0.0 else 0.0)


@kernel
def add_pairs(
    swaps: MetricTerms | None,
    query: int,
    norm: float,
    rows: int,
    sigma: float,
    normalize: bool,
    gains: Floats,
    scores: Floats,
    e: Floats,
    discounts: Floats,
    weights: Floats,
    distance: Floats,
    work: Floats,
    g: Floats,
    h: Floats,
) -> float:
    """Add the gradients of a ranked list's pairs with the upper document in the first `rows`; return the sum of sizes.

    With e_i = exp(sigma s_i), rho_ij = e_j / (e_i + e_j), so one division per pair serves rho and the normalization.
    Everything is in one function because Numba counts the references of every array that is passed on, atomically,
    which would cost as much as the pairs of a row. Indices are unsigned because an index that might be negative keeps
    a loop from vectorizing. e, weights, distance, g and h have room for eight more documents than a list: the last
    lanes of a row are filled up with pairs of weight 0.
    """
    sizes, n, one = spread(0.0), np.uint64(len(gains)), np.uint64(1)
    for upper in range(rows):
        i, row = np.uint64(upper), np.uint64(upper % ROWS_AT_ONCE)
        score, mine = scores[i], e[i]
        if row == 0:
            swap_weights(swaps, query, norm, discounts, upper, min(upper + ROWS_AT_ONCE, rows), gains, work, weights)
        for j in range(n, n + WIDTH):
            weights[row, j] = 0.0
        if normalize:
            for j in range(i + one, n):
                distance[j] = LEAST_DISTANCE + abs(score - scores[j])
        row_grad, row_hess, first = spread(0.0), spread(0.0), row * np.uint64(weights.shape[1])
        for j in range(i + one, n, WIDTH):
            weight, other = load(weights, first + j), load(e, j)
            both = mine + other
            # rho (1 - rho), without the subtraction that would lose all digits where rho is nearly 1.
            scaled = sigma * weight / (both * both * load(distance, j))
            pair_grad = scaled * both * where_positive(weight, other, mine)
            pair_hess = sigma * abs(scaled) * mine * other
            row_grad += pair_grad
            row_hess += pair_hess
            sizes += abs(pair_grad)
            store(g, j, load(g, j) + pair_grad)
            store(h, j, load(h, j) + pair_hess)
        g[i] -= sum_lanes(row_grad)
        h[i] += sum_lanes(row_hess)
    return sum_lanes(sizes)


@kernel
def add_wide_pairs(
    swaps: MetricTerms | None,
    query: int,
    norm: float,
    rows: int,
    sigma: float,
    normalize: bool,
    gains: Floats,
    scores: Floats,
    discounts: Floats,
    weights: Floats,
    work: Floats,
    g: Floats,
    h: Floats,
) -> float:
    """`add_pairs` from the scores themselves, with one exp per pair: for scores of a range beyond WIDEST_RANGE."""
    total = 0.0
    for i in range(rows):
        swap_weights(swaps, query, norm, discounts, i, i + 1, gains, work, weights)
        for j in range(i + 1, len(gains)):
            margin = sigma * (scores[i] - scores[j])
            weight = weights[0, j] / (LEAST_DISTANCE + abs(scores[i] - scores[j])) if normalize else weights[0, j]
            small = exp(-abs(margin))
            right = (margin > 0.0) == (weight > 0.0)
            pair_grad = sigma * weight * ((small if right else 1.0) / (1.0 + small))
            pair_hess = sigma * sigma * abs(weight) * small / (1.0 + small) ** 2
            g[i] -= pair_grad
            g[j] += pair_grad
            h[i] += pair_hess
            h[j] += pair_hess
            total += abs(pair_grad)
    return total


@gradients_of(LambdaArrays)
@kernel
def lambda_queries(
    arrays: LambdaArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last."""
    terms, swaps, sigma, normalize = arrays.terms, arrays.swaps, arrays.sigma, arrays.normalize
    longest = longest_of(indptr, first, last)
    order, scratch = np.empty(longest, np.int64), np.empty(longest, np.int64)
    ranked, ordered, work = np.empty(longest), np.empty(longest), np.empty((WORK_ROWS, longest + 1))
    padded, discounts = longest + 8, np.zeros(longest)
    e, weights, distance = np.ones(padded), np.empty((ROWS_AT_ONCE, padded)), np.ones(padded)
    g, h, slots = np.zeros(padded), np.zeros(padded), make_slots(longest)
    for r in range(min(longest, len(terms.discounts))):
        discounts[r] = terms.discounts[r]
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        n = stop - start
        rows = rows_that_count(terms, query, n)
        if rows == 0 or n < 2:
            for r in range(start, stop):
                grad[r] = 0.0
                hess[r] = 0.0
            continue
        for r in range(n):
            order[r] = arrays.tie_order[start + r]
        rank_leading(scores, order[:n], min(terms.depth, n), scratch, ranked, work[0])
        if swaps is None and sigma * score_range(scores, start, stop) < WIDEST_RANGE:
            discounted_gradients(
                arrays.by_gain, start, order[:n], rows, terms.gains, discounts, scores, 1.0 / terms.divisors[query],
                sigma, normalize, arrays.longest_step, slots, grad, hess,
            )  # fmt: skip
            continue
        highest = lowest = scores[order[0]]
        for r in range(n):
            ranked[r] = terms.gains[order[r]]
            ordered[r] = scores[order[r]]
            e[r] = exp(sigma * (ordered[r] - highest))
            lowest = min(lowest, ordered[r])
            g[r] = 0.0
            h[r] = 0.0
        rows, norm = prepare_weights(swaps, query, rows, ranked[:n], work), 1.0 / terms.divisors[query]
        if sigma * (highest - lowest) < WIDEST_RANGE:
            total = add_pairs(
                swaps, query, norm, rows, sigma, normalize, ranked[:n], ordered[:n], e, discounts, weights, distance,
                work, g, h,
            )  # fmt: skip
        else:
            total = add_wide_pairs(
                swaps, query, norm, rows, sigma, normalize, ranked[:n], ordered[:n], discounts, weights, work, g, h
            )
        factor = log2(1.0 + 2.0 * total) / (2.0 * total) if normalize and total > 0.0 else 1.0
        for r in range(n):
            grad[order[r]] = factor * g[r]
            hess[order[r]] = factor * max(h[r], sigma * abs(g[r]) / arrays.longest_step)


@final
@dataclass(frozen=True)
class LambdaRankObjective(Objective):
    """The RankNet gradient of every pair times the change of a metric if the pair swapped [Burges2010, section 4].

    Args:
        metric: The metric to optimize, or its name.
        sigma: Steepness of the pair probabilities in the score difference.
        normalize: Divide each pair's weight by its score difference, and scale each query's gradients to log2(1 + their
            sum), as LightGBM does. False: as in the paper.
        horizon: How deep to learn: as if the metric were cut off at this rank. Default: the metric as it is.
        construction: How lambdas are made: "pairs" (the standard), or "spring", "local_gradient", "local_cost" or
            "discrete_bounded" [Donmez2009], or "step" or "linear" [Burges2006, section 6.2]; constructions.py has the
            equations.
        margin: A pair whose better document leads by more than this has no lambda. Default: there is no limit, except
            1 / sigma for "step" and "linear".
        diagonal: Pulls every score towards 0: diagonal times the score is added to its gradient [Burges2006, section
            4]. If it is large enough, the Jacobian of the lambdas is positive definite: see `lambda_jacobian`.
        hessian_floor: A document's hessian is at least this times sigma |grad|. 0: as in the paper.

    For metric="pairwise" all pairs weigh the same, so this is RankNet divided by the number of pairs of each query.

    All pairs of a list are visited if it has at most 5,000 documents, or fewer ranks that count. The sums of longer
    lists take about n log n, for most metrics: long_lists.py says which, and how.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> objective = sr.objectives.LambdaRankObjective(sr.metric("ndcg"), normalize=False)
    >>> bound = objective.bind(data, random_state=0, n_threads=1)
    >>> grad, hess = np.empty(2), np.empty(2)
    >>> bound.update(np.array([1.0, 0.0]), grad, hess)
    >>> grad.round(4).tolist()  # |dNDCG| = 1 - 1 / log2(3), rho = 1 / (1 + exp(-1))
    [0.2698, -0.2698]
    """

    metric: Metric
    sigma: float = 1.0
    normalize: bool = True
    horizon: int | None = None
    construction: str = "pairs"
    margin: float | None = None
    diagonal: float = 0.0
    hessian_floor: float = HESSIAN_FLOOR

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", parse_metric(self.metric))
        if self.construction not in ("pairs", *CONSTRUCTIONS):
            names = did_you_mean(self.construction, ["pairs", *CONSTRUCTIONS])
            raise ParameterError(f"there is no construction '{self.construction}'; {names}")
        check_parameter("hessian_floor", self.hessian_floor, Bounds(False, 0, 1))
        check_parameter("margin", self.margin, Bounds(False, 0, np.inf, optional=True))
        if self.margin is not None and self.construction == "discrete_bounded":
            raise ParameterError("construction='discrete_bounded' moves documents one by one: it has no margin.")
        check_parameter("diagonal", self.diagonal, Bounds(False, 0, np.inf))

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundKernelObjective:
        """See `Objective`."""
        return with_diagonal(self._lambdas(data, random_state, n_threads), float(self.diagonal))

    def _lambdas(self, data: Dataset, random_state: int, n_threads: int | None) -> BoundKernelObjective:
        terms = bind_metric(learned_metric(self.metric, self.horizon), data).terms
        if terms.family == GIVEN_PAIRS:
            raise ParameterError(f"{self.metric} has no swap gains: given pairs are learned with RankNet's objective.")
        if terms.family == EVALUATION_ONLY:
            raise ParameterError(
                f"{self.metric} only evaluates: it has no swap gains to train with. Train for a metric such as ndcg@10."
            )
        sigma, longest = float(self.sigma), longest_step(self.hessian_floor)
        pairs = self.construction == "pairs" and self.margin is None
        if pairs and terms.family == PAIRWISE and not self.normalize:
            # All pairs weigh the same, so no ranks are needed [Burges2010, section 2].
            return bind_ranknet(data, terms.gains, terms.divisors, sigma, False, n_threads, longest)
        tie_order = seeded_tie_order(data.places, random_state)
        swaps = None if terms.family == CUMULATIVE else terms
        n_sorted = len(data) if swaps is None else 0
        by_gain = gain_order(terms.gains[:n_sorted], data.indptr if swaps is None else np.zeros(1, np.int64))
        arrays: Any = LambdaArrays(terms, swaps, by_gain, tie_order, sigma, self.normalize, longest)
        lengths = np.diff(data.indptr).astype(np.float64)
        costs = lengths * np.minimum(lengths, terms.depth)
        if pairs:
            are_long = long_lists(terms, data.indptr)
            arrays = LongLambdaArrays(arrays) if are_long.any() else arrays
            costs = np.where(are_long, PAIRS_PER_DOCUMENT * lengths, costs)
        else:
            chosen, margin = CONSTRUCTIONS.get(self.construction, PAIRS), self.margin
            if margin is None:
                margin = 1.0 / sigma if chosen in (STEP, LINEAR) else np.inf
            arrays = ConstructionArrays(chosen, terms, tie_order, sigma, self.normalize, longest, float(margin))
        own_metric = str(self.metric) if terms.family == CUSTOM else ""
        return bind_kernel(arrays, data, costs, n_threads, own_metric)


def default_horizon(metric: Metric) -> int | None:
    """The depth to which trees learn a metric: 30 if its cut-off is at a smaller rank; None for the metric as it is.

    With few ranks that count, few pairs have a gradient, and trees learn little from most documents. Precision, recall
    and success are about their cut-off, and so are a user's own metrics, as far as we know.

    >>> import swaprank as sr
    >>> from swaprank.objectives.lambdarank_objective import default_horizon
    >>> [default_horizon(sr.metric(name)) for name in ("ndcg@10", "ndcg@50", "map", "p@10")]
    [30, None, None, None]
    """
    about_its_cut_off = metric.needs_k or metric.is_own
    return None if metric.k is None or metric.k >= _LEAST_HORIZON or about_its_cut_off else _LEAST_HORIZON


def learned_metric(metric: Metric, horizon: int | None) -> Metric:
    """The metric cut off at the horizon; itself if there is none.

    >>> import swaprank as sr
    >>> from swaprank.objectives.lambdarank_objective import learned_metric
    >>> str(learned_metric(sr.metric("ndcg@10(gain=linear)"), 30))
    'ndcg@30(gain=linear)'
    """
    if horizon is None or metric.k == horizon:
        return metric
    if not metric.takes_k:
        raise ParameterError(f"{metric} has no cut-off, and so no horizon: found horizon={horizon}.")
    return replace(metric, k=int(horizon))
