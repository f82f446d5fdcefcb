"""A metric bound to a data set, where it says something."""

from __future__ import annotations

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.metrics.metric import BoundMetric, Metric


def bind_metric(metric: Metric, data: Dataset) -> BoundMetric:
    """The metric for scores that come query after query.

    >>> import swaprank as sr
    >>> from swaprank.metrics.binding import bind_metric
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> bind_metric(sr.metric("mrr"), data).mean([0.7, 0.5])
    0.5
    """
    docid = None if data.docid is None else data.by_query(data.docid)
    return metric.bind(data.by_query(data.labels), data.indptr, docid=docid)


def bind_to_data(metric: Metric, data: Dataset) -> BoundMetric:
    """The same, but refused if no order of any query is better than another.

    >>> import swaprank as sr
    >>> from swaprank.metrics.binding import bind_to_data
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> bind_to_data(sr.metric("mrr"), data).mean([0.5, 0.7])
    1.0
    """
    bound = bind_metric(metric, data)
    if bound.terms.is_empty.all():
        raise DataError(f"{metric} is the same for every order: no query has {metric.needs}.")
    return bound
