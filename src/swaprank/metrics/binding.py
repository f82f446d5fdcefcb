"""Bind a metric to a data set."""

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.metrics.metric import BoundMetric, Metric


def bind_metric(metric: Metric, data: Dataset, *, refuse_constant: bool = False) -> BoundMetric:
    """Bind a metric to a data set, to measure scores that are grouped by query.

    With `refuse_constant`, raises DataError if the metric is the same for every order of the documents.

    >>> import swaprank as sr
    >>> from swaprank.metrics.binding import bind_metric
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> bind_metric(sr.metric("mrr"), data).mean([0.7, 0.5])
    0.5
    """
    docid = None if data.docid is None else data.by_query(data.docid)
    bound = metric.bind(data.by_query(data.labels), data.indptr, docid=docid)
    if refuse_constant and bound.terms.is_empty.all():
        raise DataError(f"{metric} is the same for every order: no query has {metric.needs}.")
    return bound
