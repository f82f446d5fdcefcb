"""Whether scores of a target are ours."""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats
from swaprank.models.forest import Forest


def largest_sum(forest: Forest) -> float:
    """The largest sum of what a score is made of, without signs: what rounding is relative to if values cancel."""
    of_trees = (
        np.maximum.reduceat(np.abs(forest.leaf_value), forest.tree_leaves[:-1]) if forest.n_trees else np.zeros(1)
    )
    return abs(forest.base_score) + float(of_trees.sum())


def assert_same(found: Floats, own: Floats, tolerance: float = 1e-6, largest: float | None = None) -> None:
    """Equal to the tolerance relative to the largest score, and in the same order but for ties within rounding.

    Random forests may have leaf values that cancel: for them, give `largest_sum` instead of the largest score.
    """
    error = tolerance * ((np.abs(own).max() if largest is None else largest) or 1.0)
    assert np.abs(found - own).max() <= error
    by_found = own[np.argsort(found, kind="stable")]
    assert (np.diff(by_found) >= -2 * error).all()
