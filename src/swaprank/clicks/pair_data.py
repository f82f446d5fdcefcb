"""The documents of a click log as a data set: one row for each (query, document) pair."""

from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.clicks.click_log import ClickLog
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, did_you_mean


def pair_data(log: ClickLog, chosen: AnyArray, labels: Floats, query_weight: Any = None, pairs: Any = None) -> Dataset:
    """The chosen documents with their features and the given labels, in the order of the log's pairs.

    `pairs` are preferences between the rows of the result.
    """
    if log.features is None:
        raise DataError("this click log has no features: add them with log.join(data).")
    data = Dataset(
        log.features[chosen],
        labels,
        qid=log.qids[log.pair_query[chosen]],
        query_weight=query_weight,
        docid=log.pair_docid[chosen],
        pairs=pairs,
        feature_names=log.feature_names,
    )
    if not log.categories:
        return data
    # The features hold the numbers of categories already.
    restore, (state,) = data.__reduce__()
    categorized: Dataset = restore({**state, "categories": log.categories})
    return categorized


def feature_of_pairs(log: ClickLog, name: str) -> Floats:
    """One feature of every pair, as scores."""
    if log.features is None or name not in log.feature_names:
        raise DataError(f"the click log has no feature '{name}'; {did_you_mean(name, log.feature_names)}")
    return log.features[:, log.feature_names.index(name)].astype(np.float64)
