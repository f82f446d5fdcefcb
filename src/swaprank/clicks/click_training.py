"""Train a ranker on clicks, with known position bias or with one that is learned along with the ranker."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats
from swaprank.clicks.click_counts import count_clicks
from swaprank.clicks.click_log import ClickLog
from swaprank.clicks.joint_bias import bias_given_scores
from swaprank.clicks.propensities import Propensities
from swaprank.clicks.unbiased_data import unbiased
from swaprank.errors import MetricError, ParameterError
from swaprank.metrics.cumulative import DiscountedGain
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback

_SETTLED = 0.01
"""Joint estimation ends when no examination changes by more than this share."""


class TrainedOnClicks(NamedTuple):
    """A ranker, and the position bias that it was trained with.

    >>> import swaprank as sr
    >>> (judged,) = sr.datasets.random_search(20, random_state=0)
    >>> log, truth = sr.datasets.clicks(judged, judged.column("match"), 2000, random_state=0)
    >>> ranker = sr.LambdaMART("dcg@10(gain=linear)", n_trees=5)
    >>> trained = sr.clicks.train(ranker, log, truth.propensities)
    >>> trained.ranker is ranker, trained.propensities is truth.propensities
    (True, True)
    """

    ranker: Ranker
    propensities: Propensities


def train(
    ranker: Ranker,
    log: ClickLog,
    propensities: Propensities | None = None,
    *,
    valid: ClickLog | None = None,
    n_rounds: int = 20,
    callbacks: Sequence[Callback] = (),
) -> TrainedOnClicks:
    """Train a ranker on clicks, without position bias.

    Args:
        ranker: Any ranker for a metric that adds up linear gains, such as LambdaMART("dcg@10(gain=linear)").
        log: The clicks, with features.
        propensities: The position bias, as `position_bias` estimates it. If None, ranker and position bias are learned
            together: the ranker is trained, tells which documents should be similar, these tell the position bias, and
            so on. Documents need not have changed places then, but trust bias is not taken into account.
        valid: Other sessions, best of other queries, for early stopping: an unbiased estimate of the ranker's metric.
        n_rounds: How often the ranker is trained at most if propensities is None. It ends when the bias has settled:
            after about three rounds if documents changed places, and later if they did not.
        callbacks: As for `fit`.

    >>> import swaprank as sr
    >>> (judged,) = sr.datasets.random_search(100, random_state=0)
    >>> log, truth = sr.datasets.clicks(judged, judged.column("match"), 20_000, n_shown=4, random_state=0)
    >>> trained = sr.clicks.train(sr.LambdaMART("dcg@10(gain=linear)", n_trees=30, n_leaves=7), log)
    >>> trained.propensities.examination.round(2).tolist(), truth.propensities.examination.round(2).tolist()
    ([1.0, 0.5, 0.33, 0.26], [1.0, 0.5, 0.33, 0.25])
    """
    _check_metric(ranker)
    if isinstance(n_rounds, bool) or not isinstance(n_rounds, int | np.integer) or n_rounds < 1:
        raise ParameterError(f"n_rounds must be a whole number from 1; found {n_rounds!r}.")
    if propensities is not None:
        _fit(ranker, log, propensities, valid, callbacks)
        return TrainedOnClicks(ranker, propensities)
    counts, _ = count_clicks(log.document, log.position, log.click, log.session, log.n_sessions)
    squares = np.bincount(log.document, log.click**2, log.n_pairs)[counts.unit].astype(np.float64, copy=False)
    found: Floats = np.ones(log.max_position)
    for number in range(int(n_rounds)):
        scores = _fit(ranker, log, Propensities(found), valid, callbacks)
        before, found = found, bias_given_scores(counts, squares, scores, found)
        if number > 0 and float(np.max(np.abs(found / before - 1.0))) < _SETTLED:
            break
    return TrainedOnClicks(ranker, Propensities(found, method=f"together with {type(ranker).__name__}"))


def _fit(
    ranker: Ranker, log: ClickLog, propensities: Propensities, valid: ClickLog | None, callbacks: Sequence[Callback]
) -> Floats:
    """Train on unbiased data; returns the scores of the documents that the log has shown."""
    data = unbiased(log, propensities)
    ranker.fit(data, valid=None if valid is None else unbiased(valid, propensities), callbacks=callbacks)
    return ranker.predict(data)


def _check_metric(ranker: Ranker) -> None:
    """Labels from clicks are gains that add up: raise MetricError for metrics that use labels in another way."""
    metric = ranker.training_metric()
    if isinstance(metric, DiscountedGain) and metric.gain != "exp2":
        return
    k = "" if metric.k is None else f"@{metric.k}"
    why = "is of labels on a scale" if isinstance(metric, DiscountedGain) else "is no sum of gains"
    raise MetricError(
        f"labels from clicks are relevance itself, as a probability, but {metric} {why}: write "
        f"metric='dcg{k}(gain=linear)'."
    )
