"""The same model for the columns of a larger feature matrix, and for other codes of the same categories."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from swaprank.arrays import AnyArray, Bools, Features
from swaprank.data.categories import looked_up
from swaprank.models.category_sets import WORD_CATEGORIES
from swaprank.models.forest import Forest


def spread_columns(array: AnyArray, columns: AnyArray, n_features: int) -> AnyArray:
    """The last axis, one entry per feature of a model, as one entry per column; 0 for other columns.

    >>> import numpy as np
    >>> from swaprank.exchange.other_columns import spread_columns
    >>> spread_columns(np.array([0.5, 2.0]), np.array([2, 0]), 4).tolist()
    [2.0, 0.0, 0.5, 0.0]
    """
    wide = np.zeros((*array.shape[:-1], n_features), array.dtype)
    wide[..., columns] = array
    return wide


def forest_on_columns(forest: Forest, columns: AnyArray, n_features: int, codes: Mapping[int, Features]) -> Forest:
    """A forest whose features are columns of a larger matrix.

    Args:
        forest: The forest on its own features.
        columns: The column of each feature.
        n_features: The number of columns.
        codes: By feature: the forest's code of each code in the column, NaN if it does not have the category.
    """
    n_words, words = [], []
    stops = np.cumsum(forest.n_words, dtype=np.int64)
    for node in np.flatnonzero(forest.n_words):
        own = forest.words[stops[node] - forest.n_words[node] : stops[node]]
        feature = int(forest.feature[node])
        if feature in codes:
            own = _recoded_set(own, codes[feature], bool(forest.missing_left[node]))
        n_words.append(len(own))
        words.append(own)
    moved = replace(forest, n_features=n_features, feature=columns[forest.feature].astype(np.int32))
    if not words:
        return moved
    lengths = np.zeros_like(forest.n_words)
    lengths[forest.n_words > 0] = n_words
    return replace(moved, n_words=lengths, words=np.concatenate(words))


def _recoded_set(words: AnyArray, codes: Features, missing_left: bool) -> AnyArray:
    """The set for the codes of the column; those without a code of the forest go where missing values go."""
    members = set_members(words)
    n_padded = -len(codes) % WORD_CATEGORIES
    inner = looked_up(np.arange(len(codes), dtype=np.float32), codes)
    known = inner < len(members)  # False for NaN
    goes_left = np.full(len(codes) + n_padded, missing_left)
    goes_left[: len(codes)][known] = members[inner[known].astype(np.int64)]
    return set_words(goes_left)


def set_members(words: AnyArray) -> Bools:
    """Whether each category is in a set.

    >>> import numpy as np
    >>> from swaprank.exchange.other_columns import set_members
    >>> np.flatnonzero(set_members(np.array([0b101, 1], np.uint32))).tolist()
    [0, 2, 32]
    """
    return np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little").astype(np.bool_)


def set_words(members: Bools) -> AnyArray:
    """The words of a set; the inverse of `set_members`. The number of categories is rounded up to a whole word.

    >>> import numpy as np
    >>> from swaprank.exchange.other_columns import set_words
    >>> set_words(np.array([True, False, True])).tolist()
    [5]
    """
    padded = np.pad(members, (0, -len(members) % WORD_CATEGORIES))
    return np.packbits(padded, bitorder="little").view("<u4").astype(np.uint32)
