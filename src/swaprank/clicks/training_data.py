"""Training data from clicks: documents with unbiased estimates of their relevance, or with preferences of sessions."""

from typing import Any, Literal, get_args

import numpy as np

from swaprank.arrays import AnyArray, Bools, Floats, Ints
from swaprank.clicks.click_log import ClickLog
from swaprank.clicks.propensities import Propensities
from swaprank.clicks.relevance_estimates import Estimator, Shares, relevance_of_pairs, row_shares
from swaprank.data.dataset import Dataset
from swaprank.data.dense_features import DenseFeatures
from swaprank.errors import DataError
from swaprank.parameters import Bounds, check_parameter, check_word

Rule = Literal["skip_above", "last_click"]


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
        estimator: The estimate of relevance. "self_normalized": clicks over expected examinations. "ips": the mean of
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
    shown, labels = shown_relevance(log, row_shares(log, propensities, estimator, clip))
    sessions = np.bincount(log.query, minlength=log.n_queries)
    weights = sessions[sessions > 0] / sessions[sessions > 0].mean()
    return pair_data(log, shown, labels, weights)


def shown_relevance(log: ClickLog, shares: Shares) -> tuple[Ints, Floats]:
    """The documents that the log has shown, and their relevance as labels from 0 to 1."""
    relevance, chance = relevance_of_pairs(log, shares)
    shown = np.flatnonzero(chance > 0)
    return shown, np.clip(relevance[shown], 0.0, 1.0)


def preferences(log: ClickLog, rule: Rule = "skip_above", *, prior: float = 1.0) -> Dataset:
    """Training data for RankNet: who skips a document and clicks one below prefers the latter [Joachims2002].

    The data has the shown documents of each query, and pairs of them with probabilities.

    If a was preferred to b in n sessions, and b to a in m, then a ranks above b with probability
    (n + prior) / (n + m + 2 prior): more sessions, more certainty. All labels are 0, because nothing was judged.

    Only documents below others are ever preferred, because people see what is above. So these pairs need logs in which
    documents change places: if they never do, the pairs say to turn every list upside down.

    Args:
        log: The clicks, with features. A grade above 0 is a click.
        rule: "skip_above": a clicked document is preferred to all above it that were not clicked. "last_click": only
            the last clicked document of a session is.
        prior: Imaginary preferences in each direction, above 0.

    >>> import swaprank as sr
    >>> log = sr.clicks.ClickLog(
    ...     session=[1, 1, 2, 2, 3, 3], qid=[7] * 6, docid=["a", "b"] * 3, position=[1, 2] * 3,
    ...     click=[0, 1, 0, 1, 1, 0], X=[[5.0], [3.0]] * 3,
    ... )
    >>> sr.clicks.preferences(log).pairs  # b was clicked below a twice
    Pairs(above=array([1]), below=array([0]), probability=array([0.75]), weight=array([1.]))
    """
    check_word("rule", rule, get_args(Rule))
    check_parameter("prior", prior, Bounds(False, 0, np.inf, open_low=True))
    winner, loser = _sessions_preferences(log, _preferred_rows(log, rule))
    if len(winner) == 0:
        raise DataError("no session has a click below a document that was not clicked: there are no preferences.")
    above, below, probability = _probabilities(winner, loser, log.n_pairs, prior)
    shown = np.unique(log.document)
    row = np.full(log.n_pairs, -1, np.int64)
    row[shown] = np.arange(len(shown))
    pairs = np.column_stack((row[above], row[below], probability))
    return pair_data(log, shown, np.zeros(len(shown)), pairs=pairs)


def _preferred_rows(log: ClickLog, rule: Rule) -> Bools:
    """Rows of clicked documents that are preferred to others."""
    clicked = log.click > 0
    if rule == "last_click":
        rows = np.flatnonzero(clicked)
        last = np.append(log.session[rows][1:] != log.session[rows][:-1], True)
        clicked = np.zeros(log.n_rows, np.bool_)
        clicked[rows[last]] = True
    return clicked


def _sessions_preferences(log: ClickLog, preferred: Bools) -> tuple[Ints, Ints]:
    """The preferred and the skipped document of each preference, once for every session that has it."""
    skipped = log.click == 0
    winners, losers = [], []
    for distance in range(1, int(np.diff(log.indptr).max())):
        # Rows are sorted by position within a session: the row before is the next one above.
        same = log.session[distance:] == log.session[:-distance]
        upper = np.flatnonzero(same & preferred[distance:] & skipped[:-distance])
        winners.append(log.document[upper + distance])
        losers.append(log.document[upper])
    empty = np.empty(0, np.int64)
    return np.concatenate([empty, *winners]), np.concatenate([empty, *losers])


def _probabilities(winner: Ints, loser: Ints, n_documents: int, prior: float) -> tuple[Ints, Ints, Floats]:
    """Each pair of documents once, the likelier winner first."""
    low, high = np.minimum(winner, loser), np.maximum(winner, loser)
    keys, pair = np.unique(low * n_documents + high, return_inverse=True)
    wins = np.bincount(pair, winner == low, len(keys))
    probability = (wins + prior) / (np.bincount(pair, minlength=len(keys)) + 2 * prior)
    first, second = np.divmod(keys, n_documents)
    likelier = probability >= 0.5
    return (
        np.where(likelier, first, second),
        np.where(likelier, second, first),
        np.where(likelier, probability, 1.0 - probability),
    )


def pair_data(log: ClickLog, chosen: AnyArray, labels: Floats, query_weight: Any = None, pairs: Any = None) -> Dataset:
    """The chosen documents with their features and the given labels, in the order of the log's pairs.

    `pairs` are preferences between the rows of the result.
    """
    if log.features is None:
        raise DataError("this click log has no features: add them with log.join(data).")
    # The features hold the numbers of categories already.
    return Dataset(
        DenseFeatures(log.feature_names, log.categories, log.features[chosen]),
        labels,
        qid=log.qids[log.pair_query[chosen]],
        query_weight=query_weight,
        docid=log.pair_docid[chosen],
        pairs=pairs,
    )
