"""Annealing of several candidates at once, one step at a time, and the metric of held-out queries."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.exact_sums import exact_mean
from swaprank.linear.annealing import Ascent, Stopped
from swaprank.linear.scorers import Scorer
from swaprank.metrics.metric import BoundMetric
from swaprank.seeds import random_generator

REGULARIZATIONS = (1e4, 1e2, 1.0, 1e-2, 1e-4)
"""The values of "auto", in descending order.

The paper has 10^3 to 10^-6 in steps of 10, for features from 0 to 1 [Chapelle2010, section 7], whose standard
deviations are about 1/4. Weights of standardized features are about a quarter as large, so that the same penalty takes
a lambda about ten times as large. For a mean over lambdas, steps of 100 are as good, and leave time for more folds.
"""


@final
@dataclass(eq=False)
class Candidate:
    """One annealing run: the parameters after each step."""

    ascent: Ascent
    start: Floats
    path: list[Floats] = field(default_factory=list)

    @property
    def parameters(self) -> Floats:
        """The parameters after the last step so far; the start before the first."""
        return self.path[-1] if self.path else self.start


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
            return ascent.climb(candidate.parameters, smoothing_factor)
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
    return exact_mean(valid) if len(valid) else -np.inf


class Evaluator(NamedTuple):
    """Evaluates parameters by a metric on a data set."""

    scorer: Scorer
    metric: BoundMetric

    def per_query(self, parameters: Floats, n_threads: int | None) -> Floats:
        """The metric of every query."""
        return self.metric.per_query(self.scorer.scores(parameters, n_threads), n_threads=n_threads)


def held_out_values(
    parameters: Sequence[Floats],
    folds: Sequence[Bools],
    training: Evaluator,
    validation: Evaluator | None,
    n_threads: int | None,
) -> Floats:
    """The metric of every held-out query, given the parameters that were fitted without each fold.

    The queries of a fold are evaluated with the fit that has not seen them; training queries that are in no fold have
    NaN. The queries of a validation set, if there is one, follow: they are evaluated with all fits, and their values
    averaged.
    """
    lengths, of_validation = np.diff(training.metric.indptr), []
    scores, in_a_fold = np.zeros(training.metric.indptr[-1]), np.any(folds, axis=0)
    for fitted, held_out in zip(parameters, folds, strict=True):
        rows = np.flatnonzero(np.repeat(held_out, lengths))
        scores[rows] = training.scorer.of_rows(rows).scores(fitted, n_threads)
        if validation:
            of_validation.append(validation.per_query(fitted, n_threads))
    values = np.where(in_a_fold, training.metric.per_query(scores, n_threads=n_threads), np.nan)
    return np.concatenate((values, np.mean(of_validation, axis=0) if validation else []))


def query_folds(n_queries: int, n_folds: int, random_state: int) -> list[Bools]:
    """For each fold, which queries are held out.

    >>> from swaprank.linear.candidates import query_folds
    >>> [int(held_out.sum()) for held_out in query_folds(5, 2, random_state=0)]
    [3, 2]
    """
    shuffled = random_generator(random_state).permutation(n_queries)
    parts = np.array_split(shuffled, min(n_folds, n_queries))
    return [np.isin(np.arange(n_queries), part) for part in parts]
