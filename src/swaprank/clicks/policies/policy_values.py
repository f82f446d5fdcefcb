"""Estimates of the clicks that a policy would get, and the influence of each session on them.

With w the weight of a row, c its click, r(d, k) the modelled click rate of document d at place k, and V(q, k) the sum
of pi(d, k) r(d, k) over the documents of a query, clicks per session are

    ips                 mean over sessions of sum w c
    self_normalized     sum over places of (share of the place) (sum w c) / (sum w), over the rows at the place
    doubly_robust       mean over sessions of sum V(q, k) + w (c - r(d, k)); r is fitted on other sessions
    direct              mean over sessions of sum V(q, k)

The first three are right on average, or nearly so, whatever r is, if the probability of a click on a document at a
place does not depend on what else is on the page.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.clicks.logs.click_counts import sums
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.policies.policy import Policy
from swaprank.clicks.policies.policy_candidates import sum_over_documents
from swaprank.clicks.policies.policy_weights import WeightedRows
from swaprank.clicks.policies.reward_model import Rewards, fit_rewards
from swaprank.data.document_places import query_keys
from swaprank.errors import DataError

PolicyEstimator = Literal["self_normalized", "ips", "doubly_robust", "direct"]
PolicyMetric = Literal["clicks", "ctr"]
_FOLDS = 10


class PolicyValue(NamedTuple):
    """An estimate, and numbers that vary as much: their mean has the variance of the estimate."""

    mean: float
    influence: Floats
    """One number per session, or per fold if the estimate is direct; of mean 0."""


def policy_values(
    log: ClickLog, policy: Policy, rows: WeightedRows, estimator: PolicyEstimator
) -> dict[PolicyMetric, PolicyValue]:
    """Clicks per session, and clicks per shown document."""
    shown = _of_sessions(sums(log.session, rows.filled, log.n_sessions))
    if estimator == "ips":
        clicks = _of_sessions(sums(log.session, rows.weight * log.click, log.n_sessions))
    elif estimator == "self_normalized":
        clicks = _self_normalized(log, rows)
    elif estimator == "doubly_robust":
        clicks = _doubly_robust(log, policy, rows)
    else:
        clicks, shown = _direct(log, policy, rows)
    return {"clicks": clicks, "ctr": _ratio(clicks, shown)}


def _of_sessions(values: Floats) -> PolicyValue:
    mean = float(values.mean())
    return PolicyValue(mean, values - mean)


def _ratio(above: PolicyValue, below: PolicyValue) -> PolicyValue:
    mean = above.mean / below.mean
    return PolicyValue(mean, (above.influence - mean * below.influence) / below.mean)


def _self_normalized(log: ClickLog, rows: WeightedRows) -> PolicyValue:
    """The click rate of each place, times how many documents the policy shows there.

    A row with a large share of the weights pulls the rate towards its own click, so that its residual is too small:
    it is divided by 1 - share, as if the row had not been counted.
    """
    place, n_places = log.position.astype(np.int64) - 1, log.max_position
    summands = (rows.weight, rows.weight * log.click, rows.filled)
    weight, clicks, filled = (sums(place, each, n_places) for each in summands)
    reached = weight > 0
    rate = np.divide(clicks, weight, out=np.zeros(n_places), where=reached)
    factor = np.divide(filled, weight, out=np.zeros(n_places), where=reached)[place]
    residual = rows.weight * (log.click - rate[place])
    others = 1.0 - rows.weight / np.where(reached, weight, 1.0)[place]
    pulled = np.divide(residual, others, out=np.zeros(log.n_rows), where=others > 0)
    values = sums(log.session, factor * pulled + rate[place] * rows.filled, log.n_sessions)
    return PolicyValue(float(np.sum(filled * rate) / log.n_sessions), values - values.mean())


def _doubly_robust(log: ClickLog, policy: Policy, rows: WeightedRows) -> PolicyValue:
    values = np.zeros(log.n_rows)
    for own, rewards in _cross_fitted(log):
        place = log.position[own] - 1
        modelled = _modelled(log, policy, rewards)[log.query[log.session[own]], place]
        values[own] = modelled + rows.weight[own] * (log.click[own] - rewards.of_pairs[log.document[own], place])
    return _of_sessions(sums(log.session, values, log.n_sessions))


def _direct(log: ClickLog, policy: Policy, rows: WeightedRows) -> tuple[PolicyValue, PolicyValue]:
    """Clicks and shown documents per session. Their variance is that of a jackknife: without each fold of sessions."""

    def estimate(chosen: Bools, rewards: Rewards) -> tuple[float, float]:
        modelled = _modelled(log, policy, rewards)[log.query[log.session[chosen]], log.position[chosen] - 1]
        n_sessions = len(np.unique(log.session[chosen]))
        return float(modelled.sum() / n_sessions), float(rows.filled[chosen].sum() / n_sessions)

    everything = np.ones(log.n_rows, np.bool_)
    whole = estimate(everything, fit_rewards(*_counts(log, everything)))
    without = np.array([estimate(~own, rewards) for own, rewards in _cross_fitted(log)])
    influence = (len(without) - 1.0) * (without.mean(axis=0) - without)
    return PolicyValue(whole[0], influence[:, 0]), PolicyValue(whole[1], influence[:, 1])


def _cross_fitted(log: ClickLog) -> Iterator[tuple[Bools, Rewards]]:
    """The rows of each fold of the sessions, and rewards that were fitted on the other folds.

    A session's fold comes from its id, so that the order of sessions plays no role, and copies of a session are in the
    same fold.
    """
    fold = (query_keys(log.session_ids) % np.uint64(_FOLDS)).astype(np.int64)
    used = np.unique(fold)
    if len(used) < 2:
        raise DataError(f"{log.n_sessions:,} sessions are too few for a reward model.")
    shown, clicks = _counts(log, np.ones(log.n_rows, np.bool_))
    for number in used:
        own = (fold == number)[log.session]
        own_shown, own_clicks = _counts(log, own)
        # A difference of sums of grades may be below 0 by rounding.
        yield own, fit_rewards(shown - own_shown, np.maximum(clicks - own_clicks, 0.0))


def _counts(log: ClickLog, chosen: Bools) -> tuple[Floats, Floats]:
    cell: Ints = (log.document * log.max_position + (log.position - 1))[chosen]
    n_cells = log.n_pairs * log.max_position
    shown, clicks = (sums(cell, values, n_cells) for values in (np.ones(len(cell)), log.click[chosen]))
    return shown.reshape(-1, log.max_position), clicks.reshape(-1, log.max_position)


def _modelled(log: ClickLog, policy: Policy, rewards: Rewards) -> Floats:
    """Queries x positions: the clicks that the model expects of the policy."""
    places, indptr = slice(log.max_position), np.array(log.pair_indptr)
    placements, filled = (each[:, places] for each in policy.of_documents())
    others = filled - sum_over_documents(placements, indptr)
    return sum_over_documents(placements * rewards.of_pairs, indptr) + others * rewards.of_others
