"""Test a ranker for a local optimum of a metric: move its parameters along directions, and measure the metric."""

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, final

import numpy as np

from swaprank.arrays import Floats, Ints, contiguous_floats
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import longest_list, query_of_row
from swaprank.errors import MetricError, ParameterError, did_you_mean
from swaprank.instruments.certificate import RISE, Certificate, highest_curve
from swaprank.metrics.measuring import measure_queries, rank_queries, scores_to_rank, start_ranking
from swaprank.metrics.metric import BoundMetric, Metric, bind_metric
from swaprank.metrics.parse import metric as parse_metric
from swaprank.models.model import Model
from swaprank.models.perturbation import Perturbation
from swaprank.parameters import Bounds, check_parameter
from swaprank.rankers.ranker import Ranker
from swaprank.seeds import random_generator
from swaprank.threads import run_in_threads, thread_count

_WIDE, _FINE = (tuple(step / parts for step in range(1, 11)) for parts in (10, 1000))
STEPS = {"wide": _WIDE, "fine": _FINE, "both": (*_FINE, *_WIDE)}
"""The two ranges of [Donmez2009, section 5]."""
_MOST_ROUNDS = 50
"""Upper limit of polishing rounds."""
_BLOCK_DOCUMENTS = 32_768
"""Documents that are scored together. This bounds the memory that scores along all directions take."""
_CHUNK_VALUES = 2_000_000
"""Upper limit of direction components that are in memory at once."""

ProgressCallback = Callable[[int, int], object]
"""Called with the number of finished blocks of documents and the number of blocks."""


def certify(
    ranker: Ranker,
    data: Dataset,
    metric: str | Metric | None = None,
    *,
    epsilon: float = 0.01,
    delta: float = 0.01,
    steps: str | Sequence[float] = "wide",
    n_weights: int | None = 50,
    polish: bool = False,
    random_state: int = 0,
    n_threads: int | None = None,
    progress: ProgressCallback | None = None,
) -> Certificate:
    """Test whether a ranker's parameters are a local optimum of a metric on its training data [Donmez2009, section 5].

    The test moves all parameters together along ln(delta) / ln(1 - epsilon) random directions, 459 by default, and
    measures the metric at every step. If the metric never rises, fewer than epsilon of all directions raise it, with
    confidence 1 - delta. A second test varies single parameters up and down: the paper's test of a vanishing gradient.

    The parameters are the feature weights of a linear ranker in units of standard deviations, the weights and biases
    of a net, the coefficients of a kernel model, or the leaf values of a forest; the splits of a forest stay fixed.

    Args:
        ranker: A fitted net, linear ranker, SmoothRank or forest.
        data: The training data of the ranker. On other data there is no reason to expect an optimum.
        metric: The metric to test. If None, the metric that the ranker was trained for.
        epsilon: The share of rising directions to rule out.
        delta: The probability of missing such a share.
        steps: Step sizes along each direction, in units of the parameters: "wide" (0.1 to 1 as in the paper), "fine"
            (0.001 to 0.01 as in the paper), "both", or a sequence of numbers.
        n_weights: The number of randomly chosen parameters to vary alone. If None, all.
        polish: Move the ranker along rising directions until none rises, and certify the improved ranker.
        random_state: Seed of the directions and of the parameters that are varied alone.
        n_threads: If None, all cores.
        progress: Called with the number of finished blocks of documents and the number of all blocks.

    >>> import swaprank as sr
    >>> (train,) = sr.datasets.random_net((40,), n_features=5, n_documents=20, random_state=0)
    >>> guess = sr.LambdaRank("ndcg", hidden=(), n_epochs=0).fit(train)
    >>> certificate = sr.certify(guess, train)
    >>> certificate.passed, certificate.n_directions
    (False, 459)
    >>> better = sr.certify(guess, train, polish=True)
    >>> better.passed, better.value > certificate.value + 0.05
    (True, True)
    """
    settings = _checked_settings(epsilon, delta, n_weights, polish, random_state)
    sizes = _checked_steps(steps)
    chosen = ranker.training_metric() if metric is None else parse_metric(metric)
    data = ranker.matched(data)
    bound = bind_metric(chosen, data, refuse_constant=True)
    rows = np.arange(len(data)) if data.order is None else np.array(data.order)
    base = np.zeros(len(data)) if data.base_score is None else np.array(data.by_query(data.base_score))

    def make_probe(model: Model) -> MetricAlongDirections:
        parameters = model.perturb(data.features, rows, base)
        return MetricAlongDirections(parameters, bound, sizes, thread_count(n_threads), progress)

    ranker.check_fitted()
    probe = make_probe(ranker.model_)
    certificate = _test(ranker, probe, settings)
    return _polish(probe, certificate, settings, make_probe) if polish else certificate


def count_directions(epsilon: float, delta: float) -> int:
    """The number of directions that rules out a share of epsilon rising ones with confidence 1 - delta.

    >>> from swaprank.instruments.certify import count_directions
    >>> count_directions(0.01, 0.01)
    459
    """
    return math.ceil(math.log(delta) / math.log1p(-epsilon))


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
    >>> from swaprank.instruments.certify import random_direction
    >>> round(float(np.linalg.norm(random_direction(3, (0, 0, 7)))), 12)
    1.0
    """
    drawn = np.random.default_rng(list(seed)).standard_normal(n)
    direction: Floats = drawn / np.linalg.norm(drawn)
    return direction


def axis(n: int, at: int, side: int) -> Floats:
    """The direction of one parameter: up if `side` is even, down if it is odd.

    >>> from swaprank.instruments.certify import axis
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


