"""Training data from counts of clicks, with features of a data set."""

import numpy as np

from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.logs.click_counts import sums
from swaprank.clicks.logs.log_columns import rows_of_pairs
from swaprank.clicks.logs.log_counts import LogCounts
from swaprank.data.dataset import Dataset
from swaprank.data.dense_features import DenseFeatures
from swaprank.errors import DataError, Hint, ParameterError, SwaprankWarning, warn_user


def counted_data(
    counts: LogCounts, propensities: Propensities, data: Dataset | None, estimator: str, clip: float
) -> Dataset:
    """Each document with the label clicks over expected examinations, cut to 0 to 1, as for a log."""
    if data is None:
        raise DataError(
            "counts have no features: give a data set with them, and with document ids: ", Hint("data", ...), "."
        )
    if estimator != "self_normalized" or clip:
        raise ParameterError(
            "counts have estimates with ", Hint("estimator", "self_normalized"), " and without ", Hint("clip"), " only."
        )
    alpha, beta = propensities.of_rows(counts)
    clicks = sums(counts.document, counts.clicks - counts.shown * beta, counts.n_pairs)
    examined = sums(counts.document, counts.shown * alpha, counts.n_pairs)
    rows = rows_of_pairs(counts.qids, counts.pair_query, counts.pair_docid, data, may_lack=True)
    kept = np.flatnonzero((rows >= 0) & (examined > 0))
    lacks = np.count_nonzero(rows < 0)
    if lacks:
        warn_user(SwaprankWarning(f"the data set lacks {lacks:,} of the {counts.n_pairs:,} documents: left out."))
    sessions = counts.sessions[np.unique(counts.pair_query[kept])]
    return Dataset(
        DenseFeatures(data.feature_names, data.categories, data.features[rows[kept]]),
        np.clip(clicks[kept] / examined[kept], 0.0, 1.0),
        qid=counts.qids[counts.pair_query[kept]],
        query_weight=sessions / sessions.mean(),
        docid=counts.pair_docid[kept],
    )
