"""Weights of rows: how much likelier a policy shows what a session has shown than the policy that was logged."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats
from swaprank.clicks.logs.click_counts import sums
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.logged_propensities import inverse_propensities
from swaprank.clicks.policies.policy import Policy
from swaprank.errors import DataError


class WeightedRows(NamedTuple):
    """The rows of a log for one policy."""

    weight: Floats
    filled: Floats
    """The probability that the policy shows a document at the row's place."""
    largest: float
    clipped: float
    """The share of the policy's weights at rows with a propensity below the clip."""
    coverage: float
    """The share of the policy's placements that the log has shown at least once; NaN if it is contextual."""
    mean_weight: float
    """The sum of the weights, unclipped, over that of the policy's placements: about 1, if propensities are right."""
    mean_weight_error: float
    """Its standard error."""


def weigh_rows(log: ClickLog, policy: Policy, clip: float = 0.0) -> WeightedRows:
    """The probability of each row under the policy over that under the logged one [Li2018]."""
    policy.check_log(log)
    inverse, unclipped = inverse_propensities(log, clip), inverse_propensities(log)
    target, filled, coverage = _of_rows(log, policy)
    raw = target * unclipped
    clipped = np.where(unclipped > inverse, raw, 0.0)
    n_filled = sums(log.session, filled, log.n_sessions)
    mean = float(raw.sum() / n_filled.sum())
    excess = sums(log.session, raw, log.n_sessions) - mean * n_filled
    weight = target * inverse
    return WeightedRows(
        weight,
        filled,
        float(weight.max()),
        float(clipped.sum() / max(raw.sum(), 1e-300)),
        coverage,
        mean,
        float(np.sqrt(log.n_sessions) * excess.std() / n_filled.sum()),
    )


def _of_rows(log: ClickLog, policy: Policy) -> tuple[Floats, Floats, float]:
    """The policy's probability of each row and of its place, and the share of its placements that were ever shown."""
    if policy.placements is None or policy.filled is None:
        return np.asarray(policy.of_rows), np.ones(log.n_rows), float("nan")
    place = log.position - 1
    target = policy.placements[log.document, place]
    filled = policy.filled[log.query[log.session], place]
    if filled.sum() == 0:
        raise DataError("this policy shows nothing at the places of the log.")
    n_positions = policy.placements.shape[1]
    was_shown = np.zeros(policy.placements.shape, np.bool_)
    was_shown[log.document, place] = True
    # A cell counts as often as a session of its query has its place.
    n_places = sums(log.query[log.session] * n_positions + place, np.ones(log.n_rows), log.n_queries * n_positions)
    often = n_places.reshape(-1, n_positions)[log.pair_query]
    return target, filled, float(np.sum(often * policy.placements * was_shown) / filled.sum())
