"""What is chosen by the size of the data if the user does not say.

The fewer documents, the more regularization; the more documents, the smaller the share of them that splits are found
on. All of it changes gradually.
"""

from __future__ import annotations

import math

_ALL_UP_TO = 60_000
_SCARCE_UP_TO = 50_000
_SMOOTHING_IF_SCARCE, _SMOOTHING_SHARE, _NOISE_IF_SCARCE = 800.0, 15.0, 0.5


def default_document_fraction(n_documents: int) -> float:
    """1 up to 60,000 documents; beyond, the sample grows with the square root of their number.

    The best split of a leaf is found from a sample of its documents as long as the sample is large, whatever share it
    is of all documents.

    >>> from swaprank.trees.data_size import default_document_fraction
    >>> [default_document_fraction(n) for n in (10_000, 100_000, 1_000_000, 10_000_000)]
    [1.0, 0.775, 0.245, 0.077]
    """
    return min(1.0, round(math.sqrt(_ALL_UP_TO / n_documents), 3))


def default_leaf_smoothing(n_documents: int) -> float:
    """A fifteenth of the documents, at most 800; beyond 50,000 documents, it falls in proportion to their number.

    >>> from swaprank.trees.data_size import default_leaf_smoothing
    >>> [default_leaf_smoothing(n) for n in (1500, 20_000, 100_000, 1_000_000)]
    [100.0, 800.0, 400.0, 40.0]
    """
    return round(min(_SMOOTHING_IF_SCARCE, n_documents / _SMOOTHING_SHARE) * _scarcity(n_documents), 1)


def default_score_noise(n_documents: int) -> float:
    """0.5 up to 50,000 documents; beyond, it falls in proportion.

    >>> from swaprank.trees.data_size import default_score_noise
    >>> [default_score_noise(n) for n in (10_000, 100_000, 1_000_000)]
    [0.5, 0.25, 0.025]
    """
    return round(_NOISE_IF_SCARCE * _scarcity(n_documents), 4)


def _scarcity(n_documents: int) -> float:
    return min(1.0, _SCARCE_UP_TO / n_documents)
