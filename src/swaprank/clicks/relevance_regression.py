"""Examination with a regression of the relevance on features, as in regression-EM [Wang2018].

Two steps alternate, each of which maximizes the likelihood of the click counts for fixed values of the other. Documents
of relevance gamma_d are clicked n_dk theta_k gamma_d times on average: so theta_k is the number of clicks at position k
over sum_d n_dk gamma_d; and gamma_d is estimated by clicks over sum_k n_dk theta_k, which trees predict from features.
[Wang2018] maximizes a bound of the likelihood instead, with the same aim, in many more rounds.
"""

import numpy as np

from swaprank.arrays import Features, Floats
from swaprank.clicks.click_counts import ClickCounts, sums
from swaprank.data.dataset import Dataset
from swaprank.rankers.mart import MART

_MOST_ROUNDS = 20
_CONVERGED = 0.005
"""Relative change of the examination. Trees are steps: they do not converge much further."""
_LEAST_RELEVANCE = 1e-3
"""A prediction of trees may be negative."""


def regressed_examination(counts: ClickCounts, features: Features, start: Floats) -> Floats:
    """The examination relative to position 1; `features` has one row per unit."""
    unit, n_units = counts.unit_of_cell, len(counts.unit)
    at_position = sums(counts.position, counts.clicks, len(start))
    of_unit = sums(unit, counts.clicks, n_units)
    examination = start
    for _ in range(_MOST_ROUNDS):
        examined = sums(unit, counts.shown * examination[counts.position], n_units)
        relevance = _predicted_relevance(features, of_unit, examined)
        expected = sums(counts.position, counts.shown * relevance[unit], len(start))
        previous, examination = examination, at_position / expected
        examination = examination / examination[0]
        if (np.abs(examination - previous) < _CONVERGED * previous).all():
            break
    return examination


def clicks_by_position(counts: ClickCounts, n_positions: int) -> tuple[Floats, Floats]:
    """The numbers of clicked and of shown documents at each position."""
    clicks = sums(counts.position, counts.clicks, n_positions)
    return clicks, sums(counts.position, counts.shown, n_positions)


def _predicted_relevance(features: Features, clicks: Floats, examined: Floats) -> Floats:
    """Clicks per examination, as trees predict it. A resample may lack some documents: they have no weight."""
    rate = np.where(examined > 0, clicks / np.maximum(examined, 1e-9), 0.0)
    data = Dataset(features, rate, group=[len(rate)], sample_weight=examined)
    trees = MART(n_trees=50, n_leaves=15, learning_rate=0.2).fit(data)
    return np.maximum(trees.predict(data), _LEAST_RELEVANCE)
