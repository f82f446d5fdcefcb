"""Training weights: of rows, of queries, or both."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.data.columns import number_column
from swaprank.data.grouping import Grouping, query_of_row
from swaprank.errors import DataError


def row_weights(sample_weight: Any, query_weight: Any, grouping: Grouping, n_rows: int) -> Floats | None:
    """The weight of every row; None if there are none."""
    if sample_weight is None and query_weight is None:
        return None
    n_queries = len(grouping.qids)
    weights = np.ones(n_rows)
    if sample_weight is not None:
        if n_queries != n_rows and _length(sample_weight) == n_queries:
            raise DataError(
                f"sample_weight has {n_queries:,} values, one per query, but X has {n_rows:,} rows: give them as "
                "query_weight."
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
