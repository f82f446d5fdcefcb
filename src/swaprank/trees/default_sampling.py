"""How many documents a tree's splits are found on, if the user does not say."""

from __future__ import annotations

import math

ALL_UP_TO = 60_000


def default_document_fraction(n_documents: int) -> float:
    """1 up to 60,000 documents; beyond, the sample grows with the square root of their number.

    The best split of a leaf is found from a sample of its documents as long as the sample is large, whatever share it
    is of all documents.

    >>> from swaprank.trees.default_sampling import default_document_fraction
    >>> [default_document_fraction(n) for n in (10_000, 100_000, 1_000_000, 10_000_000)]
    [1.0, 0.775, 0.245, 0.077]
    """
    return min(1.0, round(math.sqrt(ALL_UP_TO / n_documents), 3))
