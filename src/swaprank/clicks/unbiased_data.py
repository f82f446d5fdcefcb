"""From clicks to training data: the unbiased relevance of each document as its label."""

import numpy as np

from swaprank.clicks.click_log import ClickLog
from swaprank.clicks.pair_data import pair_data
from swaprank.clicks.propensities import Propensities
from swaprank.clicks.relevance_estimates import Estimator, relevance_of_pairs, row_shares
from swaprank.data.dataset import Dataset


def unbiased(
    log: ClickLog, propensities: Propensities, *, estimator: Estimator = "self_normalized", clip: float = 0.0
) -> Dataset:
    """Training data from clicks: each document of each query once, its label an estimate of its relevance.

    DCG and its relatives are sums over documents, and swap gains are linear in the gains. So with labels that are
    right on average, a ranker follows the gradient of the true metric on average, as if the documents had been judged.
    This holds for metrics that add up gains: train for "dcg@10(gain=linear)". It does not hold for MAP, MRR and ERR;
    they take labels as yes or no, or multiply them. Queries weigh as much as they have sessions.

    Args:
        log: The clicks, with features.
        propensities: The position bias: estimated by `position_bias`, or known.
        estimator: How relevance is estimated. "self_normalized": clicks over expected examinations. "ips": the mean of
            inverse propensity scores, which varies more.
        clip: For "ips": divide by a propensity of at least this.

    Returns:
        Data with labels from 0 to 1: relevance is a probability, so estimates beyond are cut off. This is what keeps
        the noise of documents small that were seldom shown.

    >>> import swaprank as sr
    >>> log = sr.clicks.ClickLog(
    ...     session=[1, 1, 2, 2], qid=[7] * 4, docid=["a", "b", "a", "b"], position=[1, 2, 1, 2], click=[1, 1, 0, 0],
    ...     X=[[5.0], [3.0], [5.0], [3.0]],
    ... )
    >>> data = sr.clicks.unbiased(log, sr.clicks.Propensities([1.0, 0.5]))
    >>> data.docid.tolist(), data.labels.tolist()  # one click in 2 examinations of a, and in 1 of b
    (['a', 'b'], [0.5, 1.0])
    """
    relevance, chance = relevance_of_pairs(log, row_shares(log, propensities, estimator, clip))
    shown = np.flatnonzero(chance > 0)
    sessions = np.bincount(log.query, minlength=log.n_queries)
    weights = sessions[sessions > 0] / sessions[sessions > 0].mean()
    return pair_data(log, shown, np.clip(relevance[shown], 0.0, 1.0), weights)
