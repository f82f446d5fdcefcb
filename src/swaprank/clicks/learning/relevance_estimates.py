"""Estimated relevance of documents: clicks weighed by propensities."""

from typing import Literal, NamedTuple, get_args

import numpy as np

from swaprank.arrays import Floats
from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.logs.click_counts import sums
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.logged_propensities import check_clip, inverse_propensities
from swaprank.errors import Hint, ParameterError
from swaprank.parameters import check_word

Estimator = Literal["self_normalized", "ips"]


class Shares(NamedTuple):
    """The summands of each row of a log in a fraction: relevance = sum of gains / sum of chances."""

    gain: Floats
    chance: Floats
    alpha: Floats
    beta: Floats
    """P(click) = alpha x relevance + beta."""
    per_click: Floats
    """What a click adds to the gain."""
    estimator: Estimator
    clipped: float
    """The share of the rows with a propensity below the clip."""


def row_shares(
    log: ClickLog,
    propensities: Propensities,
    estimator: Estimator = "self_normalized",
    clip: float = 0.0,
    *,
    use_logged: bool = False,
) -> Shares:
    """The gain and the chance of every row.

    Args:
        log: The clicks.
        propensities: The position bias.
        estimator: "self_normalized" divides sums of clicks by sums of alpha; "ips" divides each click by its alpha.
        clip: The smallest alpha that inverse propensity scores divide by.
        use_logged: Weigh each row by the inverse of its logged propensity, if the log has them: then all sessions count
            alike, whatever the production ranker knew of their users.
    """
    check_word("estimator", estimator, get_args(Estimator))
    check_clip(clip)
    if clip and estimator != "ips":
        raise ParameterError(
            Hint("clip", clip), " is for ", Hint("estimator", "ips"), f": '{estimator}' has no weights to clip."
        )
    alpha, beta = propensities.of_rows(log)
    weight = inverse_propensities(log) if use_logged and log.propensity is not None else np.ones(log.n_rows)
    if estimator == "self_normalized":
        return Shares(weight * (log.click - beta), weight * alpha, alpha, beta, weight, estimator, 0.0)
    clipped = float((alpha < clip).mean()) if clip else 0.0
    per_click = weight / np.maximum(alpha, clip)
    return Shares(per_click * (log.click - beta), weight, alpha, beta, per_click, estimator, clipped)


def relevance_of_pairs(log: ClickLog, shares: Shares) -> tuple[Floats, Floats]:
    """The relevance and the sum of chances of each (query, document) pair; 0 and 0 if it was never shown."""
    gain, chance = (sums(log.document, values, log.n_pairs) for values in (shares.gain, shares.chance))
    return np.divide(gain, chance, out=np.zeros(log.n_pairs), where=chance > 0), chance
