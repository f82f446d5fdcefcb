"""The documents of a click log in the order of a ranking that was never shown."""

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.learning.training_data import pair_data
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.log_columns import rows_of_pairs
from swaprank.data.dataset import Dataset
from swaprank.data.document_places import query_keys
from swaprank.data.grouping import query_of_row
from swaprank.data.row_values import check_scores
from swaprank.errors import DataError, did_you_mean
from swaprank.metrics.ordering import seeded_tie_order


class RankedPairs(NamedTuple):
    """The documents of a log in a new order."""

    ranks: Ints
    """The new rank of each pair of the log, from 1."""
    list_lengths: Ints
    """The number of ranked documents of each query of the log."""


def ranked_pairs(log: ClickLog, ranking: Any, data: Dataset | None) -> RankedPairs:
    """The pairs of a log, ranked by a ranker or by scores. Ties are broken as by a shuffle."""
    predict = getattr(ranking, "predict", None)
    if data is None:
        everything = np.arange(log.n_pairs)
        scores = predict(pair_data(log, everything, np.zeros(log.n_pairs))) if predict else ranking
        indptr = np.array(log.pair_indptr)
        ranks = new_ranks(check_scores(scores, log.n_pairs), indptr, tie_order_of_pairs(log))
        return RankedPairs(ranks, np.diff(indptr))
    scores = check_scores(predict(data) if predict else ranking, len(data))
    ranks = new_ranks(data.by_query(scores), data.indptr, seeded_tie_order(data.places, 0))
    rows = rows_of_pairs(log.qids, log.pair_query, log.pair_docid, data)
    lengths = np.zeros(log.n_queries, np.int64)
    lengths[log.pair_query] = np.diff(data.indptr)[query_of_row(data.indptr, data.order)[rows]]
    return RankedPairs(data.as_given(ranks)[rows], lengths)


def tie_order_of_pairs(log: ClickLog) -> Ints:
    """Pairs grouped by query, as if shuffled: by hashes of their ids, so that the order of rows does not matter."""
    return np.lexsort((query_keys(log.pair_docid), log.pair_query))


def feature_of_pairs(log: ClickLog, name: str) -> Floats:
    """One feature of every pair, as scores."""
    if log.features is None or name not in log.feature_names:
        raise DataError(f"the click log has no feature '{name}'; {did_you_mean(name, log.feature_names)}")
    return log.features[:, log.feature_names.index(name)].astype(np.float64)


def new_ranks(scores: Floats, indptr: Ints, tie_order: Ints) -> Ints:
    """The rank from 1 of every document within its query, by falling score; ties are in the tie order.

    >>> import numpy as np
    >>> from swaprank.clicks.evaluation.ranked_pairs import new_ranks
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
