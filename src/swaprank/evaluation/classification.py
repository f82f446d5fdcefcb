"""Errors of scores that separate two classes, over all documents: a ranking metric looks at orders within queries."""

import numpy as np
from numpy.typing import ArrayLike

from swaprank.data.dataset import Dataset
from swaprank.data.row_values import check_scores
from swaprank.errors import DataError


def balanced_error_rate(data: Dataset, scores: ArrayLike, *, threshold: float = 0.0) -> float:
    """The error rate of two classes with the same total weight: 0 if all are right, 1 if all are wrong, 1/2 by chance.

    false positives / (2 n-) + false negatives / (2 n+) [Burges2010, section 6.1]

    Args:
        data: The judged documents. Labels above 0 are positive, as for the logistic losses of MART.
        scores: One per row, in the order of the rows.
        threshold: A document is taken as positive if its score is above this. 0 is the probability 1/2 of a MART with
            a logistic loss.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2], [3], [4], [5]], [0, 0, 0, 0, 1], qid=[1] * 5)
    >>> sr.evaluation.balanced_error_rate(data, [-1.0, -2.0, 0.5, -0.1, 3.0])  # one of four negatives is wrong
    0.125
    >>> sr.evaluation.balanced_error_rate(data, [-1.0] * 5)  # 20% of the documents, but all of a class
    0.5
    """
    taken = check_scores(scores, len(data)) > threshold
    positive = data.labels > 0
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if n_positive == 0 or n_negative == 0:
        raise DataError("the balanced error rate needs labels above 0 and labels that are not; found only one kind.")
    false_positives, false_negatives = np.sum(taken & ~positive), np.sum(~taken & positive)
    return float(false_positives / (2 * n_negative) + false_negatives / (2 * n_positive))
