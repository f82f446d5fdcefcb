"""Score binned documents: their bins are decoded in blocks of rows, see data/binned_features.py.

This is exact if all thresholds of a model are cuts of the bins. Other models are refused.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from swaprank.arrays import AnyArray, Features, read_only, row_blocks
from swaprank.data.binned_features import BinnedFeatures
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.models.forest import Forest
from swaprank.models.model import Model
from swaprank.models.tree_walk import find_leaves
from swaprank.threads import thread_count

_DECODED_BYTES = 16 << 20


def by_rows(model: Model, data: Dataset, compute: Callable[[Features], AnyArray], n_threads: int | None) -> AnyArray:
    """What `compute` gives for the features of all rows, one entry per row; those of binned data block by block.

    >>> import swaprank as sr
    >>> from swaprank.models.binned_scoring import by_rows
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> model = sr.MART(n_trees=2).fit(data).model_
    >>> bool((by_rows(model, data.binned(), model.score, 1) == model.score(data.features)).all())
    True
    """
    bins = data.bins
    if bins is None or not isinstance(model, Forest):
        return compute(data.features)
    check_thresholds(model, bins, data.feature_names)
    every = np.arange(data.n_features)
    return _joined(bins, every, lambda X: compute(read_only(X)), n_threads)


def tree_leaves(tree: Forest, data: Dataset, n_threads: int | None) -> AnyArray:
    """The leaf of every document in a forest of one tree."""
    bins = data.bins
    if bins is None:
        return find_leaves(tree, data.features, n_threads)[:, 0]
    check_thresholds(tree, bins, data.feature_names)
    # Only the features of the tree are decoded.
    used, feature = np.unique(tree.feature, return_inverse=True)
    narrow = replace(tree, n_features=max(1, len(used)), feature=feature.astype(np.int32))
    used = used.astype(np.int64) if len(used) else np.zeros(1, np.int64)
    return _joined(bins, used, lambda X: find_leaves(narrow, X, n_threads)[:, 0], n_threads)


def check_thresholds(forest: Forest, bins: BinnedFeatures, names: tuple[str, ...]) -> None:
    """Raise DataError if a threshold is not a cut of the bins: values of one bin could go to both sides."""
    numeric = forest.n_words == 0
    feature, threshold = forest.feature[numeric], forest.threshold[numeric]
    # Trees separate missing from known values by the largest number.
    is_cut = threshold == np.finfo(np.float32).max
    for f in np.unique(feature):
        of_feature = feature == f
        is_cut[of_feature] |= np.isin(threshold[of_feature], bins.cuts.values[f])
    if not is_cut.all():
        node = int(np.argmin(is_cut))
        raise DataError(
            f"the data was binned with other cuts than the data that the model was trained on: the threshold "
            f"{threshold[node]:g} of feature '{names[feature[node]]}' is none of them. Bin it like the training data, "
            "sr.read(…, binned=train) or swaprank bin --like train.bins, or read it without binned."
        )


def _joined(
    bins: BinnedFeatures, features: AnyArray, compute: Callable[[Features], AnyArray], n_threads: int | None
) -> AnyArray:
    n_rows = bins.blocks.shape[1]
    size = max(1024, _DECODED_BYTES // (4 * len(features)))
    parts = [compute(bins.decoded(rows, features, thread_count(n_threads))) for rows in row_blocks(n_rows, size)]
    return np.concatenate(parts)
