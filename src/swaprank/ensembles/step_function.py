"""A metric as a step function of alpha, and where it is best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.data.grouping import longest_list
from swaprank.ensembles.sweep import sweep_queries
from swaprank.errors import MetricError
from swaprank.metrics.metric import BoundMetric
from swaprank.threads import query_chunks, run_in_threads, thread_count

NARROWEST = 1e-12
"""Steps narrower than this, relative to alpha, are rounding: nobody could stand on them."""
_SAME = 1e-11
"""Values that differ by less are the same."""


class Optimum(NamedTuple):
    """The best value, and where it is reached.

    >>> from swaprank.ensembles.step_function import Optimum
    >>> Optimum(alpha=0.5, value=0.8, low=0.4, high=0.6).low
    0.4
    """

    alpha: float
    """The middle of the interval, or near it."""
    value: float
    low: float
    """Every alpha between low and high is as good; of several such intervals this is the widest."""
    high: float


@final
@dataclass(frozen=True, eq=False)
class StepFunction:
    """values[0] up to edges[0], values[i] between edges[i - 1] and edges[i], and so on.

    >>> import numpy as np
    >>> from swaprank.ensembles.step_function import StepFunction
    >>> steps = StepFunction(np.array([0.25, 0.75]), np.array([0.1, 0.9, 0.5]))
    >>> steps(0.3), steps.best(0.0, 1.0)
    (0.9, Optimum(alpha=0.5, value=0.9, low=0.25, high=0.75))
    """

    edges: Floats
    values: Floats

    def __call__(self, alpha: float) -> float:
        """The value at an alpha that is no edge."""
        return float(self.values[np.searchsorted(self.edges, alpha)])

    def between(self, low: float, high: float) -> tuple[Floats, Floats]:
        """Alphas and values to draw from low to high: two points a step."""
        inside = np.flatnonzero((self.edges > low) & (self.edges < high))
        first = int(np.searchsorted(self.edges, low, side="right"))
        bounds = np.concatenate(([low], self.edges[inside], [high]))
        return np.repeat(bounds, 2)[1:-1], np.repeat(self.values[first : first + len(inside) + 1], 2)

    def best(self, low: float, high: float) -> Optimum:
        """The best value between low and high, which may be infinite."""
        bounds = np.clip(np.concatenate(([-np.inf], self.edges, [np.inf])), low, high)
        with np.errstate(invalid="ignore"):
            widths = np.diff(bounds)
        widths[np.isnan(widths)] = 0.0  # infinite less infinite: outside
        nearest = np.minimum(np.abs(bounds[:-1]), np.abs(bounds[1:]))
        real = np.isinf(widths) | (widths > NARROWEST * np.maximum(1.0, nearest))
        value = float(self.values[real].max())
        good = (self.values >= value - _SAME) | ~real
        # Runs of steps that are as good, across those that are too narrow to tell.
        ends = np.flatnonzero(np.diff(np.concatenate(([0], good.astype(np.int8), [0]))))
        runs = [(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True) if real[a:b].any()]
        a, b = max(runs, key=lambda run: bounds[run[1]] - bounds[run[0]])
        at, to = float(bounds[a]), float(bounds[b])
        return Optimum(inside(at, to), value, at, to)


def inside(low: float, high: float, share: float = 0.5) -> float:
    """A place in an interval, the middle by default; one that is infinite is cut 2 beyond its finite end.

    >>> from swaprank.ensembles.step_function import inside
    >>> inside(0.0, 1.0), inside(2.0, float("inf")), inside(float("-inf"), float("inf"))
    (0.5, 3.0, 0.5)
    """
    if np.isinf(low) and np.isinf(high):
        low, high = 0.0, 1.0
    elif np.isinf(low):
        low = high - 2.0
    elif np.isinf(high):
        high = low + 2.0
    return low + share * (high - low)


def settle(best: Optimum, measure: Callable[[float], float]) -> Optimum:
    """The optimum as it is measured, at the middle of its interval or near.

    Lines may cross at that very middle without changing the value from one side to the other. Documents are tied
    there, and the value is another one.

    >>> from swaprank.ensembles.step_function import Optimum, settle
    >>> settle(Optimum(alpha=0.5, value=1.0, low=0.0, high=1.0), lambda alpha: 0.7 if alpha == 0.5 else 1.0).alpha
    0.45
    """
    found = best._replace(value=-np.inf)
    for share in (0.5, 0.45, 0.55, 0.41, 0.59, 0.38, 0.62):
        alpha = inside(best.low, best.high, share)
        value = measure(alpha)
        if abs(value - best.value) <= _SAME:
            return best._replace(alpha=alpha, value=value)
        if value > found.value:
            found = best._replace(alpha=alpha, value=value)
    return found


def sweep(bound: BoundMetric, a: Floats, b: Floats, n_threads: int | None = None) -> StepFunction:
    """The mean metric of alpha a + (1 - alpha) b at every alpha: scores are query after query.

    Between two edges it is exact: every crossing of every two documents of a query is met. At an edge itself scores are
    tied; it has no value of its own here.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.ensembles.step_function import sweep
    >>> bound = sr.metric("mrr").bind([0, 1], [0, 2])
    >>> steps = sweep(bound, np.array([0.0, 3.0]), np.array([1.0, 0.0]))  # equal where 3 alpha = 1 - alpha
    >>> steps.edges.tolist(), steps.values.tolist()
    ([0.25], [0.5, 1.0])
    """
    indptr, lengths = bound.indptr, np.diff(bound.indptr).astype(np.float64)
    starts = np.empty(len(indptr) - 1)
    ties_apart, slopes = bound.metric.ties != "expected", b - a

    def work(first: int, last: int) -> tuple[Floats, Floats]:
        return sweep_queries(
            bound.terms, indptr, bound.tie_order, b, slopes, ties_apart, _longest(indptr, first, last), first, last,
            starts,
        )  # fmt: skip

    chunks = query_chunks(indptr, thread_count(n_threads), costs=lengths**2, least_cost=10_000)
    parts = run_in_threads(work, chunks)
    alphas, changes = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    if not np.isfinite(changes).all():
        raise MetricError(f"{bound.metric}: evaluate failed or gave no finite number for some order of a query.")
    counted = ~np.isnan(starts)
    n_queries = max(1, int(counted.sum()))
    if len(alphas) == 0:
        return StepFunction(np.empty(0), np.array([starts[counted].sum() / n_queries]))
    order = np.argsort(alphas, kind="stable")
    alphas, values = alphas[order], starts[counted].sum() + np.cumsum(changes[order])
    last_of_edge = np.append(alphas[1:] != alphas[:-1], True)
    values = np.concatenate(([starts[counted].sum()], values[last_of_edge])) / n_queries
    return StepFunction(alphas[last_of_edge], values)


def _longest(indptr: Ints, first: int, last: int) -> int:
    return longest_list(indptr[first : last + 1])
