"""Estimated relevance of documents: clicks weighed by propensities."""

from typing import Literal, NamedTuple, get_args

import numpy as np

from swaprank.arrays import Floats
from swaprank.clicks.click_counts import sums
from swaprank.clicks.click_log import ClickLog
from swaprank.clicks.propensities import Propensities
from swaprank.errors import ParameterError
from swaprank.parameters import check_word

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
    alpha, beta = propensities.of_rows(log)
    gain = log.click - beta
    if estimator == "self_normalized":
        return Shares(gain, alpha, estimator, 0.0)
    clipped = float((alpha < clip).mean()) if clip else 0.0
    return Shares(gain / np.maximum(alpha, clip), np.ones(log.n_rows), estimator, clipped)


def relevance_of_pairs(log: ClickLog, shares: Shares) -> tuple[Floats, Floats]:
    """The relevance and the sum of chances of each (query, document) pair; 0 and 0 if it was never shown."""
    gain, chance = (sums(log.document, values, log.n_pairs) for values in (shares.gain, shares.chance))
    return np.divide(gain, chance, out=np.zeros(log.n_pairs), where=chance > 0), chance
