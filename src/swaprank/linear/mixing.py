"""A mean of fits instead of the best one: bootstrap smoothing of a choice [Efron 2014].

The held-out queries are a sample. On another one, another regularization would be the best, and near a tie the last bit
decides. So every fit gets a share: the probability to be the best on queries that are drawn from the held-out ones with
replacement. The mean of linear models with these shares is a linear model, and it hardly changes if the metric of a
fit does.
"""

from collections.abc import Sequence

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.data.grouping import query_of_row, sum_by_query
from swaprank.lanes import dot
from swaprank.linear.scorers import LinearScorer
from swaprank.seeds import random_generator

_DRAWS = 1000
"""Samples of queries. A share is precise to about 1 in 100."""


def shares_of_fits(values: Floats, random_state: int) -> Floats:
    """The share of each fit, from its metric on each held-out query, fits x queries; queries with NaN do not count.

    If there are no queries, the first fit gets all.

    >>> import numpy as np
    >>> from swaprank.linear.mixing import shares_of_fits
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
    fits: Sequence[Floats], shares: Floats, scorer: LinearScorer, indptr: Ints, n_threads: int | None
) -> Floats:
    """The mean of linear fits whose scores are brought to one scale, unless base scores give them one.

    Little regularization makes large weights, which change no order, but would drown all others in the mean.

    >>> import numpy as np
    >>> from swaprank.linear.mixing import mean_of_fits
    >>> from swaprank.linear.scorers import LinearScorer
    >>> scorer = LinearScorer(np.eye(2, dtype=np.float32), factor=np.ones(2))
    >>> mean_of_fits([np.array([1.0, 0.0]), np.array([0.0, 99.0])], np.array([0.5, 0.5]), scorer, np.array([0, 2]), 1)
    array([25., 25.])
    """
    if np.max(shares) == 1.0:
        return fits[int(np.argmax(shares))]
    scales = np.ones(len(fits))
    if isinstance(scorer.base, float):
        query = query_of_row(indptr)
        lengths = np.maximum(np.diff(indptr), 1)
        for at, fit in enumerate(fits):
            scores = scorer.scores(fit, n_threads)
            scores = scores - (sum_by_query(scores, indptr) / lengths)[query]
            scales[at] = np.sqrt(dot(scores, scores) / len(scores)) or 1.0
    mean = np.zeros(len(fits[0]))
    for fit, share, scale in zip(fits, shares, scales, strict=True):
        mean += share / scale * fit
    return mean * np.sum(shares * scales)
