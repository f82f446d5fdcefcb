"""Measures a metric while a ranker's parameters move along directions, block by block of documents, in threads."""

from collections.abc import Callable, Iterator, Sequence
from typing import final

import numpy as np

from swaprank.arrays import Floats, Ints, contiguous_floats
from swaprank.data.grouping import longest_list, query_of_row
from swaprank.errors import MetricError
from swaprank.metrics.measuring import measure_queries, rank_queries, scores_to_rank, start_ranking
from swaprank.metrics.metric import BoundMetric
from swaprank.models.perturbation import Perturbation
from swaprank.threads import run_in_threads

_BLOCK_DOCUMENTS = 32_768
"""Documents that are scored together. This bounds the memory that scores along all directions take."""
_CHUNK_VALUES = 2_000_000
"""Upper limit of direction components that are in memory at once."""

ProgressCallback = Callable[[int, int], object]
"""Called with the number of finished blocks of documents and the number of blocks."""


@final
class MetricAlongDirections:
    """The metric of a ranker at every step along any number of directions; directions are drawn on demand."""

    def __init__(
        self,
        parameters: Perturbation,
        bound: BoundMetric,
        steps: Floats,
        n_threads: int,
        progress: ProgressCallback | None,
    ) -> None:
        self.parameters, self.bound, self.steps = parameters, bound, steps
        self.n_threads, self.progress = n_threads, progress
        self.value = bound.mean(parameters.start, n_threads=n_threads)
        self.counted = ~np.isnan(bound.terms.base)
        self._blocks = _query_blocks(bound.indptr)
        self._break_ties = bound.metric.ties != "expected"
        # If the metric does not depend on the tie order, start from the current ranking: a small step changes it
        # little, and sorting an almost sorted list takes half the time.
        self._tie_order = bound.tie_order if self._break_ties else _ranked(parameters.start, bound.indptr)

    def curves(self, n_directions: int, draw: Callable[[int], Floats]) -> Floats:
        """The mean metric, directions x steps; `draw` returns a direction by its number."""
        totals = np.zeros((len(self._blocks), n_directions, len(self.steps)))
        numbers, done = iter(range(len(self._blocks))), iter(range(1, len(self._blocks) + 1))

        def work() -> None:
            values = np.empty(len(self.counted))
            for number in numbers:
                self._measure(self._blocks[number], self._chunks(n_directions, draw), values, totals[number])
                if self.progress is not None:
                    self.progress(next(done), len(self._blocks))

        run_in_threads(work, [()] * min(self.n_threads, len(self._blocks)))
        # Blocks are added in a fixed order, so that the sums do not depend on the number of threads.
        curves: Floats = totals.sum(axis=0) / self.counted.sum()
        if not np.isfinite(curves).all():
            raise MetricError(
                f"{self.bound.metric}: evaluate failed or gave no finite number for some order of a query."
            )
        return curves

    def _measure(
        self, block: tuple[int, int], chunks: Iterator[tuple[int, Floats]], values: Floats, out: Floats
    ) -> None:
        bound, (first, last) = self.bound, block
        start, stop = int(bound.indptr[first]), int(bound.indptr[last])
        longest = longest_list(bound.indptr[first : last + 1])
        kept = np.flatnonzero(self.counted[first:last]) + first
        for direction, step, moved in self.parameters.scores_along(start, stop, chunks, self.steps.tolist()):
            scores = contiguous_floats(scores_to_rank(moved, bound.metric.ties))
            ranking = start_ranking(self._tie_order[start:stop] - start, last - first)
            rank_queries(ranking, scores, bound.terms.depth, self._break_ties, bound.indptr, longest, first, last)
            measure_queries(bound.terms, ranking, bound.indptr, longest, first, last, values)
            out[direction, step] = values[kept].sum()

    def _chunks(self, n_directions: int, draw: Callable[[int], Floats]) -> Iterator[tuple[int, Floats]]:
        size = max(1, min(64, _CHUNK_VALUES // self.parameters.n_parameters))
        for start in range(0, n_directions, size):
            yield start, np.array([draw(at) for at in range(start, min(start + size, n_directions))])


def random_direction(n: int, seed: Sequence[int]) -> Floats:
    """A direction drawn uniformly from the unit sphere; a seed always gives the same one.

    >>> import numpy as np
    >>> from swaprank.instruments.directions import random_direction
    >>> round(float(np.linalg.norm(random_direction(3, (0, 0, 7)))), 12)
    1.0
    """
    drawn = np.random.default_rng(list(seed)).standard_normal(n)
    direction: Floats = drawn / np.linalg.norm(drawn)
    return direction


def axis(n: int, at: int, side: int) -> Floats:
    """The direction of one parameter: up if `side` is even, down if it is odd.

    >>> from swaprank.instruments.directions import axis
    >>> axis(3, at=1, side=1).tolist()
    [0.0, -1.0, 0.0]
    """
    direction = np.zeros(n)
    direction[at] = -1.0 if side % 2 else 1.0
    return direction


def _ranked(scores: Floats, indptr: Ints) -> Ints:
    """Positions sorted by query, then by descending score."""
    return np.lexsort((-scores, query_of_row(indptr))).astype(np.int64)


def _query_blocks(indptr: Ints) -> list[tuple[int, int]]:
    """Ranges of queries with similar numbers of documents; they do not depend on the number of threads."""
    n_blocks = max(1, min(len(indptr) - 1, max(8, int(indptr[-1]) // _BLOCK_DOCUMENTS), int(indptr[-1]) // 1024))
    cuts = np.unique(np.searchsorted(indptr, np.linspace(0, indptr[-1], n_blocks + 1)))
    cuts[-1] = len(indptr) - 1
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
