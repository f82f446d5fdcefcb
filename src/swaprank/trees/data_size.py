"""What is chosen by the size of the data if the user does not say.

The fewer documents, the more regularization; the more documents, the smaller the share of them that splits are found
on. All of it changes gradually. `benchmarks/quality.py` compares these defaults with other values.
"""

import math


def default_document_fraction(n_documents: int) -> float:
    """1 up to 30,000 documents; beyond, the sample grows with the square root of their number.

    The best split of a leaf is found from a sample of its documents as long as the sample is large, whatever share it
    is of all documents.

    >>> from swaprank.trees.data_size import default_document_fraction
    >>> [default_document_fraction(n) for n in (10_000, 100_000, 1_000_000, 10_000_000)]
    [1.0, 0.548, 0.173, 0.055]
    """
    return min(1.0, round(math.sqrt(30_000 / n_documents), 3))


def default_leaf_smoothing(n_documents: int) -> float:
    """A fifteenth of the documents, at most 800; beyond 10,000 documents, it falls in proportion to their number.

    >>> from swaprank.trees.data_size import default_leaf_smoothing
    >>> [default_leaf_smoothing(n) for n in (1500, 12_000, 100_000, 1_000_000)]
    [100.0, 666.7, 80.0, 8.0]
    """
    return round(min(n_documents / 15, 800.0, 800.0 * 10_000 / n_documents), 1)


def default_score_noise(n_documents: int) -> float:
    """0.2 up to 60,000 documents; beyond, it falls in proportion to their number, to 0 from 400,000 documents on.

    >>> from swaprank.trees.data_size import default_score_noise
    >>> [default_score_noise(n) for n in (10_000, 100_000, 1_000_000)]
    [0.2, 0.12, 0.0]
    """
    noise = round(min(0.2, 0.2 * 60_000 / n_documents), 4)
    return noise if noise >= 0.03 else 0.0


def default_max_depth(n_documents: int) -> int:
    """4 up to 8,000 documents, and two more whenever their number doubles.

    Leaf by leaf, trees of few documents otherwise grow long branches that follow single lists.

    >>> from swaprank.trees.data_size import default_max_depth
    >>> [default_max_depth(n) for n in (1000, 10_000, 100_000, 1_000_000)]
    [4, 5, 12, 18]
    """
    return max(4, round(2 * math.log2(n_documents / 1700)))
