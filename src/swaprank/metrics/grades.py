"""Labels that are no grades, although a metric with the gain 2^label - 1 takes them for grades."""

from collections.abc import Iterable

import numpy as np

from swaprank.arrays import Floats
from swaprank.errors import LabelWarning, warn_user
from swaprank.metrics.metric import Metric

_LARGEST = 31
"""LightGBM and XGBoost refuse larger labels."""
_LARGEST_FRACTION = 5
"""Means of judgements may be fractions, but are not larger than this."""


def warn_if_no_grades(metrics: Iterable[Metric], labels: Floats) -> None:
    """Warn if labels are large, negative, or large fractions, and a metric has the gain 2^label - 1.

    >>> import warnings, swaprank as sr
    >>> from swaprank.metrics.grades import warn_if_no_grades
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_if_no_grades([sr.metric("ndcg@10")], [0.0, 19.99])
    >>> print(str(caught[0].message).partition(",")[0])
    ndcg@10: the label 19.99 is no grade
    """
    metric = next((each for each in metrics if getattr(each, "gain", None) == "exp2"), None)
    if metric is None or not len(labels):
        return
    values = np.asarray(labels)
    lowest, largest, odd = float(values.min()), float(values.max()), None
    if lowest < 0:
        odd = lowest
    elif largest > _LARGEST:
        odd = largest
    elif largest > _LARGEST_FRACTION:
        fractions = values[values != np.floor(values)]
        odd = float(fractions.max()) if len(fractions) else None
    if odd is not None:
        counted = "0, as that of label 0" if odd < 0 else f"2^{odd:g} - 1"
        warn_user(
            LabelWarning(
                f"{metric}: the label {odd:g} is no grade, and its gain is {counted}. For prices, counts and other "
                "numbers choose gain=linear, as in 'ndcg@10(gain=linear)', a list with the gain of every label, "
                "gain=[0, 1, 3, 7], or bin the labels into a few grades from 0."
            )
        )
