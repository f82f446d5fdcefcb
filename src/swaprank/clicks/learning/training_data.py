"""Training data from clicks: documents with unbiased estimates of their relevance."""

from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.learning.counted_data import counted_data
from swaprank.clicks.learning.relevance_estimates import Estimator, Shares, relevance_of_pairs, row_shares
from swaprank.clicks.learning.training_bias import bias_for_training
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.log_counts import LogCounts
from swaprank.data.dataset import Dataset
from swaprank.data.dense_features import DenseFeatures
from swaprank.errors import DataError, ParameterError, Wording


def unbiased(
    log: ClickLog | LogCounts,
    propensities: Propensities | None = None,
    *,
    data: Dataset | None = None,
    estimator: Estimator = "self_normalized",
    clip: float = 0.0,
) -> Dataset:
    """Training data from clicks: each document of each query once, its label an estimate of its relevance.

    DCG and its relatives are sums over documents, and swap gains are linear in the gains. So with labels that are
    right on average, a ranker follows the gradient of the true metric on average, as if the documents had been judged.
    This holds for metrics that add up gains: train for "dcg@10(gain=linear)". It does not hold for MAP, MRR and ERR;
    they take labels as yes or no, or multiply them. Queries weigh as much as they have sessions.

    Args:
        log: The clicks, with features; or counts of them, with `data`.
        propensities: The position bias: estimated by `position_bias`, or known. The default is what documents that
            changed places say, shrunk toward no bias by its uncertainty; if they say next to nothing, labels are click
            rates.
        data: For counts: the features, with document ids. Documents that it lacks are left out, with a warning.
        estimator: The estimate of relevance. "self_normalized": clicks over expected examinations. "ips": the mean of
            inverse propensity scores, which varies more.
        clip: For "ips": divide by a propensity of at least this.

    Returns:
        Data with labels from 0 to 1: relevance is a probability, so estimates beyond are cut off. This is what keeps
        the noise of documents small that were seldom shown. If every query was asked once, a label is a single click,
        which the cut leaves as it was, without any correction: use `session_data`, as `train` does.

    >>> import swaprank as sr
    >>> log = sr.clicks.ClickLog(
    ...     session=[1, 1, 2, 2], qid=[7] * 4, docid=["a", "b", "a", "b"], position=[1, 2, 1, 2], click=[1, 1, 0, 0],
    ...     X=[[5.0], [3.0], [5.0], [3.0]],
    ... )
    >>> data = sr.clicks.unbiased(log, sr.clicks.Propensities([1.0, 0.5]))
    >>> data.docid.tolist(), data.labels.tolist()  # one click in 2 examinations of a, and in 1 of b
    (['a', 'b'], [0.5, 1.0])
    """
    if not (log.clicks if isinstance(log, LogCounts) else log.click).any():
        raise DataError("no document was clicked: there is nothing to learn from.")
    known = bias_for_training(log) if propensities is None else propensities
    if isinstance(log, LogCounts):
        return counted_data(log, known, data, estimator, clip)
    if data is not None:
        raise ParameterError("data is for counts", Wording(": give a log its features with log.join(data).", "."))
    shown, labels = shown_relevance(log, row_shares(log, known, estimator, clip))
    sessions = np.bincount(log.query, minlength=log.n_queries)
    weights = sessions[sessions > 0] / sessions[sessions > 0].mean()
    return pair_data(log, shown, labels, weights)


def shown_relevance(log: ClickLog, shares: Shares) -> tuple[Ints, Floats]:
    """The documents that the log has shown, and their relevance as labels from 0 to 1."""
    relevance, chance = relevance_of_pairs(log, shares)
    shown = np.flatnonzero(chance > 0)
    return shown, np.clip(relevance[shown], 0.0, 1.0)


def pair_data(log: ClickLog, chosen: AnyArray, labels: Floats, query_weight: Any = None, pairs: Any = None) -> Dataset:
    """The chosen documents with their features and the given labels, in the order of the log's pairs.

    `pairs` are preferences between the rows of the result.
    """
    # The features hold the numbers of categories already.
    return Dataset(
        DenseFeatures(log.feature_names, log.categories, features_of(log)[chosen]),
        labels,
        qid=log.qids[log.pair_query[chosen]],
        query_weight=query_weight,
        docid=log.pair_docid[chosen],
        pairs=pairs,
    )


def features_of(log: ClickLog) -> Features:
    """The features of each pair; raises DataError without."""
    if log.features is None:
        raise DataError(
            "this click log has no features: ",
            Wording("add them with log.join(data).", "name their columns with --features, or give --documents."),
        )
    return log.features
