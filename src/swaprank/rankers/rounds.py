"""Round after round: measure, show, remember the best, know when to stop, and where to go on.

One rule decides which round's model is kept, for trees and nets alike: the best round on the watched set. The watched
set is the last one given to `fit(valid=…)`, and what is watched is the first metric, or the order of the set's given
pairs if its labels say nothing; with several goals, watched_goals.py says which round is the best. If nothing is
watched, the last round is kept; nets with `restart_rounds` then keep the best epoch on the training data. Round 0 is
the model that training starts from, if there is one. SmoothRank keeps its last annealing step unless `best_step` is
set, because its steps approach the metric.

Early stopping ends training when the watched metric has not improved for so many rounds: a given number, or one that
grows with the rounds that were worth it, see `auto_patience`.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.collective import ALONE, Collective, total
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, Hint, ModelFileError, ParameterError
from swaprank.files import existing_file
from swaprank.metrics.metric import BoundMetric, Metric, bind_metric, mean_of_each
from swaprank.metrics.relevance import GivenPairs
from swaprank.model_files.container import MAGIC, check_target
from swaprank.objectives.goals import Goal
from swaprank.parameters import Bounds, check_parameter
from swaprank.rankers.learned import History
from swaprank.rankers.watched_goals import WatchedGoals
from swaprank.rendering.bars import LOGGER, UpdateBar, best_bar, line_bar, print_progress

VALID = Hint("valid", ..., "--valid FILE", call="fit")

Patience: TypeAlias = int | Literal["auto"] | None
"""Rounds without a better one after which training stops; "auto": if a set is watched, see `auto_patience`."""


class Progress(NamedTuple):
    """A finished round, as a callback is told of it.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
    >>> def stop_after_two(progress):
    ...     return progress.round == 2
    >>> len(sr.LambdaMART(n_trees=10).fit(train, valid=vali, callbacks=[stop_after_two]).history_["valid"]["ndcg@10"])
    2
    """

    round: int
    """From 1."""
    n_rounds: int
    """The maximum number of rounds."""
    measured: Mapping[str, Mapping[str, float]]
    """This round's metrics, by set and metric."""
    best_round: int
    """The best round so far; 0 is the start. If nothing is watched, this round."""

    def __getattr__(self, name: str) -> NoReturn:
        """An AttributeError, with our name for what callbacks of LightGBM are told."""
        theirs = {"iteration": "round", "end_iteration": "n_rounds", "evaluation_result_list": "measured"}
        ours = f"; in swaprank: {theirs[name]}" if name in theirs else ""
        raise AttributeError(f"'Progress' object has no attribute '{name}'{ours}", name=name, obj=self)

    def measured_text(self) -> str:
        """This round's metrics on one line."""
        return "  ".join(
            f"{name} {metric} {value:.4f}" for name, of_set in self.measured.items() for metric, value in of_set.items()
        )


Callback = Callable[[Progress], object]
"""Called after every round; training stops when it returns something true."""


def checked_callbacks(callbacks: Any) -> list[Callback]:
    """One or several callbacks as a list; ParameterError for what cannot be called."""
    given = [] if callbacks is None else [callbacks] if callable(callbacks) else callbacks
    if not isinstance(given, Sequence) or not all(callable(each) for each in given):
        raise ParameterError(f"callbacks must be functions of a Progress; found {callbacks!r:.80}.")
    return list(given)


class Watched(NamedTuple):
    """The set and the metric that choose the best round."""

    set: str
    metric: str

    def __str__(self) -> str:
        return f"{self.metric} on '{self.set}'"


