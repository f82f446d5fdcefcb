"""The value of a metric for a ranking that was never shown, and its derivatives by what was estimated.

The value is the mean over sessions of f(relevance of the query's documents in their new order), with

    sums of discounted gains     f = sum_r D(r) g_r
    cascades                     f = sum_r D(r) g_r prod_{j < r} (1 - g_j)      the rank where a user is satisfied

Both are linear in each g.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.evaluation.ranked_pairs import RankedPairs
from swaprank.clicks.learning.relevance_estimates import Shares, relevance_of_pairs
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.data.grouping import longest_list, sum_by_query
from swaprank.errors import MetricError
from swaprank.kernels import kernel
from swaprank.metrics.cascade import Cascade
from swaprank.metrics.cumulative import Cumulative, DiscountedGain, Recall
from swaprank.metrics.metric import Metric


class LogValue(NamedTuple):
    """The estimate of one metric of one ranking; or of a difference, which subtracts values, slopes and by_position."""

    values: Floats
    """The value of each query."""
    slopes: Floats
    """The derivative of the value of its query by the relevance of each pair."""
    by_position: Floats
    """The derivative of the mean by the logarithm of the propensity of each position."""
    low: float
    high: float
    """The least and the largest mean that the metric can have."""
    coverage: float
    """The share of the discounts at documents that the log has shown."""
    clipped: float
    """The share of the rows with a propensity below the clip."""

    def minus(self, other: "LogValue") -> "LogValue":
        """The difference of two rankings."""
        return LogValue(
            self.values - other.values,
            self.slopes - other.slopes,
            self.by_position - other.by_position,
            self.low - other.high,
            self.high - other.low,
            min(self.coverage, other.coverage),
            max(self.clipped, other.clipped),
        )


def check_countable(metric: Metric) -> Cumulative | Cascade:
    """The metric, if clicks can tell it without bias; otherwise MetricError."""
    if isinstance(metric, DiscountedGain) and not metric.normalize:
        # Clicks tell relevance itself, as a probability, which must count as it is.
        levels = np.array([0.0, 0.5, 1.0])
        if np.array_equal(metric.gains(levels), levels):
            return metric
        k = "" if metric.k is None else f"@{metric.k}"
        raise MetricError(
            f"{metric} is of labels on a scale, but clicks tell relevance itself, as a probability: write "
            f"'dcg{k}(gain=linear)'."
        )
    if isinstance(metric, Cascade) or (
        isinstance(metric, Cumulative) and not isinstance(metric, DiscountedGain | Recall)
    ):
        return metric
    raise MetricError(
        f"clicks give no unbiased estimate of {metric}, which divides by what only judgements of all documents tell: "
        "use a sum, such as dcg@10(gain=linear), p@5 or rbp; or mrr."
    )


def log_value(
    log: ClickLog, shares: Shares, ranked: RankedPairs, metric: Cumulative | Cascade, expected: Floats
) -> LogValue:
    """Estimate a metric of a new ranking, given the expected relevance e of each pair.

    The value is f(e) + sum_r df/dg_r(e) (g_r - e_r), for unbiased estimates g. This is f(g) for sums. For cascades,
    f(g) would multiply the noise of all documents of a list; here each counts once, and what is off by using e in the
    derivatives are products of its errors for two documents, which have either sign.
    """
    relevance, chance = relevance_of_pairs(log, shares)
    ranks, list_lengths = ranked
    longest = max(int(list_lengths.max()), int(ranks.max()))
    discounts = np.zeros(longest + 1)
    depth = min(longest, metric.k or longest)
    discounts[1 : depth + 1] = _discounts(metric, depth)
    of_pair = discounts[ranks] * (chance > 0)
    expected_values, slopes = _values(log, metric, expected, of_pair, ranks)
    values = expected_values + sum_by_query(slopes * (relevance - expected), log.pair_indptr)

    sessions = np.bincount(log.query, minlength=log.n_queries).astype(np.float64)
    weight = (sessions[log.pair_query] * slopes / np.where(chance > 0, chance, 1.0))[log.document]
    reached = np.concatenate(([0.0], np.cumsum(discounts[1:])))[list_lengths]
    shown = sum_by_query(of_pair, log.pair_indptr)
    if isinstance(metric, Cumulative):
        low = _mean_of_sums(np.minimum(discounts, 0.0), list_lengths, sessions)
        high = _mean_of_sums(np.maximum(discounts, 0.0), list_lengths, sessions)
    else:
        low, high = min(0.0, float(discounts.min())), float(discounts.max())
    return LogValue(
        values,
        slopes,
        _by_position(log, shares, relevance, weight),
        low,
        high,
        float(np.sum(sessions * shown) / max(np.sum(sessions * reached), 1e-300)),
        shares.clipped,
    )


def _mean_of_sums(discounts: Floats, list_lengths: Ints, sessions: Floats) -> float:
    """The mean over sessions of the sum of the discounts of a list."""
    return float(np.sum(sessions * np.cumsum(discounts)[list_lengths]) / np.sum(sessions))


def _discounts(metric: Cumulative | Cascade, depth: int) -> Floats:
    found = metric.discounts(np.arange(1, depth + 1))
    return np.pad(found, (0, max(0, depth - len(found))))[:depth]


def _values(
    log: ClickLog, metric: Metric, relevance: Floats, discounts: Floats, ranks: Ints
) -> tuple[Floats, Floats]:  # fmt: skip
    """The value of each query, and its derivative by the relevance of each pair."""
    if isinstance(metric, Cumulative):
        return sum_by_query(discounts * relevance, log.pair_indptr), discounts
    values, slopes = np.empty(log.n_queries), np.empty(log.n_pairs)
    order = np.lexsort((ranks, log.pair_query))
    reading, tails = np.empty(longest_list(log.pair_indptr) + 1), np.empty(longest_list(log.pair_indptr) + 1)
    indptr = np.array(log.pair_indptr)
    _cascade_values(indptr, order, relevance, discounts, reading, tails, values, slopes)
    return values, slopes


@kernel
def _cascade_values(
    indptr: Ints, order: Ints, relevance: Floats, discounts: Floats, reading: Floats, tails: Floats, values: Floats,
    slopes: Floats,
) -> None:  # fmt: skip
    """f and its derivatives by each relevance, with the pairs of each query in the order of their ranks.

    reading_r = prod_{j < r} (1 - g_j)                  the user gets to rank r
    tail_r = D(r) g_r + (1 - g_r) tail_{r+1}            what is expected from there on; f = tail_1
    df/dg_r = reading_r (D(r) - tail_{r+1})
    """
    for query in range(len(indptr) - 1):
        start, n = indptr[query], indptr[query + 1] - indptr[query]
        reading[0] = 1.0
        tails[n] = 0.0
        for r in range(n):
            reading[r + 1] = reading[r] * (1.0 - relevance[order[start + r]])
        for r in range(n - 1, -1, -1):
            pair = order[start + r]
            slopes[pair] = reading[r] * (discounts[pair] - tails[r + 1])
            tails[r] = discounts[pair] * relevance[pair] + (1.0 - relevance[pair]) * tails[r + 1]
        values[query] = tails[0]


def _by_position(log: ClickLog, shares: Shares, relevance: Floats, weight: Floats) -> Floats:
    """Relevance falls by the share of each position in the chances, or in the gains, if its propensity grows."""
    part = relevance[log.document] * shares.chance
    if shares.estimator == "ips":
        # What is clipped does not depend on the propensity.
        part = np.where(shares.per_click * shares.alpha < (1.0 - 1e-12) * shares.chance, 0.0, shares.gain)
    return -np.bincount(log.position - 1, weight * part, log.max_position) / log.n_sessions


def bias_coefficients(log: ClickLog, examination: Floats, slope: Floats) -> Floats:
    """What a click of each row adds to the sum over sessions through the position bias, estimated from the same log.

    The examination maximizes the likelihood of harvesting.py: the gradient of a click at position k on a document with
    the shares p is e_k - p, and the logarithms of the examination change by Newton's step from there.

    Args:
        log: The clicks.
        examination: The estimated examination of each position.
        slope: The derivative of the mean by the logarithm of each examination.
    """
    n_positions = len(examination)
    theta = examination[log.position - 1]
    total = np.bincount(log.document, theta, log.n_pairs)
    cells = np.bincount(log.document * n_positions + (log.position - 1), theta, log.n_pairs * n_positions)
    shares = cells.reshape(log.n_pairs, n_positions) / np.where(total > 0, total, 1.0)[:, None]
    clicks = np.bincount(log.document, log.click, log.n_pairs)
    curvature = np.diag(clicks @ shares) - (shares * clicks[:, None]).T @ shares
    # The examination of position 1 is 1, so that only the others are estimated.
    step = np.append(0.0, np.linalg.lstsq(curvature[1:, 1:], slope[1:])[0])
    return np.asarray(log.n_sessions * (step[log.position - 1] - (shares @ step)[log.document]))
