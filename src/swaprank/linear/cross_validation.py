"""Cross-validation over queries: the metric of those that a fit has not seen, and the share that each fit gets by it.

The held-out queries are a sample. On another one, another regularization would be the best, and near a tie the last bit
decides. So the best fit is not chosen; every fit gets a share: the probability to be the best on queries that are drawn
from the held-out ones with replacement, as in the bootstrap smoothing of a choice [Efron2014]. The mean of linear
models with these shares is a linear model, and it hardly changes if the metric of a fit does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.data.grouping import query_of_row, sum_by_query
from swaprank.exact_sums import exact_mean
from swaprank.lanes import dot
from swaprank.linear.architectures import LinearScoreFunction, ScoreFunction
from swaprank.metrics.metric import BoundMetric
from swaprank.seeds import random_generator

Fit = Callable[[Bools], list[Floats]]
"""A function of the training queries. It returns the fitted parameters for each regularization strength."""

_DRAWS = 1000
"""Samples of queries. A share is precise to about 1 in 100."""


@final
@dataclass(frozen=True, eq=False)
class FitProblem:
    """The data that parameters are fitted to; all arrays are grouped by query."""

    score_function: ScoreFunction
    targets: Floats
    """The targets of the regression."""
    labels: Floats
    indptr: Ints
    weights: Floats
    """One per document."""
    n_threads: int | None = None

    @property
    def all_queries(self) -> Bools:
        """True for every query."""
        return np.ones(len(self.indptr) - 1, np.bool_)

    def weights_in(self, queries: Bools) -> Floats:
        """Return the weights of the documents of these queries, and 0 for all others."""
        return np.asarray(self.weights * np.repeat(queries, np.diff(self.indptr)))


class Evaluator(NamedTuple):
    """Evaluates parameters by a metric on a data set."""

    score_function: ScoreFunction
    metric: BoundMetric

    def per_query(self, parameters: Floats, n_threads: int | None) -> Floats:
        """Return the metric of every query."""
        return self.metric.per_query(self.score_function(parameters, n_threads), n_threads=n_threads)


def query_folds(n_queries: int, n_folds: int, random_state: int) -> list[Bools]:
    """Return for each fold which queries are held out.

    >>> from swaprank.linear.cross_validation import query_folds
    >>> [int(held_out.sum()) for held_out in query_folds(5, 2, random_state=0)]
    [3, 2]
    """
    shuffled = random_generator(random_state).permutation(n_queries)
    parts = np.array_split(shuffled, min(n_folds, n_queries))
    return [np.isin(np.arange(n_queries), part) for part in parts]


def held_out_values(
    parameters: Sequence[Floats],
    folds: Sequence[Bools],
    training: Evaluator,
    validation: Evaluator | None,
    n_threads: int | None,
) -> Floats:
    """Return the metric of every held-out query, given the parameters that were fitted without each fold.

    The queries of a fold are evaluated with the fit that has not seen them; training queries that are in no fold have
    NaN. The queries of a validation set, if there is one, follow: they are evaluated with all fits, and their values
    averaged.
    """
    lengths, on_validation = np.diff(training.metric.indptr), []
    scores, in_a_fold = np.zeros(training.metric.indptr[-1]), np.any(folds, axis=0)
    for fitted, held_out in zip(parameters, folds, strict=True):
        rows = np.flatnonzero(np.repeat(held_out, lengths))
        scores[rows] = training.score_function.take(rows)(fitted, n_threads)
        if validation:
            on_validation.append(validation.per_query(fitted, n_threads))
    values = np.where(in_a_fold, training.metric.per_query(scores, n_threads=n_threads), np.nan)
    return np.concatenate((values, np.mean(on_validation, axis=0) if validation else []))


def cross_validate(
    fit: Fit, folds: Sequence[Bools], training: Evaluator, validation: Evaluator | None, n_threads: int | None
) -> Floats:
    """Return the metric of each held-out query for each strength, strengths x queries; see `held_out_values`."""
    by_fold = [fit(~held_out) for held_out in folds]
    return np.array(
        [held_out_values(fits, folds, training, validation, n_threads) for fits in zip(*by_fold, strict=True)]
    )


def mean_ignoring_nan(values: Floats) -> float:
    """Return the mean of the values that are not NaN; -inf if all are NaN."""
    valid = values[~np.isnan(values)]
    return exact_mean(valid) if len(valid) else -np.inf


def shares_of_fits(values: Floats, random_state: int) -> Floats:
    """Return the share of each fit, given its metric on each held-out query, fits x queries.

    Queries with NaN do not count. If there are no queries, the first fit gets all.

    >>> import numpy as np
    >>> from swaprank.linear.cross_validation import shares_of_fits
    >>> values = np.array([[0.3, 0.9, 0.5, 0.6], [0.8, 0.5, 0.4, 0.6], [0.1, 0.2, 0.3, 0.4]])
    >>> shares_of_fits(values, random_state=0).round(1).tolist()
    [0.5, 0.5, 0.0]
    """
    values = np.ascontiguousarray(values[:, ~np.isnan(values).any(axis=0)].T)
    n_queries, n_fits = values.shape
    wins = np.zeros(n_fits)
    if n_fits == 1 or n_queries == 0:
        wins[0] = 1.0
        return wins
    generator = random_generator(random_state)
    for _ in range(_DRAWS):
        wins[np.argmax(values[generator.integers(n_queries, size=n_queries)].sum(axis=0))] += 1.0
    return wins / _DRAWS


def mean_of_fits(
    fits: Sequence[Floats], shares: Floats, score_function: LinearScoreFunction, indptr: Ints, n_threads: int | None
) -> Floats:
    """Return the mean of linear fits whose scores are brought to one scale, unless base scores give them one.

    Little regularization makes large weights, which change no order, but would drown all others in the mean.

    >>> import numpy as np
    >>> from swaprank.linear.cross_validation import mean_of_fits
    >>> from swaprank.linear.architectures import LinearScoreFunction
    >>> scores = LinearScoreFunction(np.eye(2, dtype=np.float32), factor=np.ones(2))
    >>> mean_of_fits([np.array([1.0, 0.0]), np.array([0.0, 99.0])], np.array([0.5, 0.5]), scores, np.array([0, 2]), 1)
    array([25., 25.])
    """
    if np.max(shares) == 1.0:
        return fits[int(np.argmax(shares))]
    scales = np.ones(len(fits))
    if isinstance(score_function.base, float):
        query = query_of_row(indptr)
        lengths = np.maximum(np.diff(indptr), 1)
        for at, fit in enumerate(fits):
            scores = score_function(fit, n_threads)
            scores = scores - (sum_by_query(scores, indptr) / lengths)[query]
            scales[at] = np.sqrt(dot(scores, scores) / len(scores)) or 1.0
    mean = np.zeros(len(fits[0]))
    for fit, share, scale in zip(fits, shares, scales, strict=True):
        mean += share / scale * fit
    return mean * np.sum(shares * scales)
