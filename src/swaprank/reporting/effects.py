"""Effects (partial dependence): the mean score as a function of one feature, a curve or a score per category."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats, read_only
from swaprank.data.dataset import Dataset
from swaprank.rankers.ranker import Ranker
from swaprank.reporting.data_samples import row_sample

_DOCUMENTS, _VALUES, _CATEGORIES = 400, 24, 8


class Effect(NamedTuple):
    """One feature's curve.

    >>> import numpy as np
    >>> from swaprank.reporting.effects import Effect
    >>> Effect("age", np.array([0.0, 1.0]), np.array([-0.5, 0.5]), np.array([0.5]), None).name
    'age'
    """

    name: str
    grid: Floats
    scores: Floats
    """The mean score at each value of the grid, minus the mean score of the unchanged documents."""
    deciles: Floats
    missing: float | None
    """The same for a missing value; None if the feature is never missing."""
    categories: tuple[str, ...] = ()
    """Of a categorical feature: the categories of the grid, the most frequent first."""


def effect_of(ranker: Ranker, data: Dataset, feature: int) -> Effect:
    """The curve of one feature from its 1% to its 99% quantile, or its most frequent categories, on a sample.

    >>> import swaprank as sr
    >>> from swaprank.reporting.effects import effect_of
    >>> (data,) = sr.datasets.random_net((30,), n_features=4, random_state=0)
    >>> ranker = sr.LinearRegressionRanker().fit(data)
    >>> effect = effect_of(ranker, data, 2)
    >>> slope = (effect.scores[-1] - effect.scores[0]) / (effect.grid[-1] - effect.grid[0])
    >>> bool(abs(slope - ranker.coef_[2]) < 1e-6)
    True
    """
    sample = np.array(data.features[row_sample(len(data), _DOCUMENTS)])
    values = data.column(feature)
    known = values[~np.isnan(values)]
    if not len(known):
        return Effect(data.feature_names[feature], np.empty(0), np.empty(0), np.empty(0), None)
    categories = data.categories.get(data.feature_names[feature])
    grid = _grid(known) if categories is None else _most_frequent(known)
    points = grid if len(known) == len(values) else np.append(grid, np.nan)
    rows = np.tile(sample, (len(points), 1))
    rows[:, feature] = np.repeat(points, len(sample)).astype(np.float32)
    # Not by predict, which would take the codes of categories for their values.
    means = ranker.model_.score(read_only(rows), ranker.n_threads).reshape(len(points), len(sample)).mean(axis=1)
    means -= ranker.model_.score(read_only(sample), ranker.n_threads).mean()
    missing = float(means[-1]) if len(points) > len(grid) else None
    name, means = data.feature_names[feature], means[: len(grid)]
    if categories is not None:
        return Effect(name, grid, means, np.empty(0), missing, tuple(categories[int(code)] for code in grid))
    deciles = np.quantile(known, np.linspace(0.1, 0.9, 9))
    inside = deciles[(deciles >= grid[0]) & (deciles <= grid[-1])].astype(np.float64)
    return Effect(name, grid, means, inside, missing)


def _most_frequent(codes: Features) -> Floats:
    """The codes of the most frequent categories."""
    counts = np.bincount(codes.astype(np.int64))
    most = np.argsort(-counts, kind="stable")[:_CATEGORIES]
    return most[counts[most] > 0].astype(np.float64)


def _grid(known: Features) -> Floats:
    """All values if there are few, else quantiles and evenly spaced values."""
    distinct = np.unique(known[row_sample(len(known), 100_000)].astype(np.float64))
    if len(distinct) <= _VALUES:
        return distinct
    low, high = np.quantile(known, [0.01, 0.99])
    if low == high:
        low, high = float(known.min()), float(known.max())
    between = np.quantile(known, np.linspace(0.01, 0.99, _VALUES // 2))
    grid: Floats = np.unique(np.concatenate((np.linspace(low, high, _VALUES // 2), between)).astype(np.float64))
    return grid
