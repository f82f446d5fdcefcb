"""Labels that are no grades, although a metric with the gain 2^label - 1 takes them for grades."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import Floats
from swaprank.errors import LabelWarning, warn_user
from swaprank.metrics.metric import Metric

_LARGEST = 31
"""LightGBM and XGBoost refuse larger labels."""
_LARGEST_FRACTION = 5
"""Means of judgements may be fractions, but are not larger than this."""


def warn_if_no_grades(metrics: Iterable[Metric], labels: ArrayLike) -> bool:
    """Warn if a metric has the gain 2^label - 1, and labels are large, large fractions, or of several values up to 0.

    Returns True if it warned.

    >>> import warnings, swaprank as sr
    >>> from swaprank.metrics.grades import warn_if_no_grades
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = warn_if_no_grades([sr.metric("ndcg@10")], [0.0, 19.99])
    >>> print(str(caught[0].message).partition(",")[0])
    ndcg@10: the label 19.99 is no grade
    """
    metric = next((each for each in metrics if getattr(each, "gain", None) == "exp2"), None)
    values = np.asarray(labels, dtype=np.float64)
    found = "" if metric is None or not len(values) else _found(values)
    if found:
        warn_user(LabelWarning(f"{metric}: {found}"))
    return bool(found)


def _found(labels: Floats) -> str:
    """What is wrong with the labels, and what to do; empty if they are grades."""
    lowest, largest, odd = float(labels.min()), float(labels.max()), 0.0
    # A single value below 0 loses nothing: -1 and 1 are as good as 0 and 1.
    if lowest < 0 and bool(((labels > lowest) & (labels <= 0)).any()):
        return (
            f"all labels up to 0 have the gain 0, but there are different ones, from {lowest:g} on: nothing tells them "
            "apart. Add a number to all labels, so that the lowest is 0."
        )
    if largest > _LARGEST:
        odd = largest
    elif largest > _LARGEST_FRACTION:
        odd = float(labels[labels != np.floor(labels)].max(initial=0.0))
    if odd <= _LARGEST_FRACTION:
        return ""
    return (
        f"the label {odd:g} is no grade, but its gain is 2^{odd:g} - 1. For prices, counts and other numbers choose "
        "gain=linear, as in 'ndcg@10(gain=linear)', or a gain for every label, as in 'ndcg@10(gain=0/1/3/7)', or bin "
        "the labels into a few grades from 0."
    )
