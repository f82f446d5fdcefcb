"""The documents of a click log as a data set: one row for each (query, document) pair."""

from __future__ import annotations

from typing import Any

from swaprank.arrays import AnyArray, Floats
from swaprank.clicks.click_log import ClickLog
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError


def pair_data(log: ClickLog, pairs: AnyArray, labels: Floats, query_weight: Any = None) -> Dataset:
    """The chosen pairs with their features and the given labels, in the order of the log's pairs."""
    if log.features is None:
        raise DataError("this click log has no features: add them with log.join(data).")
    data = Dataset(
        log.features[pairs],
        labels,
        qid=log.qids[log.pair_query[pairs]],
        query_weight=query_weight,
        docid=log.pair_docid[pairs],
        feature_names=log.feature_names,
    )
    if not log.categories:
        return data
    # The features hold the numbers of categories already.
    restore, (state,) = data.__reduce__()
    categorized: Dataset = restore({**state, "categories": log.categories})
    return categorized
