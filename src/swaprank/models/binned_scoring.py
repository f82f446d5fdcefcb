"""Score binned documents: their bins are decoded in blocks of rows, see data/binned_features.py.

This is exact if all thresholds of a model are cuts of the bins. Other models are refused.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from swaprank.arrays import AnyArray, Features
from swaprank.data.dataset import Dataset
from swaprank.models.forest import Forest
from swaprank.models.model import Model
from swaprank.models.tree_walk import find_leaves


def by_rows(model: Model, data: Dataset, compute: Callable[[Features], AnyArray], n_threads: int | None) -> AnyArray:
    """What `compute` gives for the features of all rows, one entry per row; those of binned data block by block.

    >>> import swaprank as sr
    >>> from swaprank.models.binned_scoring import by_rows
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> model = sr.MART(n_trees=2).fit(data).model_
    >>> bool((by_rows(model, data.binned(), model.score, 1) == model.score(data.features)).all())
    True
    """
    if not isinstance(model, Forest):
        return compute(data.features)
    data.stored.check_thresholds(model.feature, model.threshold, model.n_words)
    return data.stored.map_rows(compute, n_threads)


def tree_leaves(tree: Forest, data: Dataset, n_threads: int | None) -> AnyArray:
    """The leaf of every document in a forest of one tree."""
    data.stored.check_thresholds(tree.feature, tree.threshold, tree.n_words)
    used = data.stored.decoded_features(tree.feature)
    narrow = replace(tree, n_features=len(used), feature=np.searchsorted(used, tree.feature).astype(np.int32))
    return data.stored.map_rows(lambda X: find_leaves(narrow, X, n_threads)[:, 0], n_threads, used)
