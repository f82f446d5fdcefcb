"""The metric of a mix of two rankers as a step function of alpha, and its optimum.

    s_i(alpha) = alpha a_i + (1 - alpha) b_i = b_i - alpha c_i,  c = b - a        one straight line per document

Two lines cross once, at alpha = (b_i - b_j) / (c_i - c_j), or never. At alpha = -infinity documents are ranked by
descending c. From there on every crossing swaps two neighbours, so that no further sorting is needed.
Documents with the same line are tied at every alpha. They form one block, which moves as a whole.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.data.grouping import longest_list
from swaprank.errors import MetricError
from swaprank.kernels import kernel
from swaprank.metrics.metric import BoundMetric
from swaprank.metrics.ordering import rank_documents
from swaprank.metrics.terms import CUMULATIVE, PAIRWISE, WITHOUT_SWAP_GAINS, WORK_ROWS, MetricTerms, list_value
from swaprank.threads import query_chunks, run_in_threads, thread_count

MIN_WIDTH = 1e-12
"""Steps narrower than this, relative to alpha, come from rounding and are ignored."""
_TOLERANCE = 1e-11
"""Values that differ by less are equal."""


class Optimum(NamedTuple):
    """The best value and the interval of alpha that has it.

    >>> from swaprank.ensembles.step_function import Optimum
    >>> Optimum(alpha=0.5, value=0.8, low=0.4, high=0.6).low
    0.4
    """

    alpha: float
    """The middle of the interval, or a point near it."""
    value: float
    low: float
    """Every alpha between low and high has this value. If several intervals have it, this is the widest."""
    high: float


@final
@dataclass(frozen=True, eq=False)
class StepFunction:
    """values[0] below edges[0], values[i] between edges[i - 1] and edges[i], values[-1] above edges[-1].

    >>> import numpy as np
    >>> from swaprank.ensembles.step_function import StepFunction
    >>> steps = StepFunction(np.array([0.25, 0.75]), np.array([0.1, 0.9, 0.5]))
    >>> steps(0.3), steps.best(0.0, 1.0)
    (0.9, Optimum(alpha=0.5, value=0.9, low=0.25, high=0.75))
    """

    edges: Floats
    values: Floats

    def __call__(self, alpha: float) -> float:
        """The value at an alpha that is not an edge."""
        return float(self.values[np.searchsorted(self.edges, alpha)])

    def between(self, low: float, high: float) -> tuple[Floats, Floats]:
        """Alphas and values to draw from low to high: two points per step."""
        inside = np.flatnonzero((self.edges > low) & (self.edges < high))
        first = int(np.searchsorted(self.edges, low, side="right"))
        bounds = np.concatenate(([low], self.edges[inside], [high]))
        return np.repeat(bounds, 2)[1:-1], np.repeat(self.values[first : first + len(inside) + 1], 2)

    def best(self, low: float, high: float) -> Optimum:
        """The best value between low and high; these may be infinite."""
        bounds = np.clip(np.concatenate(([-np.inf], self.edges, [np.inf])), low, high)
        with np.errstate(invalid="ignore"):
            widths = np.diff(bounds)
        widths[np.isnan(widths)] = 0.0  # inf - inf: outside of low to high
        nearest = np.minimum(np.abs(bounds[:-1]), np.abs(bounds[1:]))
        wide = np.isinf(widths) | (widths > MIN_WIDTH * np.maximum(1.0, nearest))
        value = float(self.values[wide].max())
        best = (self.values >= value - _TOLERANCE) | ~wide
        # Runs of adjacent best steps; steps that are too narrow do not interrupt a run.
        ends = np.flatnonzero(np.diff(np.concatenate(([0], best.astype(np.int8), [0]))))
        runs = [(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True) if wide[a:b].any()]
        a, b = max(runs, key=lambda run: bounds[run[1]] - bounds[run[0]])
        start, stop = float(bounds[a]), float(bounds[b])
        return Optimum(point_between(start, stop), value, start, stop)


def point_between(low: float, high: float, share: float = 0.5) -> float:
    """The point at a share of an interval, by default the middle; an infinite end is replaced by the other end ± 2.

    >>> from swaprank.ensembles.step_function import point_between
    >>> point_between(0.0, 1.0), point_between(2.0, float("inf")), point_between(float("-inf"), float("inf"))
    (0.5, 3.0, 0.5)
    """
    if np.isinf(low) and np.isinf(high):
        low, high = 0.0, 1.0
    elif np.isinf(low):
        low = high - 2.0
    elif np.isinf(high):
        high = low + 2.0
    return low + share * (high - low)


def measured_optimum(best: Optimum, measure: Callable[[float], float]) -> Optimum:
    """The optimum with a measured value, at the middle of its interval or at a point nearby.

    Lines of scores may cross exactly at the middle without changing the metric to the left or to the right of it. At
    the crossing itself documents are tied and the metric is different, so that other points have to be tried.

    >>> from swaprank.ensembles.step_function import Optimum, measured_optimum
    >>> best = Optimum(alpha=0.5, value=1.0, low=0.0, high=1.0)
    >>> measured_optimum(best, lambda alpha: 0.7 if alpha == 0.5 else 1.0).alpha
    0.45
    """
    found = best._replace(value=-np.inf)
    for share in (0.5, 0.45, 0.55, 0.41, 0.59, 0.38, 0.62):
        alpha = point_between(best.low, best.high, share)
        value = measure(alpha)
        if abs(value - best.value) <= _TOLERANCE:
            return best._replace(alpha=alpha, value=value)
        if value > found.value:
            found = best._replace(alpha=alpha, value=value)
    return found


def sweep(bound: BoundMetric, a: Floats, b: Floats, n_threads: int | None = None) -> StepFunction:
    """The mean metric of alpha a + (1 - alpha) b at every alpha; scores are grouped by query.

    Between two edges the values are exact: the sweep visits every crossing of two documents of a query. At an edge
    itself scores are tied; the step function has no value there.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.ensembles.step_function import sweep
    >>> bound = sr.metric("mrr").bind([0, 1], [0, 2])
    >>> steps = sweep(bound, np.array([0.0, 3.0]), np.array([1.0, 0.0]))  # equal where 3 alpha = 1 - alpha
    >>> steps.edges.tolist(), steps.values.tolist()
    ([0.25], [0.5, 1.0])
    """
    if bound.terms.family in WITHOUT_SWAP_GAINS:
        raise MetricError(f"{bound.metric} has no sweep over the orders of a list: choose a metric such as ndcg@10.")
    indptr, lengths = bound.indptr, np.diff(bound.indptr).astype(np.float64)
    starts = np.empty(len(indptr) - 1)
    break_ties, slopes = bound.metric.ties != "expected", b - a

    def work(first: int, last: int) -> tuple[Floats, Floats]:
        longest = longest_list(indptr[first : last + 1])
        return _sweep_queries(bound.terms, indptr, bound.tie_order, b, slopes, break_ties, longest, first, last, starts)

    chunks = query_chunks(indptr, thread_count(n_threads), costs=lengths**2, least_cost=10_000)
    parts = run_in_threads(work, chunks)
    alphas, changes = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    if not np.isfinite(changes).all():
        raise MetricError(f"{bound.metric}: evaluate failed or gave no finite number for some order of a query.")
    counted = ~np.isnan(starts)
    start, n_queries = starts[counted].sum(), max(1, int(counted.sum()))
    order = np.argsort(alphas, kind="stable")
    alphas, values = alphas[order], start + np.cumsum(changes[order])
    last_of_edge = np.append(alphas[1:] != alphas[:-1], True)[: len(alphas)]
    return StepFunction(alphas[last_of_edge], np.append(start, values[last_of_edge]) / n_queries)


@kernel
def _sweep_queries(
    terms: MetricTerms, indptr: Ints, tie_order: Ints, b: Floats, c: Floats, break_ties: bool, longest: int,
    first: int, last: int, starts: Floats,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The alphas at which the metrics of the queries first to last change, and the changes, grouped by query.

    Writes the metric at alpha = -infinity to starts[query].
    """
    order, blocks = np.empty(longest, np.int64), np.empty(longest + 1, np.int64)
    n_pairs = longest * (longest - 1) // 2
    scratch, gathered = np.empty(longest, np.int64), np.empty(max(longest, n_pairs))
    crossings, sequence, merged = np.empty(n_pairs), np.empty(n_pairs, np.int64), np.empty(n_pairs, np.int64)
    upper, lower = np.empty(n_pairs, np.int64), np.empty(n_pairs, np.int64)
    alphas, changes, count = np.empty(1024), np.empty(1024), 0
    for query in range(first, last):
        start = indptr[query]
        n = indptr[query + 1] - start
        for r in range(n):
            order[r] = tie_order[start + r]
        rank_documents(b, order[:n], scratch, gathered)
        rank_documents(c, order[:n], scratch, gathered)
        n_blocks = _find_blocks(b, c, order[:n], break_ties, blocks)
        n_crossings = 0
        if terms.divisors[query] != np.inf:
            n_crossings = _find_crossings(b, c, order, blocks, n_blocks, crossings, upper, lower)
        for e in range(n_crossings):
            sequence[e] = e
        rank_documents(crossings, sequence[:n_crossings], merged, gathered)
        if count + n_crossings > len(alphas):
            alphas, changes = _grown(alphas, count, n_crossings), _grown(changes, count, n_crossings)
        starts[query], n_changes = _sweep_query(
            terms, query, order[:n], blocks[: n_blocks + 1], crossings, sequence[:n_crossings], upper, lower,
            alphas[count:], changes[count:],
        )  # fmt: skip
        count += n_changes
    return alphas[:count].copy(), changes[:count].copy()


