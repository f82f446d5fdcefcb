"""The value of a metric for a ranking that was never shown, and the influence of each session on the estimate.

The value is the mean over sessions of f(relevance of the query's documents in their new order), with

    sums of discounted gains     f = sum_r D(r) g_r
    cascades                     f = sum_r D(r) g_r prod_{j < r} (1 - g_j)      the rank where a user is satisfied

Both are linear in each g, so f of unbiased estimates is unbiased. The estimate g = sum of gains / sum of chances of a
document changes by (gain - g chance) / (sum of chances) with a row; f changes by its derivative times that. This is the
influence of a session, and the variance of the mean is that of the influences.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.click_counts import sums
from swaprank.clicks.click_log import ClickLog
from swaprank.clicks.relevance_estimates import Shares, relevance_of_pairs
from swaprank.data.grouping import longest_list, sum_by_query
from swaprank.errors import MetricError
from swaprank.kernels import kernel
from swaprank.metrics.cascade import Cascade
from swaprank.metrics.cumulative import Cumulative, DiscountedGain, Recall
from swaprank.metrics.metric import Metric


class LogValue(NamedTuple):
    """The estimate of one metric of one ranking."""

    mean: float
    influence: Floats
    """One number per session, of mean 0: the estimate is off by about the mean of the influences."""
    by_position: Floats
    """The derivative of the estimate by the logarithm of the propensity of each position."""
    n_effective: float
    """The number of clicks that would tell as much if all counted the same."""
    coverage: float
    """The share of the discounts at documents that the log has shown."""
    clipped: float
    """The share of the rows with a propensity below the clip."""


def check_countable(metric: Metric) -> Cumulative | Cascade:
    """The metric with relevance as its gain; raises MetricError if clicks cannot tell it without bias."""
    if isinstance(metric, DiscountedGain) and not metric.normalize:
        return replace(metric, gain="linear")
    if isinstance(metric, Cascade) or (
        isinstance(metric, Cumulative) and not isinstance(metric, DiscountedGain | Recall)
    ):
        return metric
    raise MetricError(
        f"clicks give no unbiased estimate of {metric}, which divides by what only judgements of all documents tell: "
        "use a sum, such as dcg@10, p@5 or rbp; or mrr."
    )


def log_value(log: ClickLog, shares: Shares, ranks: Ints, metric: Cumulative | Cascade, list_lengths: Ints) -> LogValue:
    """Estimate a metric, given the new rank from 1 of each pair, and the number of ranked documents of each query."""
    relevance, chance = relevance_of_pairs(log, shares)
    longest = max(int(list_lengths.max()), int(ranks.max()))
    discounts = np.zeros(longest + 1)
    depth = min(longest, metric.k or longest)
    discounts[1 : depth + 1] = _discounts(metric, depth)
    values, slopes = _values(log, metric, relevance, discounts[ranks] * (chance > 0), ranks)

    sessions = np.bincount(log.query, minlength=log.n_queries).astype(np.float64)
    mean = float(np.sum(sessions * values) / log.n_sessions)
    # The change of the sum over all sessions with the gain of a row.
    weight = (sessions[log.pair_query] * slopes / np.where(chance > 0, chance, 1.0))[log.document]
    residual = shares.gain - relevance[log.document] * shares.chance
    influence = values[log.query] - mean + np.bincount(log.session, weight * residual, log.n_sessions)
    by_clicks = np.where(log.click > 0, weight * shares.gain, 0.0)
    squares = float(np.sum(by_clicks**2))
    reached = np.concatenate(([0.0], np.cumsum(discounts[1:])))[list_lengths]
    shown = sum_by_query(discounts[ranks] * (chance > 0), log.pair_indptr)
    return LogValue(
        mean,
        influence,
        _by_position(log, shares, relevance, weight),
        float(np.sum(by_clicks)) ** 2 / squares if squares > 0 else 0.0,
        float(np.sum(sessions * shown) / max(np.sum(sessions * reached), 1e-300)),
        shares.clipped,
    )


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
    part = shares.gain if shares.estimator == "ips" else relevance[log.document] * shares.chance
    return -np.bincount(log.position - 1, weight * part, log.max_position) / log.n_sessions


def bias_influence(log: ClickLog, examination: Floats, slope: Floats) -> Floats:
    """The influence of each session on an estimate through the position bias, which was estimated from the same log.

    The examination maximizes the likelihood of harvesting.py: the gradient of a click at position k on a document with
    the shares p is e_k - p, and the logarithms of the examination change by Newton's step from there.

    Args:
        log: The clicks.
        examination: The estimated examination of each position.
        slope: The derivative of the estimate by the logarithm of each examination.
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
    change = log.click * (step[log.position - 1] - (shares @ step)[log.document])
    return log.n_sessions * sums(log.session, change, log.n_sessions)


def new_ranks(scores: Floats, indptr: Ints, tie_order: Ints) -> Ints:
    """The rank from 1 of every document within its query, by falling score; ties are in the tie order.

    >>> import numpy as np
    >>> from swaprank.clicks.log_values import new_ranks
    >>> new_ranks(np.array([0.1, 0.9, 0.5, 0.5]), np.array([0, 2, 4]), np.array([0, 1, 3, 2])).tolist()
    [2, 1, 2, 1]
    """
    place = np.empty(len(scores), np.int64)
    place[tie_order] = np.arange(len(scores))
    query = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((place, -scores, query))
    ranks = np.empty(len(scores), np.int64)
    ranks[order] = np.arange(len(scores)) - np.repeat(indptr[:-1], np.diff(indptr)) + 1
    return ranks
