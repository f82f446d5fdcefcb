"""A metric along directions in which a ranker's parameters are moved: block by block of documents, in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.errors import MetricError
from swaprank.metrics.measuring import measure_queries
from swaprank.metrics.metric import BoundMetric
from swaprank.metrics.terms import longest_list
from swaprank.models.movable import Movable
from swaprank.threads import run_in_threads

_BLOCK_DOCUMENTS = 32_768
"""Documents that are scored together: all their scores along all directions are never in memory at once."""
_CHUNK_VALUES = 2_000_000
"""Parameters of the directions that are drawn together."""

ProgressCallback = Callable[[int, int], object]
"""Called with the number of finished blocks of documents and the number of blocks."""


@final
class Moves:
    """A ranker's metric at every step along directions that are drawn when it is their turn."""

    def __init__(
        self, parameters: Movable, bound: BoundMetric, steps: Floats, n_threads: int, progress: ProgressCallback | None
    ) -> None:
        self.parameters, self.bound, self.steps = parameters, bound, steps
        self.n_threads, self.progress = n_threads, progress
        self.value = bound.mean(parameters.start, n_threads=n_threads)
        self.counted = ~np.isnan(bound.terms.base)
        self._blocks = _query_blocks(bound.indptr)
        self._ties_apart = bound.metric.ties != "expected"
        # Where nobody asks in which order tied documents came, those that were best come first: they are likely to be
        # the best after a step, too, and are then found in half the time.
        self._tie_order = bound.tie_order if self._ties_apart else _ranked(parameters.start, bound.indptr)

    def curves(self, n_directions: int, draw: Callable[[int], Floats]) -> Floats:
        """The mean metric, directions x steps; `draw` gives a direction by its number."""
        totals = np.zeros((len(self._blocks), n_directions, len(self.steps)))
        numbers, done = iter(range(len(self._blocks))), iter(range(1, len(self._blocks) + 1))

        def work() -> None:
            scores, values = np.zeros(len(self.parameters.start)), np.empty(len(self.counted))
            for number in numbers:
                self._measure(self._blocks[number], self._chunks(n_directions, draw), scores, values, totals[number])
                if self.progress is not None:
                    self.progress(next(done), len(self._blocks))

        run_in_threads(work, [()] * min(self.n_threads, len(self._blocks)))
        # Block after block: the same sums for any number of threads.
        curves: Floats = totals.sum(axis=0) / self.counted.sum()
        if not np.isfinite(curves).all():
            raise MetricError(
                f"{self.bound.metric}: evaluate failed or gave no finite number for some order of a query."
            )
        return curves

    def _measure(
        self, block: tuple[int, int], chunks: Iterator[tuple[int, Floats]], scores: Floats, values: Floats, out: Floats
    ) -> None:
        bound, (first, last) = self.bound, block
        start, stop = int(bound.indptr[first]), int(bound.indptr[last])
        longest = longest_list(bound.indptr[first : last + 1])
        kept = np.flatnonzero(self.counted[first:last]) + first
        for direction, step, moved in self.parameters.along(start, stop, chunks, self.steps.tolist()):
            # trec_eval keeps scores in single precision: what is equal there is a tie.
            scores[start:stop] = moved.astype(np.float32) if bound.metric.ties == "docid" else moved
            measure_queries(
                bound.terms, bound.indptr, self._tie_order, scores, self._ties_apart, longest, first, last, values
            )
            out[direction, step] = values[kept].sum()

    def _chunks(self, n_directions: int, draw: Callable[[int], Floats]) -> Iterator[tuple[int, Floats]]:
        size = max(1, min(64, _CHUNK_VALUES // self.parameters.n_parameters))
        for start in range(0, n_directions, size):
            yield start, np.array([draw(at) for at in range(start, min(start + size, n_directions))])


def random_direction(n: int, seed: Sequence[int]) -> Floats:
    """A direction drawn evenly from the unit sphere, always the same for a seed.

    >>> import numpy as np
    >>> from swaprank.instruments.directions import random_direction
    >>> round(float(np.linalg.norm(random_direction(3, (0, 0, 7)))), 12)
    1.0
    """
    drawn = np.random.default_rng(list(seed)).standard_normal(n)
    direction: Floats = drawn / np.linalg.norm(drawn)
    return direction


def axis(n: int, at: int, side: int) -> Floats:
    """One parameter's own direction: up if `side` is even, down if it is odd.

    >>> from swaprank.instruments.directions import axis
    >>> axis(3, at=1, side=1).tolist()
    [0.0, -1.0, 0.0]
    """
    direction = np.zeros(n)
    direction[at] = -1.0 if side % 2 else 1.0
    return direction


def _ranked(scores: Floats, indptr: Ints) -> Ints:
    """Positions, query after query, the best of each query first."""
    query = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.lexsort((-scores, query)).astype(np.int64)


def _query_blocks(indptr: Ints) -> list[tuple[int, int]]:
    """Ranges of queries with about as many documents, whatever the number of threads."""
    n_blocks = max(1, min(len(indptr) - 1, max(8, int(indptr[-1]) // _BLOCK_DOCUMENTS), int(indptr[-1]) // 1024))
    cuts = np.unique(np.searchsorted(indptr, np.linspace(0, indptr[-1], n_blocks + 1)))
    cuts[-1] = len(indptr) - 1
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