class _Settings(NamedTuple):
    """The settings of one test."""

    epsilon: float
    delta: float
    n_weights: int | None
    seed: tuple[int, int]
    """random_state and the number of the polishing round."""


def _test(ranker: Ranker, probe: MetricAlongDirections, settings: _Settings) -> Certificate:
    n_parameters, n_directions = probe.parameters.n_parameters, count_directions(settings.epsilon, settings.delta)
    curves = probe.curves(n_directions, lambda at: random_direction(n_parameters, (*settings.seed, at)))
    varied = np.arange(n_parameters)
    if settings.n_weights is not None and settings.n_weights < n_parameters:
        rng = random_generator([*settings.seed, n_directions])
        varied = np.sort(rng.choice(n_parameters, settings.n_weights, replace=False))
    alone = probe.curves(2 * len(varied), lambda at: axis(n_parameters, varied[at // 2], at))
    return Certificate(
        ranker=ranker,
        metric=str(probe.bound.metric),
        parameters=probe.parameters.description,
        n_queries=int(probe.counted.sum()),
        epsilon=settings.epsilon,
        delta=settings.delta,
        value=probe.value,
        steps=probe.steps,
        curves=curves,
        weights=varied,
        weight_curves=alone.reshape(len(varied), 2, len(probe.steps)),
        direction=random_direction(n_parameters, (*settings.seed, highest_curve(curves))),
        values=(probe.value,),
    )


def _polish(
    probe: MetricAlongDirections,
    certificate: Certificate,
    settings: _Settings,
    make_probe: Callable[[Model], MetricAlongDirections],
) -> Certificate:
    """Move the ranker upwards until no direction rises or the rounds are used up, and certify it."""
    values = [certificate.value]
    while len(values) < _MOST_ROUNDS:
        better = _best_move(probe, certificate, settings)
        if better is None:
            break
        probe = make_probe(better)
        # A tiny rise may get lost when weights are rounded to single precision.
        if probe.value <= certificate.value + RISE:
            break
        settings = settings._replace(seed=(settings.seed[0], settings.seed[1] + 1))
        better_ranker = copy(certificate.ranker)
        better_ranker.learned_ = replace(better_ranker.learned_, model=better, calibration=None)
        certificate = _test(better_ranker, probe, settings)
        values.append(certificate.value)
    return replace(certificate, values=tuple(values))


def _best_move(probe: MetricAlongDirections, found: Certificate, settings: _Settings) -> Model | None:
    """The model moved to the highest value that was found, also along the estimated gradients; None if none rises.

    The gradient at a step size is estimated as the sum of all directions, each weighted by its change of the metric.
    """
    if found.passed and found.n_weights_rising == 0:
        return None
    n_parameters = probe.parameters.n_parameters
    gradients = np.zeros((len(probe.steps), n_parameters))
    for at, curve in enumerate(found.curves):
        gradients += np.outer(curve - found.value, random_direction(n_parameters, (*settings.seed, at)))
    ways = [gradient / np.linalg.norm(gradient) for gradient in gradients if gradient.any()]
    moves = [(found.direction, found.curves[found.highest])]
    moves += zip(ways, probe.curves(len(ways), lambda at: ways[at]), strict=True)
    direction, curve = max(moves, key=lambda move: move[1].max())
    if found.weight_curves.max(initial=-np.inf) > curve.max():
        weight, side, _ = np.unravel_index(found.weight_curves.argmax(), found.weight_curves.shape)
        direction, curve = axis(n_parameters, found.weights[weight], int(side)), found.weight_curves[weight, side]
    return probe.parameters.moved(probe.steps[curve.argmax()] * direction)


def _checked_settings(epsilon: Any, delta: Any, n_weights: Any, polish: Any, random_state: Any) -> _Settings:
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        check_parameter(name, value, Bounds(False, 0, 1, open_low=True))
        if value == 1:
            raise ParameterError(f"{name} must be below 1.")
    check_parameter("n_weights", n_weights, Bounds(True, 0, 2**62, optional=True))
    check_parameter("random_state", random_state, Bounds(True, 0, 2**63 - 1))
    if not isinstance(polish, bool):
        raise ParameterError(f"polish must be True or False; found {polish!r}.")
    return _Settings(float(epsilon), float(delta), n_weights, (int(random_state), 0))


def _checked_steps(steps: Any) -> Floats:
    if isinstance(steps, str):
        if steps not in STEPS:
            raise ParameterError(f"there are no steps '{steps}'; {did_you_mean(steps, STEPS)}")
        return np.array(STEPS[steps])
    try:
        sizes = np.array(steps, dtype=np.float64)
    except (TypeError, ValueError):
        sizes = np.empty(0)
    if sizes.ndim != 1 or len(sizes) == 0 or not (np.isfinite(sizes).all() and (sizes > 0).all()):
        raise ParameterError(f"steps must be wide, fine, both or numbers above 0, such as (0.1, 0.2); found {steps!r}.")
    return sizes