@kernel
def _grown(values: Floats, count: int, more: int) -> Floats:
    grown = np.empty(max(2 * len(values), count + more))
    for at in range(count):
        grown[at] = values[at]
    return grown


@kernel
def _find_blocks(b: Floats, c: Floats, order: Ints, break_ties: bool, blocks: Ints) -> int:
    """Write where each block of equal lines starts in `order`, and where the last ends; return their number."""
    n_blocks = 0
    for r in range(len(order)):
        i, j = order[r], order[r - 1]
        if r == 0 or break_ties or b[i] != b[j] or c[i] != c[j]:
            blocks[n_blocks] = r
            n_blocks += 1
    blocks[n_blocks] = len(order)
    return n_blocks


@kernel
def _find_crossings(
    b: Floats, c: Floats, order: Ints, blocks: Ints, n_blocks: int, crossings: Floats, upper: Ints, lower: Ints
) -> int:
    """Write -alpha of the crossing of each pair of blocks, the upper and the lower block before it; return the count.

    The sign is negative because sorting is descending and alphas must ascend.
    """
    count = 0
    for p in range(n_blocks):
        i = order[blocks[p]]
        for q in range(p + 1, n_blocks):
            j = order[blocks[q]]
            if c[i] > c[j]:
                crossings[count] = (b[j] - b[i]) / (c[i] - c[j])
                upper[count], lower[count] = p, q
                count += 1
    return count


