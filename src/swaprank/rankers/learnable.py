"""Whether there is anything to learn: queries whose documents have different labels, or given pairs."""

import numpy as np

from swaprank.collective import ALONE, Collective, total
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, LabelWarning, warn_user

_FEW = 0.25
"""A smaller share of queries to learn from is worth a warning."""


def n_learnable(data: Dataset) -> int:
    """The number of queries whose documents have different labels.

    >>> import swaprank as sr
    >>> from swaprank.rankers.learnable import n_learnable
    >>> n_learnable(sr.Dataset([[1], [2], [3], [4]], [0, 1, 1, 1], qid=[1, 1, 2, 2]))
    1
    """
    labels = data.by_query(data.labels)
    starts = data.indptr[:-1]
    return int((np.maximum.reduceat(labels, starts) > np.minimum.reduceat(labels, starts)).sum()) if len(labels) else 0


def check_learnable(data: Dataset, collective: Collective = ALONE) -> None:
    """Raise DataError if no query has documents with different labels; warn if few have. Given pairs are enough."""
    if total(collective, int(data.pairs is not None)) > 0:
        return
    n_queries, n_found = total(collective, data.n_queries), total(collective, n_learnable(data))
    if n_found == 0:
        raise DataError(
            f"there is nothing to learn from: none of the {n_queries:,} queries has documents with different labels. "
            "Check the labels, and that rows of the same query have the same query id."
        )
    if n_found < _FEW * n_queries and collective.rank == 0:
        warn_user(
            LabelWarning(
                f"only {n_found:,} of {n_queries:,} queries have documents with different labels: nothing is learned "
                "from the others. Check the labels, and that rows of the same query have the same query id."
            )
        )
