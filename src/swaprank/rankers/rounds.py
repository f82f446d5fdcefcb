"""Round after round: measure, remember the best, and know when to stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import BoundMetric, Metric


class Progress(NamedTuple):
    """What a callback is told after a round.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
    >>> def stop_after_two(progress):
    ...     return progress.round == 2
    >>> sr.LambdaMART(n_trees=10).fit(train, valid=vali, callbacks=[stop_after_two]).n_trees_
    2
    """

    round: int
    """From 1."""
    n_rounds: int
    """How many there will be at most."""
    measured: Mapping[str, float]
    """This round's metrics, by "set metric"."""
    best_round: int
    """The best so far, 0 being the start; this one where nothing is measured."""


@final
class Measured:
    """Scores of the sets that are measured after every round, and what was measured."""

    def __init__(
        self,
        sets: Mapping[str, Dataset],
        metrics: list[Metric],
        start: Callable[[Dataset], Floats],
        n_threads: int | None,
    ) -> None:
        self.sets = dict(sets)
        self.n_threads = n_threads
        self.scores = {name: start(data) for name, data in sets.items()}
        self.bound: dict[str, tuple[str, BoundMetric]] = {
            f"{name} {metric}": (name, bind_metric(metric, data)) for name, data in sets.items() for metric in metrics
        }
        self.history: dict[str, list[float]] = {key: [] for key in self.bound}
        self.watched = f"{list(sets)[-1]} {metrics[0]}" if sets else None
        self.in_vain: str | None = None
        """What would be watched, if one order of its documents were better than another."""
        if self.watched and self.bound[self.watched][1].terms.is_empty.all():
            self.watched, self.in_vain = None, self.watched
        self.at_start = -np.inf

    def measure(self) -> dict[str, float]:
        """This round's metrics, also put into the history."""
        now = {}
        for key, (name, bound) in self.bound.items():
            scores = self.sets[name].by_query(self.scores[name])
            now[key] = bound.mean(scores, n_threads=self.n_threads)
            self.history[key].append(now[key])
        return now

    def measure_start(self) -> None:
        """Remember the watched metric before the first round: training may make nothing better."""
        if self.watched:
            name, bound = self.bound[self.watched]
            self.at_start = bound.mean(self.sets[name].by_query(self.scores[name]), n_threads=self.n_threads)

    def cut(self, n_rounds: int) -> None:
        """Forget what was measured beyond so many rounds: an interrupted one may be half measured."""
        self.history = {key: values[:n_rounds] for key, values in self.history.items()}

    @property
    def best_round(self) -> int | None:
        """The round, from 1, at which the watched metric was best, 0 being the start; None if nothing was measured."""
        values = self.history[self.watched] if self.watched else []
        if not values:
            return None
        known = np.array([-np.inf if value != value else value for value in [self.at_start, *values]])
        return int(known.argmax())


def run_rounds(
    n_rounds: int,
    one_round: Callable[[int], None],
    measured: Measured,
    callbacks: Sequence[Callable[[Progress], object]],
    patience: int | None,
    keep: Callable[[], None] | None = None,
) -> bool:
    """Go round until there are enough, nothing improves, a callback says stop, or the user does (Ctrl-C).

    Args:
        n_rounds: How many at most.
        one_round: Learns, and brings the measured scores up to date; it is given the round's number, from 1.
        measured: What is measured after every round.
        callbacks: Told of every round.
        patience: Stop after so many rounds without a better one.
        keep: Called after every round that is the best so far (every round, where nothing is measured).

    Returns:
        Whether the user interrupted it.
    """
    if patience is not None and measured.in_vain:
        raise DataError(
            f"early_stopping_rounds watches {measured.in_vain}, which is the same for every order: none of its queries "
            "has documents that it would tell apart."
        )
    try:
        for number in range(1, n_rounds + 1):
            one_round(number)
            now = measured.measure()
            best = number if measured.best_round is None else measured.best_round
            if keep is not None and best == number:
                keep()
            told = Progress(number, n_rounds, now, best)
            answers = [callback(told) for callback in callbacks]
            if any(answer is True for answer in answers):
                break
            if patience is not None and number - best >= patience:
                break
    except KeyboardInterrupt:
        return True
    return False