@final
class Measured:
    """Scores of the sets that are measured after every round, and what was measured."""

    def __init__(
        self,
        sets: Mapping[str, Dataset],
        metrics: list[Metric],
        start: Callable[[Dataset], Floats],
        n_threads: int | None,
        collective: Collective = ALONE,
        goals: Sequence[Goal] = (),
    ) -> None:
        self.sets = dict(sets)
        self.n_threads = n_threads
        self.collective = collective
        self.scores = {name: start(data) for name, data in sets.items()}
        self.bound: dict[str, dict[str, BoundMetric]] = {
            name: {str(metric): bind_metric(metric, data) for metric in _metrics_of(data, metrics, collective)}
            for name, data in sets.items()
        }
        for name, data in sets.items():
            self.bound[name] |= {str(goal): goal.bind(data) for goal in goals if str(goal) not in self.bound[name]}
        self.history: History = {name: {metric: [] for metric in bound} for name, bound in self.bound.items()}
        self.n_answered = 0
        """The rounds that all workers have finished, and callbacks answered."""
        last = list(sets)[-1:]
        self.watched = Watched(last[0], next(iter(self.bound[last[0]]))) if last else None
        self.unusable: Watched | None = None
        """A set and metric that cannot be watched: the metric is the same for every order of the documents."""
        if self.watched is not None and total(collective, int((~self.watched_metric.terms.is_empty).sum())) == 0:
            self.watched, self.unusable = None, self.watched
        self.at_start = -np.inf
        self.goals: WatchedGoals | None = None
        """The goals beside the watched metric, if there are any."""
        self.goals_at_start = {str(goal): -np.inf for goal in goals}
        if goals and self.watched is not None:
            data = self.sets[self.watched.set]
            self.goals = WatchedGoals(goals, self.watched_metric, data, n_threads, collective)
        elif any(goal.at_least is not None for goal in goals):
            raise DataError("a goal with a floor needs a data set to watch: ", VALID, ".")

    @property
    def watched_metric(self) -> BoundMetric:
        """The metric that is watched, bound to its set."""
        assert self.watched is not None  # noqa: S101
        return self.bound[self.watched.set][self.watched.metric]

    def measure(self) -> dict[str, dict[str, float]]:
        """This round's metrics, also added to the history."""
        now = self._values()
        for name, values in now.items():
            for metric, value in values.items():
                self.history[name][metric].append(value)
        return now

    def _values(self) -> dict[str, dict[str, float]]:
        now = {}
        for name, bound in self.bound.items():
            scores = self.sets[name].by_query(self.scores[name])
            means = mean_of_each(list(bound.values()), scores, self.n_threads, self.collective)
            now[name] = dict(zip(bound, means, strict=True))
        return now

    def measure_start(self) -> None:
        """Measure the watched metric before the first round, because the start may turn out to be the best."""
        if self.watched is not None:
            scores = self.sets[self.watched.set].by_query(self.scores[self.watched.set])
            (self.at_start,) = mean_of_each([self.watched_metric], scores, self.n_threads, self.collective)
            if self.goals is not None:
                bound = list(self.goals.bound.values())
                means = mean_of_each(bound, scores, self.n_threads, self.collective)
                self.goals_at_start = dict(zip(self.goals.bound, means, strict=True))

    def drop_partial_round(self) -> None:
        """Forget a round that was interrupted while it was measured."""
        n_rounds = min((len(values) for of_set in self.history.values() for values in of_set.values()), default=0)
        self.history = _first_rounds(self.history, n_rounds)

    def drop_unanswered_rounds(self) -> int:
        """Forget what was measured after the last round that callbacks have answered; returns its number."""
        self.history = _first_rounds(self.history, self.n_answered)
        return self.n_answered

    @property
    def best_round(self) -> int | None:
        """The round with the best watched metric, from 1; 0 is the start, None if nothing is watched or measured."""
        values = self.history[self.watched.set][self.watched.metric] if self.watched is not None else []
        if not values:
            return None
        known = np.array([-np.inf if value != value else value for value in [self.at_start, *values]])
        if self.goals is None or self.watched is None:
            return int(known.argmax())
        history, n = self.history[self.watched.set], len(values)
        rounds = {name: np.array([start, *history[name][:n]]) for name, start in self.goals_at_start.items()}
        return self.goals.best(known, rounds)

    def warn_of_goals(self, kept: int) -> None:
        """Warn if the round that is kept does not keep the goals at their floors."""
        if self.goals is not None and self.watched is not None:
            self.goals.warn_of_shortfall(self.history[self.watched.set], kept)

    def goal_weights(self) -> list[float]:
        """The weights of the goals in the next round; none if nothing changes them."""
        if self.goals is None or self.watched is None or not self.goals.floors:
            return []
        return self.goals.weights(self.history[self.watched.set])


def _first_rounds(history: History, n_rounds: int) -> History:
    return {name: {metric: values[:n_rounds] for metric, values in of_set.items()} for name, of_set in history.items()}


def _metrics_of(data: Dataset, metrics: list[Metric], collective: Collective) -> list[Metric]:
    """The metrics to measure on a set, the one to watch first: its pairs, if it has any and its labels say nothing."""
    labels = data.by_query(data.labels)
    differ = bool((labels != np.repeat(labels[data.indptr[:-1]], np.diff(data.indptr))).any())
    says_nothing = total(collective, int(differ)) == 0
    has_pairs = total(collective, int(data.pairs is None)) == 0
    if not (says_nothing and has_pairs):
        return metrics
    of_pairs = [metric for metric in metrics if isinstance(metric, GivenPairs)] or [GivenPairs()]
    return [*of_pairs, *(metric for metric in metrics if not isinstance(metric, GivenPairs))]


