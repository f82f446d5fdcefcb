"""Several ascents side by side, one step of sigma at a time: that is how a regularisation is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.metrics.metric import BoundMetric
from swaprank.seeds import random_generator
from swaprank.smoothrank.annealing import Ascent, Stopped
from swaprank.smoothrank.scorers import Scorer

REGULARIZATIONS = tuple(10.0**power for power in range(4, -6, -1))
"""What "auto" chooses from, the strongest first: of equally good ones it is taken.

10^3 to 10^-6 are for features from 0 to 1 [Chapelle2010, section 7], with deviations of a quarter or so. In units of
their deviations, weights are four times smaller, and what holds them as strongly is ten times as large.
"""


@final
@dataclass(eq=False)
class Candidate:
    """An ascent, where it stood after every step of sigma, and what was measured there."""

    ascent: Ascent
    start: Floats
    path: list[Floats] = field(default_factory=list)
    measured: list[dict[str, dict[str, float]]] = field(default_factory=list)

    @property
    def history(self) -> dict[str, dict[str, list[float]]]:
        """What was measured, by set and metric."""
        first = self.measured[0] if self.measured else {}
        return {
            name: {metric: [values[name][metric] for values in self.measured] for metric in first[name]}
            for name in first
        }

    def after(self, n_steps: int) -> Floats:
        """Where it stood after so many steps; 0 is the start."""
        return self.path[n_steps - 1] if n_steps else self.start


def step_all(candidates: Sequence[Candidate], sigma: float, n_threads: int) -> None:
    """Take every candidate one step of sigma further; all of them or, if interrupted, none.

    Each result depends on its own candidate alone, so they are the same for any number of threads.
    """
    stop = Event()
    n_workers = min(n_threads, len(candidates))
    share = max(1, n_threads // n_workers)

    def work(candidate: Candidate) -> Floats | None:
        ascent = candidate.ascent
        ascent = replace(ascent, metric=replace(ascent.metric, n_threads=share), stop=stop)
        try:
            return ascent.climb(candidate.after(len(candidate.path)), sigma)
        except Stopped:
            return None

    if n_workers == 1:
        found = [work(candidate) for candidate in candidates]
    else:
        with ThreadPoolExecutor(n_workers) as pool:
            try:
                found = list(pool.map(work, candidates))
            except BaseException:
                # Ctrl-C: the threads see it at their next evaluation, and those that have not begun never do.
                stop.set()
                raise
    for candidate, parameters in zip(candidates, found, strict=True):
        if parameters is not None:
            candidate.path.append(parameters)


def without(ascent: Ascent, aside: Bools) -> Ascent:
    """The same ascent, without the queries that are put aside."""
    return replace(ascent, metric=replace(ascent.metric, query_weights=ascent.metric.query_weights * ~aside))


def mean_known(values: Floats) -> float:
    """The mean of those that are not NaN; minus infinity if there is none, which loses every comparison."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else -np.inf


def watched_values(candidates: Sequence[Candidate], watched: tuple[str, str] | None) -> Floats:
    """The watched set's metric by candidate and step; if none is watched, 1 for the last step and 0 before."""
    n_steps = min(len(candidate.measured) for candidate in candidates)
    values = np.zeros((len(candidates), n_steps))
    values[:, -1:] = 1.0
    if watched:
        for row, candidate in enumerate(candidates):
            values[row] = [measured[watched[0]][watched[1]] for measured in candidate.measured[:n_steps]]
    return values


class Chosen(NamedTuple):
    """The best candidate, after how many of its steps, and what each candidate was judged by."""

    candidate: int
    n_steps: int
    values: Floats


def choose(values: Floats, any_step: bool) -> Chosen:
    """The best of values by candidate and step, after the last step or any; NaN loses every comparison.

    Of equally good ones it is the first candidate, and its first step: the most regular. Without any step it is the
    first candidate at its start.

    >>> import numpy as np
    >>> from swaprank.smoothrank.candidates import choose
    >>> values = np.array([[0.1, 0.9, 0.3], [0.1, 0.2, 0.4]])
    >>> choose(values, any_step=False)
    Chosen(candidate=1, n_steps=3, values=array([0.3, 0.4]))
    >>> choose(values, any_step=True)
    Chosen(candidate=0, n_steps=2, values=array([0.9, 0.4]))
    """
    if values.shape[1] == 0:
        return Chosen(0, 0, np.full(len(values), np.nan))
    first = 0 if any_step else values.shape[1] - 1
    known = np.where(np.isnan(values), -np.inf, values)[:, first:]
    candidate, step = np.unravel_index(int(np.argmax(known)), known.shape)
    return Chosen(int(candidate), first + int(step) + 1, known.max(axis=1))


def judgements(ascents: Sequence[Ascent], chosen: Chosen) -> dict[float, float]:
    """What each regularisation was judged by, if there was a choice."""
    if len(ascents) < 2:
        return {}
    return {ascent.regularization: float(value) for ascent, value in zip(ascents, chosen.values, strict=True)}


class Judge(NamedTuple):
    """A data set and a metric, by which parameters are judged."""

    scorer: Scorer
    metric: BoundMetric

    def values(self, parameters: Floats, n_threads: int | None) -> Floats:
        """The metric of every query."""
        return self.metric.per_query(self.scorer.scores(parameters, n_threads), n_threads=n_threads)


def unseen_mean(
    parameters: Sequence[Floats], folds: Sequence[Bools], judge: Judge, other: Judge | None, n_threads: int | None
) -> float:
    """The mean metric over queries that parameters were not learned from, given one fit a fold.

    Those are the queries of the folds, each judged by the fit of the others; and those of another data set, by all.
    """
    values, others = np.full(len(folds[0]), np.nan), []
    for fitted, aside in zip(parameters, folds, strict=True):
        values[aside] = judge.values(fitted, n_threads)[aside]
        if other:
            others.append(other.values(fitted, n_threads))
    return mean_known(np.concatenate((values, np.mean(others, axis=0) if other else [])))


def query_folds(n_queries: int, n_folds: int, random_state: int) -> list[Bools]:
    """For each fold, which queries are put aside.

    >>> from swaprank.smoothrank.candidates import query_folds
    >>> [int(aside.sum()) for aside in query_folds(5, 2, random_state=0)]
    [3, 2]
    """
    shuffled = random_generator(random_state).permutation(n_queries)
    folds = []
    for part in np.array_split(shuffled, min(n_folds, n_queries)):
        aside = np.zeros(n_queries, np.bool_)
        aside[part] = True
        folds.append(aside)
    return folds
