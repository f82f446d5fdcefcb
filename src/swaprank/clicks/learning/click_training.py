"""Train a ranker on clicks, with known position bias or with one that is learned along with the ranker."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.learning.correction_choice import correction_helps
from swaprank.clicks.learning.relevance_estimates import row_shares
from swaprank.clicks.learning.session_data import session_data
from swaprank.clicks.learning.training_bias import bias_for_training, bias_of_moves, warn_if_contradicted
from swaprank.clicks.learning.training_data import shown_relevance, unbiased
from swaprank.clicks.logs.click_counts import ClickCounts, count_log, sums
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.data.dataset import Dataset
from swaprank.errors import Hint, MetricError
from swaprank.metrics.cumulative import DiscountedGain
from swaprank.parameters import Bounds, check_parameter
from swaprank.rankers.rounds import Callback
from swaprank.rankers.training import TrainableRanker

_FEWEST_CLICKS = 100
"""Clicks per position that joint estimation takes: with fewer, it is guesswork."""
_SETTLED = 0.01
"""Joint estimation ends when no examination changes by more than this share."""
_N_BINS = 30
_MOST_STEPS = 200
_CONVERGED = 1e-4
_LEAST_VARIANCE = 1e-6
"""The least variance of relevance within a bin: without, documents would count as their bin, whatever their clicks."""


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

    ranker: TrainableRanker
    propensities: Propensities


def train(
    ranker: TrainableRanker,
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
        propensities: The position bias, as `position_bias` estimates it. If None, it is what documents that changed
            places say, shrunk toward no bias by its uncertainty; or none, if that is no clear gain on held-out queries
            (for which the ranker is trained six times, on two thirds of the queries). If no document tells, ranker and
            position bias are learned together: the ranker is trained, tells which documents should be similar, these
            tell the position bias, and so on. If there are few clicks in all, the ranker is trained on click rates.
            Trust bias is taken into account only if it is given. If every query was asked once, as where session and
            query are the same column, lists and labels are those of `session_data`.
        valid: Other sessions, best of other queries, for early stopping: an unbiased estimate of the ranker's metric.
        n_rounds: If ranker and position bias are learned together, the ranker is trained at most so many times. It ends
            when the bias has settled.
        callbacks: As for `fit`.

    >>> import swaprank as sr
    >>> (judged,) = sr.datasets.random_search(100, random_state=1)
    >>> log, truth = sr.datasets.clicks(judged, judged.column("match"), 20_000, n_shown=4, random_state=1)
    >>> trained = sr.clicks.train(sr.LambdaMART("dcg@10(gain=linear)", n_trees=30, n_leaves=7), log)
    >>> trained.propensities.examination.round(2).tolist(), truth.propensities.examination.round(2).tolist()
    ([1.0, 0.5, 0.34, 0.25], [1.0, 0.5, 0.33, 0.25])
    """
    check_linear_gains(ranker)
    check_parameter("n_rounds", n_rounds, Bounds(True, 1, 2**62))
    if propensities is not None:
        warn_if_contradicted(log, propensities)
        known = propensities
    else:
        moves = bias_of_moves(log)
        if moves is None and float(log.click.sum()) >= _FEWEST_CLICKS * log.max_position:
            known = _train_together(ranker, log, valid, int(n_rounds), callbacks)
            if _asked_again(log):
                return TrainedOnClicks(ranker, known)
        else:
            known = _best_known(ranker, log, moves, valid)
    watched = None if valid is None else _labeled(valid, known)
    ranker.fit(_labeled(log, known), valid=watched, callbacks=callbacks)
    return TrainedOnClicks(ranker, known)


def _asked_again(log: ClickLog) -> bool:
    """True if some query has several sessions."""
    return len(np.unique(log.query)) < log.n_sessions


def _labeled(log: ClickLog, known: Propensities) -> Dataset:
    """Labels averaged over the sessions of a query; or of single sessions, if every query was asked once.

    A single click over its propensity, cut off at 1, would be 1 at every place: without any correction.
    """
    return unbiased(log, known) if _asked_again(log) else session_data(log, known)


def _best_known(
    ranker: TrainableRanker, log: ClickLog, moves: Propensities | None, valid: ClickLog | None
) -> Propensities:
    if moves is None:
        return bias_for_training(log)
    if correction_helps(ranker, log, moves, valid):
        return moves
    return Propensities(np.ones(log.max_position), method="as none, because it was no clear gain on held-out queries")


def _train_together(
    ranker: TrainableRanker, log: ClickLog, valid: ClickLog | None, n_rounds: int, callbacks: Sequence[Callback]
) -> Propensities:
    """Train the ranker, and return the position bias that it was trained with."""
    first = Propensities(np.ones(log.max_position))
    data, watched = unbiased(log, first), None if valid is None else unbiased(valid, first)
    counts, _ = count_log(log, log.max_position)
    squares = sums(log.document, log.click**2, log.n_pairs)[counts.unit]
    values, data = data, _in_bins(data, ranker)
    found = first.examination
    for number in range(n_rounds):
        ranker.fit(data, valid=watched, callbacks=callbacks)
        before, found = found, bias_given_scores(counts, squares, ranker.predict(values), found)
        if number > 0 and float(np.max(np.abs(found / before - 1.0))) < _SETTLED:
            break
        # Only the labels change.
        data = _relabeled(data, log, found)
        watched = None if valid is None or watched is None else _relabeled(watched, valid, found)
    return Propensities(found, method=f"together with {type(ranker).__name__}")


