"""Random number generators from a checked seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from swaprank.errors import DataError


def random_generator(random_state: Any) -> np.random.Generator:
    """NumPy's generator for a seed; None for a random seed.

    >>> from swaprank.seeds import random_generator
    >>> random_generator(7).integers(10) == random_generator(7).integers(10)
    np.True_
    """
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise DataError(f"random_state must be a whole number from 0, or None; found {random_state!r}.") from None
