"""Is a ranker at a local optimum of a metric? Move its parameters, and see whether the metric ever rises."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.dataset import Dataset
from swaprank.errors import DataError, MetricError, ParameterError
from swaprank.instruments.certificate import RISE, STEPS, Certificate
from swaprank.instruments.movable import Movable, movable
from swaprank.kernels import run_in_threads, thread_count
from swaprank.metrics.measuring import measure_queries
from swaprank.metrics.metric import BoundMetric, Metric
from swaprank.metrics.parse import metric as parse_metric
from swaprank.metrics.terms import longest_list
from swaprank.rankers.parameters import Bounds, check_parameter
from swaprank.rankers.ranker import Ranker
from swaprank.seeds import random_generator

_BLOCK_DOCUMENTS = 32_768
"""Documents that are scored together: all their scores along all directions are never in memory at once."""
_CHUNK_VALUES = 2_000_000
"""Parameters of the directions that are drawn together."""
_MOST_ROUNDS = 50
"""Of polishing."""

Progress = Callable[[int, int], object]


def certify(
    ranker: Ranker,
    data: Dataset,
    metric: str | Metric | None = None,
    *,
    epsilon: float = 0.01,
    delta: float = 0.01,
    steps: Sequence[float] = STEPS,
    n_weights: int | None = 50,
    polish: bool = False,
    random_state: int = 0,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Test whether a ranker's parameters are a local optimum of a metric on its training data [Donmez2009, section 5].

    All parameters are moved together along ln(delta) / ln(1 - epsilon) random directions, 459 by default, and the
    metric is measured at every step. If it never rises, then fewer than epsilon of all directions rise, with a
    confidence of 1 - delta. Then some weights are varied alone, up and down, which is the paper's test of a vanishing
    gradient.

    Parameters are: weights of features in units of their deviation, a net's weights and biases, what a kernel machine
    weighs, or a forest's leaf values, whose splits stay as they are.

    Args:
        ranker: A fitted net, linear ranker, SmoothRank or forest.
        data: The judged documents it has learned from; on any other data it has no reason to be at an optimum.
        metric: Of what; what the ranker learned for if None.
        epsilon: The share of rising directions that is to be ruled out.
        delta: How probable it may be that such a share is overlooked.
        steps: How far to go in each direction, in the parameters' own units; by default the paper's 0.1 to 1.
            FINE_STEPS are its 0.001 to 0.01.
        n_weights: How many parameters are varied alone, drawn at random; all if None.
        polish: Follow what rises, again and again, and certify the better ranker.
        random_state: Seed of directions and weights.
        n_threads: All cores if None.
        progress: Called with how many blocks of documents are done, and how many there are.

    >>> import swaprank as sr
    >>> (train,) = sr.datasets.random_net((100,), n_features=5, random_state=0)
    >>> guess = sr.LambdaRank("ndcg", hidden=(), n_epochs=0).fit(train)
    >>> certificate = sr.certify(guess, train)
    >>> certificate.passed, certificate.n_directions
    (False, 459)
    >>> better = sr.certify(guess, train, polish=True)
    >>> better.passed, better.value > certificate.value + 0.05
    (True, True)
    """
    reach = _check(epsilon, delta, steps, n_weights, polish, random_state)
    chosen = ranker._metric() if metric is None else parse_metric(metric)
    docid = None if data.docid is None else data.by_query(data.docid)
    bound = chosen.bind(data.by_query(data.labels), data.indptr, docid=docid)
    if bound.terms.hopeless.all():
        raise DataError(f"{chosen} is the same for every order: no query has {chosen.hope}.")
    values: list[float] = []
    for number in range(_MOST_ROUNDS if polish else 1):
        moves = _Moves(movable(ranker, data), bound, reach, thread_count(n_threads), progress)
        seed = (int(random_state), number)
        certificate = _examine(moves, seed, float(epsilon), float(delta), n_weights)
        values.append(certificate.value)
        better = _follow(moves, certificate, seed) if polish else None
        if better is None:
            break
        ranker = better
    return certificate._replace(values=tuple(values))


def count_directions(epsilon: float, delta: float) -> int:
    """How many directions must not rise to rule out, with confidence 1 - delta, that a share of epsilon does.

    >>> from swaprank.instruments.certify import count_directions
    >>> count_directions(0.01, 0.01)
    459
    """
    return math.ceil(math.log(delta) / math.log1p(-epsilon))


