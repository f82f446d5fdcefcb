"""Values of rows: labels, weights, base scores and scores, one each."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Floats, contiguous_floats
from swaprank.data.grouping import Grouping, query_of_row
from swaprank.errors import THE_DATA, DataError, Row

LARGEST_TERM = 1e100
"""No base score and no leaf value may be larger: sums and squares of scores then stay finite."""
LARGEST_SCORE = 1e300
"""A model whose scores might be larger is refused: sums and differences of scores stay finite."""


def number_column(name: str, values: Any, n_rows: int) -> Floats:
    """One finite number per row, as float64."""
    try:
        masked = isinstance(values, np.ma.MaskedArray)
        given: AnyArray = np.ma.filled(values.astype(np.float64), np.nan) if masked else np.asarray(values)
        if given.dtype.kind in "mMc":
            # NumPy would convert dates to numbers and drop imaginary parts.
            raise TypeError(f"found {given.dtype}")
        column = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers: {error}.") from None
    if column.ndim != 1:
        raise DataError(f"{name} must have one value per row, found an array of shape {column.shape}.")
    if len(column) != n_rows:
        raise DataError(f"{name} has {len(column):,} values, but ", THE_DATA, f" has {n_rows:,} rows.")
    bad = np.flatnonzero(~np.isfinite(column))
    if len(bad):
        raise DataError(f"{name}, ", Row(int(bad[0])), f": {column[bad[0]]} is not a finite number.")
    return column


def base_scores(values: Any, n_rows: int) -> Floats:
    """Scores that training starts from, one per row."""
    scores = number_column("base_score", values, n_rows)
    row = int(np.abs(scores).argmax())
    if abs(scores[row]) > LARGEST_TERM:
        raise DataError(f"base_score, row {row}: {scores[row]} is too large; the largest score is {LARGEST_TERM:g}.")
    return scores


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


def row_weights(sample_weight: Any, query_weight: Any, grouping: Grouping, n_rows: int) -> Floats | None:
    """The weight of every row; None if there are none."""
    if sample_weight is None and query_weight is None:
        return None
    n_queries = len(grouping.qids)
    weights = np.ones(n_rows)
    if sample_weight is not None:
        if n_queries != n_rows and _length(sample_weight) == n_queries:
            raise DataError(
                f"sample_weight has {n_queries:,} values, one per query, but ",
                THE_DATA,
                f" has {n_rows:,} rows: give them as query_weight.",
            )
        weights *= checked_weights(sample_weight, n_rows)
    if query_weight is not None:
        with np.errstate(over="ignore"):
            weights *= _query_weights(query_weight, grouping.qids)[query_of_row(grouping.indptr, grouping.order)]
    if not np.isfinite(weights).all():
        raise DataError("the products of sample_weight and query_weight are too large.")
    if not weights.any():
        raise DataError("all weights are zero: there is nothing to learn from.")
    return weights


def checked_weights(sample_weight: Any, n_rows: int) -> Floats:
    """One weight per row, 0 or more."""
    return _not_negative("sample_weight", "row", number_column("sample_weight", sample_weight, n_rows))


def _query_weights(given: Any, qids: AnyArray) -> Floats:
    """The weight of every query, from one value per query or a mapping of query ids."""
    index = getattr(given, "index", None)
    if hasattr(given, "to_dict") and type(index).__name__ not in ("NoneType", "RangeIndex"):
        # A pandas Series by query id, as `groupby` gives it.
        given = given.to_dict()
    if isinstance(given, Mapping):
        missing = [qid for qid in qids.tolist() if qid not in given]
        if missing:
            raise DataError(f"query_weight has no weight of the query {missing[0]!r}.")
        given = [given[qid] for qid in qids.tolist()]
    if _length(given) != len(qids):
        raise DataError(f"query_weight must have one value per query: {len(qids):,}, found {_length(given)}.")
    return _not_negative("query_weight", "query", number_column("query_weight", given, len(qids)))


def _length(values: Any) -> int | None:
    """The number of values; None if it is not a sequence."""
    try:
        return len(values)
    except TypeError:
        return len(np.asarray(values)) if np.ndim(np.asarray(values)) else None


def _not_negative(name: str, each: str, weights: Floats) -> Floats:
    if len(weights) and weights.min() < 0:
        at = int(weights.argmin())
        raise DataError(f"{name}, {each} {at}: {weights[at]} is negative.")
    return weights
