"""Baselines of a report: another ranker, or a single feature."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, did_you_mean
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import Metric
from swaprank.reporting.data_samples import query_sample

_MOST_VALUES = 4_000_000
"""Upper limit of feature values that are read to find the best feature."""


class Baseline(NamedTuple):
    """A name and one score per row.

    >>> import numpy as np
    >>> from swaprank.reporting.baseline import Baseline
    >>> Baseline("feature 3", np.array([0.1])).name
    'feature 3'
    """

    name: str
    scores: Floats


def feature_baseline(data: Dataset, feature: str) -> Baseline:
    """Rank by one feature, largest first, or smallest first if its name begins with a minus.

    >>> import swaprank as sr
    >>> from swaprank.reporting.baseline import feature_baseline
    >>> data = sr.Dataset([[3.0], [float("nan")]], [0, 1], qid=[1, 1], feature_names=["price"])
    >>> feature_baseline(data, "-price")
    Baseline(name='feature price, smallest first', scores=array([-3., -4.]))
    """
    for name in (feature, feature.removeprefix("-")):
        if name in data.categories:
            raise DataError(f"the feature '{name}' is categorical: its values have no order to rank by.")
    if feature in data.feature_names:
        return Baseline(f"feature {feature}", feature_scores(data, data.feature_names.index(feature), 1))
    if feature.startswith("-") and feature[1:] in data.feature_names:
        at = data.feature_names.index(feature[1:])
        return Baseline(f"feature {feature[1:]}, smallest first", feature_scores(data, at, -1))
    raise DataError(f"there is no feature '{feature}'; {did_you_mean(feature, data.feature_names)}")


def best_feature(data: Dataset, metric: Metric) -> Baseline:
    """The single feature, ascending or descending, with the best metric on the data, or on a sample of large data.

    If all features are categorical, none can rank, and all documents are tied.

    >>> import swaprank as sr
    >>> from swaprank.reporting.baseline import best_feature
    >>> data = sr.Dataset([[1, 9], [1, 3], [1, 4]], [0, 2, 1], qid=[1, 1, 1], feature_names=["age", "price"])
    >>> best_feature(data, sr.metric("ndcg")).name
    'feature price, smallest first'
    """
    part = query_sample(data, max(1000, _MOST_VALUES // data.n_features))
    bound = bind_metric(metric, part)
    numeric = [name for name in data.feature_names if name not in data.categories]
    if not numeric:
        return Baseline("all documents tied", np.zeros(len(data)))
    best, best_value = numeric[0], -np.inf
    for name in numeric:
        feature = data.feature_names.index(name)
        for sign, signed in ((1, name), (-1, f"-{name}")):
            value = bound.mean(part.by_query(feature_scores(part, feature, sign)))
            if value > best_value + 1e-12:
                best, best_value = signed, value
    return feature_baseline(data, best)


def feature_scores(data: Dataset, feature: int, sign: int) -> Floats:
    """A feature as scores; missing values come last.

    >>> import swaprank as sr
    >>> from swaprank.reporting.baseline import feature_scores
    >>> feature_scores(sr.Dataset([[1.0], [float("nan")]], [0, 1], qid=[1, 1]), 0, 1).tolist()
    [1.0, 0.0]
    """
    scores = sign * data.column(feature).astype(np.float64)
    missing = np.isnan(scores)
    if missing.any():
        scores[missing] = (np.nanmin(scores) if not missing.all() else 0.0) - 1.0
    return scores
