"""Check scores: one number per document."""

from typing import Any

import numpy as np

from swaprank.arrays import Floats, contiguous_floats
from swaprank.errors import DataError

LARGEST_SCORE = 1e100
"""No base score and no leaf value may be larger: sums and squares of scores then stay finite."""


def check_scores(scores: Any, n_documents: int) -> Floats:
    """Scores as float64, one per document; raises DataError for NaN."""
    try:
        checked = contiguous_floats(scores)
    except (TypeError, ValueError) as error:
        raise DataError(f"scores must be numbers, one per document: {error}.") from None
    if checked.shape != (n_documents,):
        raise DataError(f"scores must be one number per document, {n_documents:,} in all; found shape {checked.shape}.")
    bad = np.flatnonzero(np.isnan(checked))
    if len(bad):
        raise DataError(f"scores: document {bad[0]} has NaN ({len(bad):,} of {n_documents:,} documents have).")
    return checked
