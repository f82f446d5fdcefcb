"""Effect curves (partial dependence): the mean score as a function of one feature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats
from swaprank.data.dataset import Dataset
from swaprank.rankers.ranker import Ranker
from swaprank.reporting.data_samples import row_sample

_DOCUMENTS, _VALUES = 400, 24


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


def effect_of(ranker: Ranker, data: Dataset, feature: int) -> Effect:
    """The curve of one feature from its 1% to its 99% quantile, on a sample of documents.

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
    grid = _grid(known)
    points = grid if len(known) == len(values) else np.append(grid, np.nan)
    rows = np.tile(sample, (len(points), 1))
    rows[:, feature] = np.repeat(points, len(sample)).astype(np.float32)
    means = ranker.predict(rows).reshape(len(points), len(sample)).mean(axis=1)
    means -= ranker.predict(sample).mean()
    deciles = np.quantile(known, np.linspace(0.1, 0.9, 9))
    inside = deciles[(deciles >= grid[0]) & (deciles <= grid[-1])].astype(np.float64)
    missing = float(means[-1]) if len(points) > len(grid) else None
    return Effect(data.feature_names[feature], grid, means[: len(grid)], inside, missing)


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
