"""Dask arrays, series and frames that are given apart, as X, y, qid and so on: a part for each of their partitions.

This is how users of LightGBM's and XGBoost's rankers for Dask write it. All have the same partitions, and a partition
has whole queries. Groups are numbered over all partitions, as those of one array in memory are.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import IdRuns, runs_of_groups
from swaprank.errors import ArgumentError, DataError, Wording

_COLUMNS = ("y", "qid", "group", "sample_weight", "base_score", "docid")


def is_frame(data: Any) -> bool:
    """True for a Dask data frame, False for its series."""
    # A delayed value has any attribute, its class has not.
    return hasattr(type(data), "to_delayed") and hasattr(type(data), "columns") and data.ndim == len(("row", "column"))


def is_array(data: Any) -> bool:
    """True for a Dask array."""
    return hasattr(type(data), "to_delayed") and hasattr(type(data), "rechunk")


def column_partitions(X: Any, given: Mapping[str, Any], categorical_features: Any = None) -> dict[str, Any]:
    """Delayed Datasets by the names of the partitions; empty partitions give None.

    Args:
        X: A Dask array or data frame.
        given: y, qid or group, sample_weight, base_score and docid: Dask arrays or series with the partitions of X, or
            names of its columns.
        categorical_features: As for `Dataset`.
    """
    from dask.delayed import delayed

    for name in given:
        if name not in _COLUMNS:
            raise ArgumentError(f"{name} cannot be given for Dask arrays and series; use Datasets as parts.")
    named = [value for value in given.values() if isinstance(value, str)]
    columns = {name: X[value] if isinstance(value, str) else value for name, value in given.items()}
    X = X.drop(columns=named) if named else X
    if is_array(X) and X.ndim > 1 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    features = _partitions("X", X)
    by_name = {name: _partitions(name, column) for name, column in columns.items()}
    for name, found in by_name.items():
        _check_aligned(name, columns[name], found, X, features)
    before = [0] * len(features)
    if "group" in by_name:
        count = delayed(_n_groups, pure=True)
        counts = [count(sizes) for sizes in by_name["group"]]
        before = [delayed(sum)(counts[:number]) for number in range(len(counts))]
    make = delayed(_dataset_of, pure=True)
    return {
        (name := f"partition {number}"): make(
            name, part, {column: each[number] for column, each in by_name.items()}, before[number], categorical_features
        )
        for number, part in enumerate(features)
    }


def _partitions(name: str, data: Any) -> list[Any]:
    if not hasattr(type(data), "to_delayed"):
        raise DataError(
            f"{name} must be a Dask array or series with the partitions of X, or the name of a column; found "
            f"{type(data).__name__}."
        )
    return list(np.ravel(np.array(data.to_delayed(), dtype=object)))


def _check_aligned(name: str, column: Any, found: list[Any], X: Any, features: list[Any]) -> None:
    if len(found) != len(features):
        raise DataError(
            f"{name} has {len(found):,} partitions, but the features have {len(features):,}, and each needs one",
            Wording(". For arrays, such as with y.rechunk(X.chunks[0]).", "."),
        )
    if name == "group" or not (is_array(column) and is_array(X)):
        return
    sizes, expected = np.array(column.chunks[0], float), np.array(X.chunks[0], float)
    # Sizes that nobody knows yet are NaN.
    bad = np.flatnonzero((sizes != expected) & ~np.isnan(sizes) & ~np.isnan(expected))
    if len(bad):
        raise DataError(
            f"partition {bad[0]} of {name} has {sizes[bad[0]]:,.0f} rows, but that of the features has "
            f"{expected[bad[0]]:,.0f}: divide it alike",
            Wording(f", with {name}.rechunk(X.chunks[0]).", "."),
        )


def _n_groups(sizes: Any) -> int:
    return int(np.count_nonzero(np.asarray(sizes)))


def _dataset_of(name: str, X: Any, columns: Mapping[str, Any], before: int, categorical: Any) -> Dataset | None:
    """A partition as a Dataset; `before` groups are in the partitions before it."""
    if not X.shape[0]:
        return None
    values: dict[str, Any] = {column: _flat(found) for column, found in columns.items()}
    try:
        if "group" in values:
            ids, starts = runs_of_groups(values.pop("group"), X.shape[0])
            values["qid"] = IdRuns(ids + before, starts)
        return Dataset(X, categorical_features=categorical, **values)
    except DataError as error:
        raise DataError(f"{name}: ", error) from None


def _flat(values: Any) -> AnyArray:
    """One value per row, also from an array or a frame of one column."""
    found = np.asarray(values)
    return found.reshape(-1) if found.ndim > 1 and found.shape[1] == 1 else found
