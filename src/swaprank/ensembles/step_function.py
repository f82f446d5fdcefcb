"""The metric of a mix of two rankers as a step function of alpha, and its optimum."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.grouping import longest_list
from swaprank.ensembles.sweep import sweep_queries
from swaprank.errors import MetricError
from swaprank.metrics.metric import BoundMetric
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
    indptr, lengths = bound.indptr, np.diff(bound.indptr).astype(np.float64)
    starts = np.empty(len(indptr) - 1)
    break_ties, slopes = bound.metric.ties != "expected", b - a

    def work(first: int, last: int) -> tuple[Floats, Floats]:
        longest = longest_list(indptr[first : last + 1])
        return sweep_queries(bound.terms, indptr, bound.tie_order, b, slopes, break_ties, longest, first, last, starts)

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
