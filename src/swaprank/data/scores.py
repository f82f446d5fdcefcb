"""One score for every document, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.errors import DataError


def check_scores(scores: Any, n_documents: int) -> Floats:
    """Scores as float64, one a document, none of them NaN."""
    try:
        checked = np.require(scores, np.float64, ["C", "A", "W"])
    except (TypeError, ValueError) as error:
        raise DataError(f"scores must be numbers, one a document: {error}.") from None
    if checked.shape != (n_documents,):
        raise DataError(f"scores must be one a document, {n_documents:,}; found shape {checked.shape}.")
    bad = np.flatnonzero(np.isnan(checked))
    if len(bad):
        raise DataError(f"scores: document {bad[0]} has NaN, {len(bad):,} of {n_documents:,} in all.")
    return checked