def run_rounds(
    n_rounds: int,
    one_round: Callable[[int], None],
    measured: Measured,
    callbacks: Sequence[Callback],
    patience: Patience,
    keep: Callable[[], None] | None = None,
    n_done: int = 0,
) -> bool:
    """Run rounds until there are enough, nothing improves, a callback says so, or the user presses Ctrl-C.

    Args:
        n_rounds: How many at most.
        one_round: Trains one round, given its number from 1, and updates the measured scores.
        measured: What is measured after every round.
        callbacks: Called after every round.
        patience: Stop after so many rounds without a better one.
        keep: Called after every round that is the best so far (every round if nothing is watched).
        n_done: Rounds that were trained and measured before.

    Returns:
        Whether the user interrupted it. Before the first round is finished there is nothing to keep, and
        KeyboardInterrupt is raised.
    """
    is_number = patience is not None and patience != "auto"
    if is_number and not measured.sets:
        raise DataError("early_stopping_rounds needs a data set to watch: ", VALID, ".")
    if is_number and measured.unusable is not None:
        raise DataError(
            f"early_stopping_rounds watches {measured.unusable}, which is the same for every order: none of its "
            "queries has documents that it would tell apart."
        )
    finished = measured.n_answered = n_done
    try:
        for number in range(n_done + 1, n_rounds + 1):
            if _is_over(patience, finished, _best(measured, finished)):
                break
            one_round(number)
            now = measured.measure()
            best = _best(measured, number)
            if keep is not None and best == number:
                keep()
            finished = number
            progress = Progress(number, n_rounds, now, best)
            answers = [callback(progress) for callback in callbacks]
            # On a cluster, the callbacks of any worker stop all of them.
            stops = total(measured.collective, int(any(answers))) > 0
            measured.n_answered = number
            if stops:
                break
    except KeyboardInterrupt:
        if not finished or measured.collective.size > 1:
            raise
        return True
    return False


def auto_patience(best_round: int) -> int:
    """The patience of "auto": 100 rounds, or half as many as the best round needed.

    A long training has long plateaus: with a small learning rate, or much data.

    >>> from swaprank.rankers.rounds import auto_patience
    >>> [auto_patience(best_round) for best_round in (0, 40, 200, 600)]
    [100, 100, 100, 300]
    """
    return max(100, best_round // 2)


def _is_over(patience: Patience, finished: int, best: int) -> bool:
    """True if the best round is so long ago that no better one is expected; never if nothing is watched."""
    if patience is None:
        return False
    return finished - best >= (auto_patience(best) if patience == "auto" else patience)


def _best(measured: Measured, number: int) -> int:
    """The best round so far; the last one if nothing is watched."""
    return number if measured.best_round is None else measured.best_round


@contextmanager
def shown_trainings(verbose: bool | int, unit: str = "round") -> Iterator[Callable[[str], list[Callback]]]:
    """Show nothing if verbose is 0 or less, a bar for 1, a line after every n rounds for n.

    Yields a function that takes the title of a training and returns callbacks for `fit`.
    """
    if not isinstance(verbose, int):
        raise ParameterError(f"verbose must be True, False or a number of rounds; found {verbose!r}.")
    if verbose <= 0:
        yield lambda title: []
        return
    lines = nullcontext(line_bar(unit, print_progress, every=int(verbose)))
    with best_bar(unit) if verbose == 1 else lines as update:
        yield lambda title: [show_rounds(update, title)]


def logged_rounds(verbose: bool | int, unit: str) -> list[Callback]:
    """Callbacks that log lines for those who listen to INFO, unless the rounds are shown already."""
    if verbose > 0 or not LOGGER.isEnabledFor(logging.INFO):
        return []
    return [show_rounds(line_bar(unit, LOGGER.info), "")]


def show_rounds(update: UpdateBar, title: str) -> Callback:
    """A callback that shows every round on a bar."""

    def show(progress: Progress) -> None:
        update(progress.round, progress.n_rounds, title, progress.measured_text())

    return show


class Checkpoint(NamedTuple):
    """A file from which an interrupted training continues, and how often it is written."""

    path: Path
    every: int
    """After so many rounds."""


def as_checkpoint(path: str | os.PathLike[str] | None, every: int = 10) -> Checkpoint | None:
    """The checkpoint that `fit` was given, checked before training."""
    check_parameter("checkpoint_every", every, Bounds(True, 1, 2**62))
    if path is None:
        return None
    check_target(path)
    file = Path(path)
    if file.is_file():
        with existing_file(file).open("rb") as stream:
            start = stream.read(len(MAGIC))
        if not start:
            raise ModelFileError(
                f"{file}: the checkpoint is empty, so nothing can go on from it. Delete it to start over."
            )
        if start != MAGIC[: len(start)]:
            raise DataError(f"{file} is there already, and is no checkpoint: choose another file.")
    return Checkpoint(file, int(every))
