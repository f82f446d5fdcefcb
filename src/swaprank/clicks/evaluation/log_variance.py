"""How uncertain an estimate from clicks is: the variance that the clicks, the queries and the position bias leave.

An estimate is (1/S) sum_q n_q V_q over the S sessions, n_q of them with query q. Given who was shown what, V_q is
linear in each click to first order, with coefficients t_i, so that

    variance = ( sum_i t_i² pi_i (1 - pi_i)  +  sum_q n_q (V_q - mean)² - sum_q n_q variance(V_q) ) / S²

The first sum is the noise of clicks: pi_i is the probability of the click of row i. The rest is the choice of queries,
without the noise that the V_q have themselves. Residuals of clicks would not do for pi_i: they are 0 for a document
that was shown once, whose relevance is its own click. So pi_i is computed with the relevance of documents that is
shrunk toward the mean of similar ones, which also counts the clicks that a rarely examined document could have had.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Literal, NamedTuple, get_args

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.bias.bias_estimation import position_bias
from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.evaluation.log_values import LogValue, bias_coefficients
from swaprank.clicks.evaluation.ranked_pairs import RankedPairs
from swaprank.clicks.learning.relevance_estimates import Estimator, Shares, relevance_of_pairs, row_shares
from swaprank.clicks.logs.click_counts import sums
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.parameters import check_word

Units = Literal["sessions", "queries"]
_N_LEVELS = 8

_POOL_PRIOR = 3.0
"""Examinations by which the mean of a pool is drawn toward that of the pool that it is a part of."""


class LogView(NamedTuple):
    """A log with the position bias that it is seen with."""

    log: ClickLog
    shares: Shares
    examination: Floats | None
    """The examination of each position, if it was estimated from this log."""
    units: Units


def view_of(
    log: ClickLog, propensities: Propensities | None, estimator: Estimator, clip: float, units: Units
) -> LogView:
    """See a log with the position bias that is given, or estimated from the log itself."""
    check_word("units", units, get_args(Units))
    bias = position_bias(log, n_resamples=0) if propensities is None else propensities
    shares = row_shares(log, bias, estimator, clip, use_logged=True)
    return LogView(log, shares, bias.examination if propensities is None else None, units)


class Spread(NamedTuple):
    """An estimate and its uncertainty."""

    mean: float
    error: float
    """The standard error."""
    n_units: int
    """The sessions, or the queries, that it comes from."""
    n_effective: float
    """The number of clicks that would tell as much if all counted the same."""

    def interval(self, mean: float) -> tuple[float, float]:
        """The 95% interval around a mean (Student's t); NaN for a single unit."""
        from scipy.special import stdtrit

        half = float(stdtrit(self.n_units - 1, 0.975) * self.error) if self.n_units > 1 else float("nan")
        return mean - half, mean + half

    def p_value(self, mean: float) -> float:
        """The probability of a mean that is as far from 0, if there were no difference; NaN for a single unit."""
        from scipy.special import stdtr

        if mean == 0:
            return 1.0
        if self.n_units < 2 or self.error == 0:
            return float("nan")
        return float(2 * stdtr(self.n_units - 1, -abs(mean) / self.error))


class Expected(NamedTuple):
    """What is expected of the clicks."""

    relevance: Floats
    """The relevance of each pair, from 0 to 1."""
    chance: Floats
    """The mean of the click of each row: its probability, if it is 0 or 1."""
    square: Floats
    """The mean of its square."""


def expect(view: LogView, rankings: Sequence[RankedPairs]) -> Expected:
    """The clicks that are expected, if pairs at similar ranks of the rankings are of similar relevance."""
    log, shares = view.log, view.shares
    relevance = _expected_relevance(log, shares, rankings)
    chance = np.clip(shares.alpha * relevance[log.document] + shares.beta, 0.0, 1.0)
    # A click is 0 or 1, or a grade: then its square has a smaller mean.
    square = chance * float(np.sum(log.click**2) / max(np.sum(log.click), 1e-300))
    return Expected(relevance, chance, square)


def spread_of(view: LogView, value: LogValue, expected: Expected) -> Spread:
    """The mean and the uncertainty of a value."""
    log = view.log
    sessions = np.bincount(log.query, minlength=log.n_queries).astype(np.float64)
    mean = float(np.sum(sessions * value.values) / log.n_sessions)
    through_bias = None if view.examination is None else bias_coefficients(log, view.examination, value.by_position)
    direct = _click_coefficients(log, view.shares, sessions, value.slopes)
    squares = float(np.sum(direct**2 * expected.square))
    # With the clicks themselves, logs would be found to tell enough just where the estimate is too high.
    clicks = float(np.sum(np.abs(direct) * (expected.chance - view.shares.beta)))
    n_effective = clicks**2 / squares if squares > 0 else 0.0
    if view.units == "queries":
        error, n_units = _error_by_queries(log, sessions, value.values - mean, through_bias)
    else:
        noise = np.maximum(expected.square - expected.chance**2, 0.0)
        error, n_units = _error_by_sessions(log, sessions, value.values - mean, direct, noise, through_bias)
    return Spread(mean, error, n_units, n_effective)


def _error_by_sessions(
    log: ClickLog, sessions: Floats, deviations: Floats, direct: Floats, noise: Floats, through_bias: Floats | None
) -> tuple[float, int]:
    """The standard error for these queries, if other sessions had come."""
    total = direct if through_bias is None else direct + through_bias
    by_clicks = float(np.sum(total**2 * noise))
    of_query = sums(log.pair_query[log.document], direct**2 * noise, log.n_queries)
    asked = sessions > 0
    by_queries = float(np.sum(sessions * deviations**2) - np.sum(of_query[asked] / sessions[asked]))
    return sqrt(by_clicks + max(by_queries, 0.0)) / log.n_sessions, log.n_sessions


def _error_by_queries(
    log: ClickLog, sessions: Floats, deviations: Floats, through_bias: Floats | None
) -> tuple[float, int]:
    """The standard error if other queries had been asked: whole queries are the units."""
    change = sessions * deviations
    if through_bias is not None:
        change = change + sums(log.pair_query[log.document], through_bias * log.click, log.n_queries)
    n = int((sessions > 0).sum())
    return sqrt(float(np.sum(change**2)) * n / max(n - 1, 1)) / log.n_sessions, n


def _click_coefficients(log: ClickLog, shares: Shares, sessions: Floats, slopes: Floats) -> Floats:
    """What a click of each row adds to the sum of values over sessions."""
    _, chance = relevance_of_pairs(log, shares)
    weight = sessions[log.pair_query] * slopes / np.where(chance > 0, chance, 1.0)
    return np.asarray(weight[log.document] * shares.per_click)


def _expected_relevance(log: ClickLog, shares: Shares, rankings: Sequence[RankedPairs]) -> Floats:
    """The relevance of each pair, from 0 to 1: the best linear estimate from its clicks and the mean of its pool.

    A pool has pairs at similar ranks of the rankings, and at places that were examined about as often. Relevance varies
    around the mean of the pool with the same variance everywhere. Products of different clicks on the same document
    tell this variance; if no document was shown twice, nothing does, and the mean counts for all.
    """
    rows = np.bincount(log.document, minlength=log.n_pairs)
    gain, chance = (sums(log.document, each, log.n_pairs) for each in (log.click - shares.beta, shares.alpha))
    examined = np.where(rows > 0, chance / np.maximum(rows, 1) / shares.alpha.max(), 1.0)
    # With trust bias, clicks may be fewer than those that have nothing to do with relevance.
    overall = float(np.clip(np.sum(gain) / np.sum(chance), 0.0, 1.0))
    means, pools = np.full(log.n_pairs, overall), np.zeros(log.n_pairs, np.int64)
    for share in (examined, *(1.0 / ranked.ranks for ranked in rankings)):
        pools = pools * _N_LEVELS + _level(share)
        n_pools = int(pools.max()) + 1
        prior = np.zeros(n_pools)
        prior[pools] = means
        of_pool = sums(pools, gain, n_pools) + _POOL_PRIOR * prior
        means = np.clip(of_pool / (sums(pools, chance, n_pools) + _POOL_PRIOR), 0.0, 1.0)[pools]
    squared_gain = sums(log.document, (log.click - shares.beta) ** 2, log.n_pairs)
    products = chance**2 - sums(log.document, shares.alpha**2, log.n_pairs)
    beyond = np.sum(gain**2 - squared_gain) - np.sum(means**2 * products)
    variance = float(beyond) / max(float(np.sum(products)), 1e-300)
    if variance <= 0 or not log.click.any():
        return means
    strength = float(np.sum(log.click) / np.sum(chance)) / variance
    return np.asarray(np.clip((gain + strength * means) / (chance + strength), 0.0, 1.0))


def _level(share: Floats) -> Ints:
    """0 for 1, and one more each time that a share is halved."""
    return np.clip(-np.log2(share), 0, _N_LEVELS - 1).astype(np.int64)
