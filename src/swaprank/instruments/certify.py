"""Is a ranker at a local optimum of a metric? Move its parameters, and see whether the metric ever rises."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError, did_you_mean
from swaprank.instruments.certificate import RISE, Certificate
from swaprank.instruments.directions import Moves, ProgressCallback, axis, random_direction
from swaprank.metrics.binding import bind_to_data
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metric as parse_metric
from swaprank.models.movable import movable
from swaprank.rankers.parameter_checks import Bounds, check_parameter
from swaprank.rankers.ranker import Ranker
from swaprank.seeds import random_generator
from swaprank.threads import thread_count

_WIDE, _FINE = (tuple(step / parts for step in range(1, 11)) for parts in (10, 1000))
STEPS = {"wide": _WIDE, "fine": _FINE, "both": (*_FINE, *_WIDE)}
"""Both ranges of [Donmez2009, section 5]."""
_MOST_ROUNDS = 50
"""Of polishing."""


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
        steps: How far to go in each direction, in the parameters' own units: "wide" (the paper's 0.1 to 1), "fine" (its
            0.001 to 0.01), "both", or numbers of your own.
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
    asked = _checked(epsilon, delta, n_weights, polish, random_state)
    reach = _checked_steps(steps)
    bound = bind_to_data(ranker._metric() if metric is None else parse_metric(metric), data)

    def moves_of(ranker: Ranker) -> Moves:
        return Moves(movable(ranker, data), bound, reach, thread_count(n_threads), progress)

    moves = moves_of(ranker)
    certificate = _examine(moves, asked)
    return _polished(moves, certificate, asked, moves_of) if polish else certificate


def count_directions(epsilon: float, delta: float) -> int:
    """How many directions must not rise to rule out, with confidence 1 - delta, that a share of epsilon does.

    >>> from swaprank.instruments.certify import count_directions
    >>> count_directions(0.01, 0.01)
    459
    """
    return math.ceil(math.log(delta) / math.log1p(-epsilon))


class _Asked(NamedTuple):
    """What is to be found out in a round."""

    epsilon: float
    delta: float
    n_weights: int | None
    seed: tuple[int, int]
    """Of everything, and the number of the round."""

    def next_round(self) -> _Asked:
        return self._replace(seed=(self.seed[0], self.seed[1] + 1))


def _examine(moves: Moves, asked: _Asked) -> Certificate:
    n_parameters, n_directions = moves.parameters.n_parameters, count_directions(asked.epsilon, asked.delta)
    curves = moves.curves(n_directions, lambda at: random_direction(n_parameters, (*asked.seed, at)))
    varied = np.arange(n_parameters)
    if asked.n_weights is not None and asked.n_weights < n_parameters:
        drawn = random_generator([*asked.seed, n_directions]).choice(n_parameters, asked.n_weights, replace=False)
        varied = np.sort(drawn)
    alone = moves.curves(2 * len(varied), lambda at: axis(n_parameters, varied[at // 2], at))
    return Certificate(
        ranker=moves.parameters.ranker,
        metric=str(moves.bound.metric),
        parameters=moves.parameters.words,
        n_queries=int(moves.counted.sum()),
        epsilon=asked.epsilon,
        delta=asked.delta,
        value=moves.value,
        steps=moves.steps,
        curves=curves,
        weights=varied,
        weight_curves=alone.reshape(len(varied), 2, len(moves.steps)),
        direction=random_direction(n_parameters, (*asked.seed, int(curves.max(axis=1).argmax()))),
        values=(moves.value,),
    )


def _polished(
    moves: Moves, certificate: Certificate, asked: _Asked, moves_of: Callable[[Ranker], Moves]
) -> Certificate:
    """The certificate of the ranker at which nothing rises any more, or of the last of many rounds."""
    values = [certificate.value]
    while len(values) < _MOST_ROUNDS:
        better = _follow(moves, certificate, asked)
        if better is None:
            break
        moves = moves_of(better)
        # What rose by a hair may have fallen where weights are kept in single precision.
        if moves.value <= certificate.value + RISE:
            break
        asked = asked.next_round()
        certificate = _examine(moves, asked)
        values.append(certificate.value)
    return certificate._replace(values=tuple(values))


def _follow(moves: Moves, found: Certificate, asked: _Asked) -> Ranker | None:
    """The ranker moved to the best place that was found, or that the directions together point to; None if none rises.

    What all directions gained or lost at a step, each times its direction, adds up to about the slope.
    """
    if found.passed and found.n_weights_rising == 0:
        return None
    n_parameters = moves.parameters.n_parameters
    slopes = np.zeros((len(moves.steps), n_parameters))
    for at, curve in enumerate(found.curves):
        slopes += np.outer(curve - found.value, random_direction(n_parameters, (*asked.seed, at)))
    ways = [way / np.linalg.norm(way) for way in slopes if way.any()]
    best, curve = found.direction, found.curves[found.curves.max(axis=1).argmax()]
    for way, along in zip(ways, moves.curves(len(ways), lambda at: ways[at]), strict=True):
        if along.max() > curve.max():
            best, curve = way, along
    if len(found.weights):
        weight, side, _ = np.unravel_index(found.weight_curves.argmax(), found.weight_curves.shape)
        if found.weight_curves.max() > curve.max():
            best, curve = axis(n_parameters, found.weights[weight], int(side)), found.weight_curves[weight, side]
    return moves.parameters.moved(moves.steps[curve.argmax()] * best)


def _checked(epsilon: Any, delta: Any, n_weights: Any, polish: Any, random_state: Any) -> _Asked:
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        check_parameter(name, value, Bounds(False, 0, 1, open_low=True))
        if value == 1:
            raise ParameterError(f"{name} must lie below 1.")
    check_parameter("n_weights", n_weights, Bounds(True, 0, 2**62, optional=True))
    check_parameter("random_state", random_state, Bounds(True, 0, 2**63 - 1))
    if not isinstance(polish, bool):
        raise ParameterError(f"polish must be True or False; found {polish!r}.")
    return _Asked(float(epsilon), float(delta), n_weights, (int(random_state), 0))


def _checked_steps(steps: Any) -> Floats:
    if isinstance(steps, str):
        if steps not in STEPS:
            raise ParameterError(f"there are no steps '{steps}'; {did_you_mean(steps, STEPS)}")
        return np.array(STEPS[steps])
    try:
        reach = np.array(steps, dtype=np.float64)
    except (TypeError, ValueError):
        reach = np.empty(0)
    if reach.ndim != 1 or len(reach) == 0 or not (np.isfinite(reach).all() and (reach > 0).all()):
        raise ParameterError(f"steps must be wide, fine, both or numbers above 0, such as (0.1, 0.2); found {steps!r}.")
    return reach
