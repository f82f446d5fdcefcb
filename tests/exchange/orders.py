"""Whether scores of a target are ours."""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats


def assert_same(found: Floats, own: Floats, tolerance: float = 1e-6) -> None:
    """Equal to the tolerance relative to the largest score, and in the same order but for ties within rounding."""
    error = tolerance * (np.abs(own).max() or 1.0)
    assert np.abs(found - own).max() <= error
    by_found = own[np.argsort(found, kind="stable")]
    assert (np.diff(by_found) >= -2 * error).all()
