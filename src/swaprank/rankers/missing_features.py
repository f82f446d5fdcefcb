"""Which features a ranker has seen with missing values: what it learned of them matters to targets that have none."""

from collections.abc import Sequence

import numpy as np

from swaprank.arrays import Bools, row_blocks
from swaprank.collective import ALONE, Collective
from swaprank.data.dataset import Dataset

_BLOCK_ROWS = 8192


def missing_features(
    data: Dataset, known_before: Sequence[Sequence[str] | None], collective: Collective = ALONE
) -> tuple[str, ...] | None:
    """The features with missing values in the data of all workers, or of rankers which are part of the model.

    None if one of these rankers does not know its own.

    >>> import swaprank as sr
    >>> from swaprank.rankers.missing_features import missing_features
    >>> data = sr.Dataset([[1, None], [2, 5]], [0, 1], qid=[1, 1], feature_names=["age", "price"])
    >>> missing_features(data, []), missing_features(data, [["age"]]), missing_features(data, [None])
    (('price',), ('age', 'price'), None)
    """
    n_workers = _has_missing(data).astype(np.int64)
    collective.add(n_workers)
    known = {name for name, missing in zip(data.feature_names, n_workers, strict=True) if missing}
    for others in known_before:
        if others is None:
            return None
        known.update(others)
    return tuple(name for name in data.feature_names if name in known)


def _has_missing(data: Dataset) -> Bools:
    if data.bins is not None:
        found: Bools = data.bins.has_missing > 0
        # Codes of other data's categories may have become missing values.
        found[data.bins.categorical] |= np.isnan(data.bins.codes).any(axis=1)
        return found
    has_missing = np.zeros(data.n_features, np.bool_)
    for block in row_blocks(len(data), _BLOCK_ROWS):
        has_missing |= np.isnan(data.features[block]).any(axis=0)
    return has_missing
