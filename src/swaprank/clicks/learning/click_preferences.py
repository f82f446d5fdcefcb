"""Preferences between documents that were shown together, without position bias.

A session shows document d at position k and e at position j. On average, d is clicked theta_k gamma_d times. If each
click on d counts theta_j, the examination of the *other* document, then

    wins of d over e    sum of theta_j c_d    has the mean    gamma_d sum of theta_k theta_j
    wins of e over d    sum of theta_k c_e    has the mean    gamma_e sum of theta_k theta_j

The sums on the right are the same, whoever stood above. So the share of d in the wins is gamma_d / (gamma_d + gamma_e):
RankNet learns it as the difference of two scores. No weight is above 1. With trust bias, c_d is the click minus beta_k,
and theta is alpha.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.learning.training_bias import bias_for_training
from swaprank.clicks.learning.training_data import pair_data
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.parameters import Bounds, check_parameter


class _Wins(NamedTuple):
    """Pairs of documents that were shown together: their wins over each other, and the clicks on both."""

    first: Ints
    second: Ints
    wins: Floats
    losses: Floats
    clicks: Floats


def preferences(log: ClickLog, propensities: Propensities | None = None, *, prior: float = 1.0) -> Dataset:
    """Training data for RankNet: which of two documents that were shown together people prefer, and how surely.

    A click on one of two documents speaks for it, and the more so the likelier the other one was examined. So it does
    not matter which of them usually stands above. The data has the shown documents of each query, and pairs of them:
    d ranks above e with the probability gamma_d / (gamma_d + gamma_e), where gamma is the relevance. All labels are 0,
    because nothing was judged.

    Args:
        log: The clicks, with features.
        propensities: The position bias. The default is the one that `train` would use.
        prior: Imaginary clicks on each document of a pair, above 0: more sessions, more certainty.

    >>> import swaprank as sr
    >>> log = sr.clicks.ClickLog(
    ...     session=[1, 1, 2, 2, 3, 3], qid=[7] * 6, docid=["a", "b"] * 3, position=[1, 2] * 3,
    ...     click=[0, 1, 1, 0, 1, 0], X=[[5.0], [3.0]] * 3,
    ... )
    >>> bias = sr.clicks.Propensities([1.0, 0.5])  # one click on b is worth two on a
    >>> sr.clicks.preferences(log, bias).pairs.probability.tolist()
    [0.5]
    """
    check_parameter("prior", prior, Bounds(False, 0, np.inf, open_low=True))
    known = bias_for_training(log) if propensities is None else propensities
    found = _all_wins(log, known)
    if len(found.first) == 0:
        raise DataError("no session has a click and another document on the same page: there are no preferences.")
    # An imaginary click weighs as much as the mean of the real ones.
    imaginary = prior * (found.wins + found.losses) / found.clicks
    probability = (found.wins + imaginary) / (found.wins + found.losses + 2 * imaginary)
    shown = np.unique(log.document)
    row = np.full(log.n_pairs, -1, np.int64)
    row[shown] = np.arange(len(shown))
    likelier = probability >= 0.5
    above, below = (row[np.where(chosen, found.first, found.second)] for chosen in (likelier, ~likelier))
    pairs = np.column_stack((above, below, np.where(likelier, probability, 1.0 - probability)))
    return pair_data(log, shown, np.zeros(len(shown)), pairs=pairs)


def _all_wins(log: ClickLog, propensities: Propensities) -> _Wins:
    alpha, beta = propensities.of_rows(log)
    order = np.argsort(log.query, kind="stable")
    sessions = np.concatenate(([0], np.cumsum(np.bincount(log.query, minlength=log.n_queries)))).astype(np.int64)
    parts = []
    for query in range(log.n_queries):
        start = int(log.pair_indptr[query])
        n = int(log.pair_indptr[query + 1]) - start
        wins, clicks = np.zeros((n, n)), np.zeros((n, n))
        _count_wins(
            order[sessions[query] : sessions[query + 1]], log.indptr, log.document, start, log.click, alpha, beta, wins,
            clicks,
        )  # fmt: skip
        # With trust bias, fewer clicks than trust explains are none.
        np.maximum(wins, 0.0, out=wins)
        first, second = np.nonzero(np.triu((clicks + clicks.T > 0) & (wins + wins.T > 0), 1))
        parts.append(
            (
                start + first,
                start + second,
                wins[first, second],
                wins[second, first],
                (clicks + clicks.T)[first, second],
            )
        )
    return _Wins(*(np.concatenate(each) for each in zip(*parts, strict=True)))


@kernel
def _count_wins(
    sessions: Ints, indptr: Ints, document: Ints, start: int, click: Floats, alpha: Floats, beta: Floats, wins: Floats,
    clicks: Floats,
) -> None:  # fmt: skip
    """Add up the wins of each document of a query over each other one, and the clicks behind them."""
    for session in sessions:
        for one in range(indptr[session], indptr[session + 1]):
            gain = click[one] - beta[one]
            if gain == 0.0:
                continue
            d = document[one] - start
            for other in range(indptr[session], indptr[session + 1]):
                if other != one:
                    wins[d, document[other] - start] += gain * alpha[other]
                    clicks[d, document[other] - start] += click[one]
