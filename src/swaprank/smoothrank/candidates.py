"""Annealing of several candidates at once, one step at a time, and the choice of the best regularization."""

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

REGULARIZATIONS = tuple(float(f"1e{power}") for power in range(4, -6, -1))
"""The values that "auto" chooses from, in descending order: of equally good ones, the strongest is taken.

The paper has 10^3 to 10^-6 for features from 0 to 1 [Chapelle2010, section 7], whose standard deviations are about 1/4.
Weights of standardized features are about a quarter as large, so that the same penalty takes a lambda about ten times
as large.
"""


@final
@dataclass(eq=False)
class Candidate:
    """One annealing run: the parameters after each step, and the metrics that were measured there."""

    ascent: Ascent
    start: Floats
    path: list[Floats] = field(default_factory=list)
    measured: list[dict[str, dict[str, float]]] = field(default_factory=list)

    @property
    def history(self) -> dict[str, dict[str, list[float]]]:
        """The measured values, one per step, by set and metric."""
        first = self.measured[0] if self.measured else {}
        return {
            name: {metric: [values[name][metric] for values in self.measured] for metric in first[name]}
            for name in first
        }

    def after(self, n_steps: int) -> Floats:
        """The parameters after this number of steps; 0 is the start."""
        return self.path[n_steps - 1] if n_steps else self.start


def annealing_step(candidates: Sequence[Candidate], smoothing_factor: float, n_threads: int) -> None:
    """Run one annealing step of every candidate. If it is interrupted, no candidate changes.

    Each result depends on its own candidate only, so that it is the same for any number of threads.
    """
    stop = Event()
    n_workers = min(n_threads, len(candidates))
    threads_per_worker = max(1, n_threads // n_workers)

    def work(candidate: Candidate) -> Floats | None:
        ascent = candidate.ascent
        ascent = replace(ascent, metric=replace(ascent.metric, n_threads=threads_per_worker), stop=stop)
        try:
            return ascent.climb(candidate.after(len(candidate.path)), smoothing_factor)
        except Stopped:
            return None

    if n_workers == 1:
        found = [work(candidate) for candidate in candidates]
    else:
        with ThreadPoolExecutor(n_workers) as pool:
            try:
                found = list(pool.map(work, candidates))
            except BaseException:
                # Ctrl-C: running candidates end at their next evaluation, and waiting ones at their first.
                stop.set()
                raise
    for candidate, parameters in zip(candidates, found, strict=True):
        if parameters is not None:
            candidate.path.append(parameters)


def exclude_queries(ascent: Ascent, excluded: Bools) -> Ascent:
    """The same ascent without some of the queries."""
    return replace(ascent, metric=replace(ascent.metric, query_weights=ascent.metric.query_weights * ~excluded))


def mean_ignoring_nan(values: Floats) -> float:
    """The mean of the values that are not NaN; -inf if all are NaN."""
    valid = values[~np.isnan(values)]
    return float(valid.mean()) if len(valid) else -np.inf


def watched_values(candidates: Sequence[Candidate], watched: tuple[str, str] | None) -> Floats:
    """The watched metric, candidates x steps. If no set is watched: 1 for the last step, 0 for the others."""
    n_steps = min(len(candidate.measured) for candidate in candidates)
    values = np.zeros((len(candidates), n_steps))
    values[:, -1:] = 1.0
    if watched:
        for row, candidate in enumerate(candidates):
            values[row] = [measured[watched[0]][watched[1]] for measured in candidate.measured[:n_steps]]
    return values


class Choice(NamedTuple):
    """The best candidate, its best number of steps, and the value of each candidate."""

    candidate: int
    n_steps: int
    values: Floats


def choose(values: Floats, any_step: bool) -> Choice:
    """The candidate with the best value after the last step, or after any step; NaN counts as -inf.

    Values are candidates x steps. Of equally good ones, the first candidate and its first step are chosen: the most
    regularized. If there are no steps, it is the start of the first candidate.

    >>> import numpy as np
    >>> from swaprank.smoothrank.candidates import choose
    >>> values = np.array([[0.1, 0.9, 0.3], [0.1, 0.2, 0.4]])
    >>> choose(values, any_step=False)
    Choice(candidate=1, n_steps=3, values=array([0.3, 0.4]))
    >>> choose(values, any_step=True)
    Choice(candidate=0, n_steps=2, values=array([0.9, 0.4]))
    """
    if values.shape[1] == 0:
        return Choice(0, 0, np.full(len(values), np.nan))
    first = 0 if any_step else values.shape[1] - 1
    values = np.where(np.isnan(values), -np.inf, values)[:, first:]
    candidate, step = np.unravel_index(int(np.argmax(values)), values.shape)
    return Choice(int(candidate), first + int(step) + 1, values.max(axis=1))


def value_by_regularization(ascents: Sequence[Ascent], choice: Choice) -> dict[float, float]:
    """The value of each regularization that could be chosen; empty if there was only one."""
    if len(ascents) < 2:
        return {}
    return {ascent.regularization: float(value) for ascent, value in zip(ascents, choice.values, strict=True)}


class Evaluator(NamedTuple):
    """Evaluates parameters by a metric on a data set."""

    scorer: Scorer
    metric: BoundMetric

    def per_query(self, parameters: Floats, n_threads: int | None) -> Floats:
        """The metric of every query."""
        return self.metric.per_query(self.scorer.scores(parameters, n_threads), n_threads=n_threads)


def held_out_mean(
    parameters: Sequence[Floats],
    folds: Sequence[Bools],
    training: Evaluator,
    validation: Evaluator | None,
    n_threads: int | None,
) -> float:
    """The mean metric over held-out queries, given the parameters that were fitted without each fold.

    The queries of a fold are evaluated with the fit that has not seen them. The queries of a validation set, if there
    is one, are evaluated with all fits, and their values averaged.
    """
    values, of_validation = np.full(len(folds[0]), np.nan), []
    for fitted, held_out in zip(parameters, folds, strict=True):
        values[held_out] = training.per_query(fitted, n_threads)[held_out]
        if validation:
            of_validation.append(validation.per_query(fitted, n_threads))
    return mean_ignoring_nan(np.concatenate((values, np.mean(of_validation, axis=0) if validation else [])))


def query_folds(n_queries: int, n_folds: int, random_state: int) -> list[Bools]:
    """For each fold, which queries are held out.

    >>> from swaprank.smoothrank.candidates import query_folds
    >>> [int(held_out.sum()) for held_out in query_folds(5, 2, random_state=0)]
    [3, 2]
    """
    shuffled = random_generator(random_state).permutation(n_queries)
    parts = np.array_split(shuffled, min(n_folds, n_queries))
    return [np.isin(np.arange(n_queries), part) for part in parts]