@kernel
def _sweep_query(
    terms: MetricTerms, query: int, order: Ints, blocks: Ints, crossings: Floats, sequence: Ints, upper: Ints,
    lower: Ints, alphas: Floats, changes: Floats,
) -> tuple[float, int]:  # fmt: skip
    """Write the changes of one query's metric; return its value at alpha = -infinity and the number of changes.

    The place of a block is the number of documents above it. If three lines cross in one point, rounding may sort the
    crossings into an impossible sequence. Places are then wrong between these crossings, but correct after them.
    """
    n, n_blocks = len(order), len(blocks) - 1
    gains = np.empty(n)
    for r in range(n):
        gains[r] = terms.gains[order[r]]
    place, by_place, sizes = np.empty(n_blocks, np.int64), np.empty(n_blocks, np.int64), np.empty(n_blocks, np.int64)
    means = np.zeros(n_blocks)
    for p in range(n_blocks):
        place[p], by_place[p], sizes[p] = blocks[p], p, blocks[p + 1] - blocks[p]
        for r in range(blocks[p], blocks[p + 1]):
            means[p] += gains[r] / sizes[p]
    discounted = np.zeros(n + 1)
    for r in range(n):
        discounted[r + 1] = discounted[r] + (terms.discounts[r] if r < len(terms.discounts) else 0.0)
    ranked, work = np.empty(n), np.empty((WORK_ROWS, n + 1))
    ends, places, scratch = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    start_value = _current_value(terms, query, gains, blocks, place, by_place, ranked, ends, work, places, scratch)
    incremental = terms.family == CUMULATIVE or terms.family == PAIRWISE
    value, change, count, may_change = start_value, 0.0, 0, False
    for e in range(len(sequence)):
        p, q = upper[sequence[e]], lower[sequence[e]]
        was_p, was_q = place[p], place[q]
        place[p] += sizes[q]
        place[q] -= sizes[p]
        top = min(min(was_p, was_q), min(place[p], place[q]))
        if terms.family == CUMULATIVE and top < terms.depth:
            change += means[p] * _moved_discounts(discounted, was_p, place[p], sizes[p])
            change += means[q] * _moved_discounts(discounted, was_q, place[q], sizes[q])
        elif terms.family == PAIRWISE:
            change += _pairs_won(gains[blocks[q] : blocks[q + 1]], gains[blocks[p] : blocks[p + 1]])
        differ = sizes[p] > 1 or sizes[q] > 1 or gains[blocks[p]] != gains[blocks[q]]
        may_change = may_change or (differ and top < terms.depth)
        alpha = -crossings[sequence[e]]
        if not may_change or (e + 1 < len(sequence) and -crossings[sequence[e + 1]] == alpha):
            continue
        if incremental:
            change /= terms.divisors[query]
        else:
            now = _current_value(terms, query, gains, blocks, place, by_place, ranked, ends, work, places, scratch)
            value, change = now, now - value
        if change != 0.0:
            alphas[count], changes[count] = alpha, change
            count += 1
        change, may_change = 0.0, False
    return start_value, count


