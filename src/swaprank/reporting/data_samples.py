"""Samples of large data."""

import numpy as np

from swaprank.arrays import Ints
from swaprank.data.categories import CodedFeatures
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import query_of_row

SEED = 0


def query_sample(data: Dataset, n_documents: int) -> Dataset:
    """A random sample of whole queries with about this many documents, or all data if it is not larger.

    >>> import swaprank as sr
    >>> from swaprank.reporting.data_samples import query_sample
    >>> (data,) = sr.datasets.random_net((50,), n_features=2, n_documents=10, random_state=0)
    >>> query_sample(data, 100).n_queries
    10
    """
    if len(data) <= n_documents:
        return data
    drawn = np.random.default_rng(SEED).permutation(data.n_queries)
    n_taken = int(np.searchsorted(np.cumsum(np.diff(data.indptr)[drawn]), n_documents)) + 1
    part = data.subset(np.sort(drawn[:n_taken]))
    return part if len(part) <= 2 * n_documents else _thinned(part, n_documents)


def row_sample(n_rows: int, most: int) -> Ints:
    """At most `most` random rows, in ascending order.

    >>> from swaprank.reporting.data_samples import row_sample
    >>> len(row_sample(100, 7)), len(row_sample(5, 7))
    (7, 5)
    """
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(SEED).choice(n_rows, most, replace=False))


def _thinned(data: Dataset, n_documents: int) -> Dataset:
    """A random sample of rows, for data whose single lists are longer than the sample."""
    rows = row_sample(len(data), n_documents)
    names = data.feature_names
    coded = {at: data.categories[name] for at, name in enumerate(names) if name in data.categories}
    return Dataset(
        CodedFeatures(data.features[rows], names, coded),
        data.labels[rows],
        qid=query_of_row(data.indptr, data.order)[rows],
        docid=None if data.docid is None else data.docid[rows],
        base_score=None if data.base_score is None else data.base_score[rows],
    )
