"""A forest as the arrays and parameters of a model file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swaprank.arrays import AnyArray
from swaprank.errors import ModelFileError
from swaprank.models.forest import ARRAYS, Forest, check_forest


def forest_arrays(forest: Forest) -> dict[str, AnyArray]:
    """The arrays of a forest by name.

    >>> from swaprank.models.forest_arrays import forest_arrays
    >>> from swaprank.models.forest import single_leaf
    >>> forest_arrays(single_leaf(0.5, n_features=3, n_documents=10))["leaf_value"]
    array([0.5])
    """
    return {name: getattr(forest, name) for name in ARRAYS}


def forest_meta(forest: Forest) -> dict[str, Any]:
    """What a forest has beside arrays.

    >>> from swaprank.models.forest_arrays import forest_meta
    >>> from swaprank.models.forest import single_leaf
    >>> forest_meta(single_leaf(0.5, n_features=3, n_documents=10))
    {'n_features': 3, 'base_score': 0.0}
    """
    return {"n_features": forest.n_features, "base_score": float(forest.base_score)}


def forest_from_arrays(arrays: Mapping[str, AnyArray], meta: Mapping[str, Any]) -> Forest:
    """The forest again, every index of it checked; other arrays and parameters are left alone.

    >>> from swaprank.models.forest_arrays import forest_arrays, forest_from_arrays, forest_meta
    >>> from swaprank.models.forest import single_leaf
    >>> forest = single_leaf(0.5, n_features=3, n_documents=10)
    >>> forest_from_arrays(forest_arrays(forest), forest_meta(forest)).n_trees
    1
    """
    for name in ("n_features", "base_score"):
        if name not in meta:
            raise ModelFileError(f"the forest has no {name}.")
    for name in ARRAYS:
        if name not in arrays:
            raise ModelFileError(f"the forest has no {name}.")
    parts = {name: arrays[name] for name in ARRAYS}
    return check_forest(Forest(n_features=meta["n_features"], base_score=meta["base_score"], **parts))