@kernel
def _moved_discounts(discounted: Floats, before: int, after: int, size: int) -> float:
    """The change of the sum of a block's discounts when it moves from one place to another."""
    return _discount_sum(discounted, after, size) - _discount_sum(discounted, before, size)


@kernel
def _discount_sum(discounted: Floats, place: int, size: int) -> float:
    """The sum of the discounts of a block's places."""
    low = max(0, min(place, len(discounted) - 1))
    return float(discounted[max(0, min(place + size, len(discounted) - 1))] - discounted[low])


@kernel
def _pairs_won(rising: Floats, falling: Floats) -> float:
    """The change in the number of correctly ordered pairs when one block passes another."""
    won = 0.0
    for i in range(len(rising)):
        for j in range(len(falling)):
            won += np.sign(rising[i] - falling[j])
    return won


@kernel
def _current_value(
    terms: MetricTerms, query: int, gains: Floats, blocks: Ints, place: Ints, by_place: Ints, ranked: Floats,
    ends: Ints, work: Floats, places: Ints, scratch: Ints,
) -> float:  # fmt: skip
    """The metric with the blocks at their current places; updates `by_place` by insertion sort."""
    for at in range(1, len(by_place)):
        moved, to = by_place[at], at
        while to > 0 and place[by_place[to - 1]] > place[moved]:
            by_place[to] = by_place[to - 1]
            to -= 1
        by_place[to] = moved
    r = 0
    for at in range(len(by_place)):
        block = by_place[at]
        size = blocks[block + 1] - blocks[block]
        ends[r] = r + size
        for d in range(size):
            ranked[r + d] = gains[blocks[block] + d]
        r += size
    return list_value(terms, query, ranked, ends, work, places, scratch)
