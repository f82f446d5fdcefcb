"""Whether there is anything to learn from: different labels, in queries whose order matters, or given pairs."""

from collections.abc import Mapping

import numpy as np

from swaprank.arrays import Bools
from swaprank.collective import ALONE, Collective, allgather, total
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, LabelWarning, warn_user
from swaprank.metrics.grades import warn_if_no_grades
from swaprank.metrics.metric import Metric, bind_metric
from swaprank.rankers.learned import Needs

_FEW = 0.25
"""A smaller share of queries to learn from is worth a warning."""
_CHECK = "Check the labels, and that rows of the same query have the same query id."


def learnable_queries(data: Dataset) -> Bools:
    """For each query, whether its documents have different labels.

    >>> import swaprank as sr
    >>> from swaprank.rankers.learnable import learnable_queries
    >>> learnable_queries(sr.Dataset([[1], [2], [3], [4]], [0, 1, 1, 1], qid=[1, 1, 2, 2])).tolist()
    [True, False]
    """
    labels, starts = data.by_query(data.labels), data.indptr[:-1]
    found: Bools = np.maximum.reduceat(labels, starts) > np.minimum.reduceat(labels, starts)
    return found


def check_learnable(data: Dataset, needs: Needs, metric: Metric | None, collective: Collective = ALONE) -> None:
    """Raise DataError if there is nothing to learn from; warn if few queries have anything.

    Args:
        data: The training data, or one worker's shard of it.
        needs: What there must be; see `Capabilities`.
        metric: The metric that is optimized, or None.
        collective: The workers that train together.

    >>> import swaprank as sr
    >>> from swaprank.rankers.learnable import check_learnable
    >>> data = sr.Dataset([[1.0], [2.0]], [1, 0], qid=[1, 2])
    >>> check_learnable(data, "labels", None)
    >>> check_learnable(data, "order", None)
    Traceback (most recent call last):
        ...
    swaprank.errors.DataError: there is nothing to learn from: none of the 2 queries has documents with different ...
    """
    if needs == "nothing":
        return
    if needs == "labels":
        _check_labels(data, collective)
        return
    found = learnable_queries(data)
    n_queries, n_found = total(collective, data.n_queries), total(collective, int(found.sum()))
    what = "documents with different labels"
    if n_found == 0:
        queries = "the only query does not have" if n_queries == 1 else f"none of the {n_queries:,} queries has"
        raise DataError(f"there is nothing to learn from: {queries} {what}. {_CHECK}")
    if metric is not None:
        counts = ~bind_metric(metric, data).terms.is_empty
        n_found, what = total(collective, int((found & counts).sum())), f"documents that {metric} tells apart"
        if n_found == 0:
            raise DataError(f"{metric} is the same for every order: no query has {metric.needs}.")
    has = "has" if n_found == 1 else "have"
    if n_found < _FEW * n_queries and collective.rank == 0:
        warn_user(
            LabelWarning(f"only {n_found:,} of {n_queries:,} queries {has} {what}: the others teach nothing. {_CHECK}")
        )


def _check_labels(data: Dataset, collective: Collective) -> None:
    """Raise DataError if all labels are the same."""
    ends = allgather(collective, np.array([data.labels.min(), data.labels.max()]))
    n_documents = total(collective, len(data))
    if ends.min() == ends.max():
        labels = "the only label is" if n_documents == 1 else f"all {n_documents:,} labels are"
        raise DataError(f"there is nothing to learn from: {labels} {ends.min():g}. Check the labels.")


def check_grades(data: Dataset, valid: Mapping[str, Dataset], metrics: list[Metric], optimized: Metric | None) -> None:
    """Warn once if labels are no grades, but the metric that is optimized or measured takes them for grades."""
    if optimized is not None and warn_if_no_grades([optimized], data.labels):
        return
    any(warn_if_no_grades(metrics, other.labels) for other in valid.values())