class _Moves:
    """A ranker's metric at every step along directions that are drawn when it is their turn."""

    def __init__(
        self, parameters: Movable, bound: BoundMetric, steps: Floats, n_threads: int, progress: Progress | None
    ) -> None:
        self.parameters, self.bound, self.steps = parameters, bound, steps
        self.n_threads, self.progress = n_threads, progress
        self.value = bound.mean(parameters.start, n_threads=n_threads)
        self.blocks = _query_blocks(bound.indptr)
        self.counted = ~np.isnan(bound.terms.base)

    def curves(self, n_directions: int, draw: Callable[[int], Floats]) -> Floats:
        """The mean metric, directions x steps; `draw` gives a direction by its number."""
        totals = np.zeros((len(self.blocks), n_directions, len(self.steps)))
        done = 0

        def work(thread: int) -> None:
            nonlocal done
            scores, values = np.zeros(len(self.parameters.start)), np.empty(len(self.counted))
            for number in range(thread, len(self.blocks), self.n_threads):
                self._measure(self.blocks[number], self._chunks(n_directions, draw), scores, values, totals[number])
                done += 1
                if self.progress is not None:
                    self.progress(done, len(self.blocks))

        run_in_threads(work, [(thread,) for thread in range(min(self.n_threads, len(self.blocks)))])
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
        bound = self.bound
        first, last = block
        start, stop = int(bound.indptr[first]), int(bound.indptr[last])
        longest, apart = longest_list(bound.indptr[first : last + 1]), bound.metric.ties != "expected"
        kept = np.flatnonzero(self.counted[first:last]) + first
        for direction, step, moved in self.parameters.along(start, stop, chunks, self.steps.tolist()):
            # trec_eval keeps scores in single precision: what is equal there is a tie.
            scores[start:stop] = moved.astype(np.float32) if bound.metric.ties == "docid" else moved
            measure_queries(bound.terms, bound.indptr, bound.arrangement, scores, apart, longest, first, last, values)
            out[direction, step] = values[kept].sum()

    def _chunks(self, n_directions: int, draw: Callable[[int], Floats]) -> Iterator[tuple[int, Floats]]:
        size = max(1, min(64, _CHUNK_VALUES // self.parameters.n_parameters))
        for start in range(0, n_directions, size):
            yield start, np.array([draw(at) for at in range(start, min(start + size, n_directions))])


def _examine(moves: _Moves, seed: tuple[int, int], epsilon: float, delta: float, n_weights: int | None) -> Certificate:
    n_parameters, n_directions = moves.parameters.n_parameters, count_directions(epsilon, delta)
    curves = moves.curves(n_directions, lambda at: random_direction(n_parameters, (*seed, at)))
    varied = np.arange(n_parameters)
    if n_weights is not None and n_weights < n_parameters:
        varied = np.sort(random_generator([*seed, n_directions]).choice(n_parameters, n_weights, replace=False))
    alone = moves.curves(2 * len(varied), lambda at: _axis(n_parameters, varied[at // 2], at))
    return Certificate(
        ranker=moves.parameters.ranker,
        metric=str(moves.bound.metric),
        parameters=moves.parameters.words,
        n_queries=int(moves.counted.sum()),
        epsilon=epsilon,
        delta=delta,
        value=moves.value,
        steps=moves.steps,
        curves=curves,
        weights=varied,
        weight_curves=alone.reshape(len(varied), 2, len(moves.steps)),
        direction=random_direction(n_parameters, (*seed, int(curves.max(axis=1).argmax()))),
        values=(moves.value,),
    )


def _follow(moves: _Moves, found: Certificate, seed: tuple[int, int]) -> Ranker | None:
    """The ranker moved to the best place that was found, or that the directions together point to; None if none rises.

    What all directions gained or lost at a step, each times its direction, adds up to about the slope.
    """
    if found.passed and found.n_weights_rising == 0:
        return None
    n_parameters = moves.parameters.n_parameters
    slopes = np.zeros((len(moves.steps), n_parameters))
    for at, curve in enumerate(found.curves):
        slopes += np.outer(curve - found.value, random_direction(n_parameters, (*seed, at)))
    ways = [way / np.linalg.norm(way) for way in slopes if way.any()]
    best, curve = found.direction, found.curves[found.curves.max(axis=1).argmax()]
    for way, along in zip(ways, moves.curves(len(ways), lambda at: ways[at]), strict=True):
        if along.max() > curve.max():
            best, curve = way, along
    if len(found.weights):
        weight, side, _ = np.unravel_index(found.weight_curves.argmax(), found.weight_curves.shape)
        if found.weight_curves.max() > curve.max():
            best, curve = _axis(n_parameters, found.weights[weight], int(side)), found.weight_curves[weight, side]
    if curve.max() <= found.value + RISE:
        return None
    return moves.parameters.moved(moves.steps[curve.argmax()] * best)


def random_direction(n: int, seed: Sequence[int]) -> Floats:
    """A direction drawn evenly from the unit sphere, always the same for a seed.

    >>> import numpy as np
    >>> from swaprank.instruments.certify import random_direction
    >>> round(float(np.linalg.norm(random_direction(3, (0, 0, 7)))), 12)
    1.0
    """
    drawn = np.random.default_rng(list(seed)).standard_normal(n)
    direction: Floats = drawn / np.linalg.norm(drawn)
    return direction


def _axis(n: int, at: int, side: int) -> Floats:
    axis = np.zeros(n)
    axis[at] = -1.0 if side % 2 else 1.0
    return axis


def _query_blocks(indptr: Any) -> list[tuple[int, int]]:
    """Ranges of queries with about as many documents, whatever the number of threads."""
    n_blocks = max(1, min(len(indptr) - 1, max(8, int(indptr[-1]) // _BLOCK_DOCUMENTS), int(indptr[-1]) // 1024))
    cuts = np.unique(np.searchsorted(indptr, np.linspace(0, indptr[-1], n_blocks + 1)))
    cuts[-1] = len(indptr) - 1
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


def _check(epsilon: Any, delta: Any, steps: Any, n_weights: Any, polish: Any, random_state: Any) -> Floats:
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        check_parameter(name, value, Bounds(False, 0, 1, open_low=True))
        if value == 1:
            raise ParameterError(f"{name} must lie below 1.")
    check_parameter("n_weights", n_weights, Bounds(True, 0, 2**62, optional=True))
    check_parameter("random_state", random_state, Bounds(True, 0, 2**63 - 1))
    if not isinstance(polish, bool):
        raise ParameterError(f"polish must be True or False; found {polish!r}.")
    try:
        reach = np.array(steps, dtype=np.float64)
    except (TypeError, ValueError):
        reach = np.empty(0)
    if reach.ndim != 1 or len(reach) == 0 or not (np.isfinite(reach).all() and (reach > 0).all()):
        raise ParameterError(f"steps must be numbers above 0, such as (0.1, 0.2); found {steps!r}.")
    return reach
