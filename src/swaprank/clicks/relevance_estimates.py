"""Estimated relevance of documents: from clicks weighed by propensities, and from features by regression."""

from typing import Literal, NamedTuple, get_args

import numpy as np

from swaprank.arrays import Features, Floats
from swaprank.clicks.click_counts import ClickCounts, sums
from swaprank.clicks.click_log import ClickLog
from swaprank.clicks.propensities import Propensities
from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError
from swaprank.parameters import check_word
from swaprank.rankers.mart import MART

Estimator = Literal["self_normalized", "ips"]


class Shares(NamedTuple):
    """The summands of each row of a log in a fraction: relevance = sum of gains / sum of chances."""

    gain: Floats
    chance: Floats
    estimator: Estimator
    clipped: float
    """The share of the rows with a propensity below the clip."""


def row_shares(
    log: ClickLog, propensities: Propensities, estimator: Estimator = "self_normalized", clip: float = 0.0
) -> Shares:
    """The gain and the chance of every row; `clip` is the smallest alpha that inverse propensity scores divide by."""
    check_word("estimator", estimator, get_args(Estimator))
    if not 0 <= clip < 1:
        raise ParameterError(f"clip must be a number from 0 to below 1; found {clip!r}.")
    if clip and estimator != "ips":
        raise ParameterError(f"clip={clip:g} is for estimator='ips': '{estimator}' has no weights to clip.")
    places = propensities.places(log.position)
    alpha = propensities.alpha
    gain = log.click - propensities.beta[places]
    if estimator == "self_normalized":
        return Shares(gain, alpha[places], estimator, 0.0)
    clipped = float((alpha[places] < clip).mean()) if clip else 0.0
    return Shares(gain / np.maximum(alpha, clip)[places], np.ones(log.n_rows), estimator, clipped)


def relevance_of_pairs(log: ClickLog, shares: Shares) -> tuple[Floats, Floats]:
    """The relevance and the sum of chances of each (query, document) pair; 0 and 0 if it was never shown."""
    gain, chance = (sums(log.document, values, log.n_pairs) for values in (shares.gain, shares.chance))
    return np.divide(gain, chance, out=np.zeros(log.n_pairs), where=chance > 0), chance


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
