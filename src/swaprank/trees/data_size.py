"""What is chosen by the size of the data if the user does not say.

The fewer documents, the more regularization; the more documents, the smaller the share of them that splits are found
on. All of it changes gradually.
"""

from __future__ import annotations

import math

_ALL_UP_TO = 60_000
_SCARCE_UP_TO = 30_000
_L2_IF_SCARCE, _NOISE_IF_SCARCE = 5.0, 1.0


def default_document_fraction(n_documents: int) -> float:
    """1 up to 60,000 documents; beyond, the sample grows with the square root of their number.

    The best split of a leaf is found from a sample of its documents as long as the sample is large, whatever share it
    is of all documents.

    >>> from swaprank.trees.data_size import default_document_fraction
    >>> [default_document_fraction(n) for n in (10_000, 100_000, 1_000_000, 10_000_000)]
    [1.0, 0.775, 0.245, 0.077]
    """
    return min(1.0, round(math.sqrt(_ALL_UP_TO / n_documents), 3))


def default_l2(n_documents: int) -> float:
    """5 up to 30,000 documents; beyond, it falls in proportion.

    >>> from swaprank.trees.data_size import default_l2
    >>> [default_l2(n) for n in (10_000, 100_000, 1_000_000)]
    [5.0, 1.5, 0.15]
    """
    return round(_L2_IF_SCARCE * _scarcity(n_documents), 4)


def default_score_noise(n_documents: int) -> float:
    """1 up to 30,000 documents; beyond, it falls in proportion.

    >>> from swaprank.trees.data_size import default_score_noise
    >>> [default_score_noise(n) for n in (10_000, 100_000, 1_000_000)]
    [1.0, 0.3, 0.03]
    """
    return round(_NOISE_IF_SCARCE * _scarcity(n_documents), 4)


def _scarcity(n_documents: int) -> float:
    return min(1.0, _SCARCE_UP_TO / n_documents)