def _in_bins(data: Dataset, ranker: TrainableRanker) -> Dataset:
    """The data with bins if the ranker makes bins of values, so that it need not in every round.

    The trees of a base ranker have cuts of their own, which bins cannot be compared with.
    """
    ranker.check_parameters()
    max_bins = ranker.get_params(deep=False).get("max_bins")
    if max_bins is None or ranker.base_ranker is not None:
        return data
    return data.binned(max_bins=max_bins, n_threads=ranker.n_threads)


def _relabeled(data: Dataset, log: ClickLog, examination: Floats) -> Dataset:
    """The data of `unbiased` with the labels of another position bias."""
    return data.replace(labels=shown_relevance(log, row_shares(log, Propensities(examination)))[1])


def check_linear_gains(ranker: TrainableRanker) -> None:
    """Labels from clicks are gains that add up: raise MetricError for metrics that use labels in another way."""
    metric = ranker.training_metric()
    if isinstance(metric, DiscountedGain) and metric.gain != "exp2":
        return
    k = "" if metric.k is None else f"@{metric.k}"
    why = "is of labels on a scale" if isinstance(metric, DiscountedGain) else "is no sum of gains"
    raise MetricError(
        f"labels from clicks are relevance itself, as a probability, but {metric} {why}: write ",
        Hint("metric", f"dcg{k}(gain=linear)"),
        ".",
    )


def bias_given_scores(counts: ClickCounts, squares: Floats, scores: Floats, start: Floats) -> Floats:
    """The examination of each position, relative to position 1, given a ranker's scores.

    Documents of similar score are expected to be of similar relevance, and a document's own clicks tell how far it is
    off. Clicks on document d at position k have the mean n_dk theta_k gamma_d. Its relevance gamma_d varies around the
    mean mu_b of the documents in the same bin of scores, with the same variance tau² everywhere. Until convergence:

        mu_b    = clicks / expected examinations of the documents in the bin
        gamma_d = (clicks_d + m mu_b) / (examinations_d + m),  m = (mean of gamma) / tau²        best linear estimate
        theta_k = clicks at k / sum_d n_dk gamma_d

    Where documents change places, each of them counts with its own clicks, as in harvesting.py. Where none does,
    relevance comes from the scores, as in regression-EM [Wang2018].

    Args:
        counts: Counts of each document at each position.
        squares: The sum of the squared clicks of each document.
        scores: The score of each document.
        start: The examination to start from.
    """
    unit, n_units, n_positions, theta = counts.unit_of_cell, len(scores), len(start), start
    bins = _bins(scores, sums(unit, counts.shown, n_units))
    was_shown = sums(counts.position, counts.shown, n_positions) > 0
    first = int(np.argmax(was_shown))
    clicks, at_position = sums(unit, counts.clicks, n_units), sums(counts.position, counts.clicks, n_positions)
    for _ in range(_MOST_STEPS):
        chance = theta[counts.position]
        examined = sums(unit, counts.shown * chance, n_units)
        means = sums(bins, clicks, _N_BINS) / np.maximum(sums(bins, examined, _N_BINS), 1e-300)
        # Products of different clicks on the same document have the mean theta theta gamma².
        products = examined**2 - sums(unit, counts.shown * chance**2, n_units)
        beyond = np.sum(clicks**2 - squares) - np.sum(means[bins] ** 2 * products)
        variance = max(float(beyond / max(float(np.sum(products)), 1e-300)), _LEAST_VARIANCE)
        strength = float(np.sum(clicks) / np.sum(examined)) / variance
        relevance = (clicks + strength * means[bins]) / (examined + strength)
        found = at_position / np.maximum(sums(counts.position, counts.shown * relevance[unit], n_positions), 1e-300)
        # A position without a click would have an examination of 0, by which nothing can be divided.
        found = np.where(was_shown, np.maximum(found / found[first], 1e-6), 1.0)
        change = float(np.max(np.abs(found / theta - 1.0)))
        theta = found
        if change < _CONVERGED:
            break
    return theta


def _bins(scores: Floats, shown: Floats) -> Ints:
    """Bins of rising score, each with about the same number of shown documents."""
    order = np.argsort(scores, kind="stable")
    middle = np.cumsum(shown[order]) - shown[order] / 2
    bins = np.empty(len(scores), np.int64)
    bins[order] = np.minimum(middle / max(float(np.sum(shown)), 1.0) * _N_BINS, _N_BINS - 1)
    return bins
