"""Every label list over a small alphabet, as arrays that a metric measures in one call."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from swaprank.arrays import Floats, Ints

Lists = list[tuple[float, ...]]


def all_lists(alphabet: Iterable[float], longest: int) -> Lists:
    letters = tuple(alphabet)
    return [labels for n in range(1, longest + 1) for labels in product(letters, repeat=n)]


def flatten(lists: Iterable[tuple[float, ...]]) -> tuple[Floats, Floats, Ints]:
    """Labels, scores that keep each list in its order, and indptr."""
    lists = list(lists)
    indptr = np.concatenate(([0], np.cumsum([len(x) for x in lists]))).astype(np.int64)
    labels = np.array([label for x in lists for label in x], dtype=np.float64)
    scores = -np.arange(len(labels), dtype=np.float64)
    return labels, scores, indptr
