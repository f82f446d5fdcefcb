"""Random number generators from a checked seed."""

from typing import Any, TypeAlias

import numpy as np

from swaprank.errors import DataError

LARGEST_SEED = 2**63 - 1
RandomState: TypeAlias = int | np.integer | np.random.RandomState | np.random.Generator | None
"""A random_state as in scikit-learn: a seed, a generator to draw one from, or None for a random seed."""


def random_generator(random_state: Any) -> np.random.Generator:
    """NumPy's generator for a seed; None for a random seed.

    >>> from swaprank.seeds import random_generator
    >>> random_generator(7).integers(10) == random_generator(7).integers(10)
    np.True_
    """
    try:
        if isinstance(random_state, np.random.RandomState):
            return np.random.default_rng(seed_of(random_state))
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise DataError(f"random_state must be a whole number from 0, or None; found {random_state!r}.") from None


def seed_of(random_state: RandomState) -> int:
    """The seed: itself, drawn from a generator, or a random one.

    >>> import numpy as np
    >>> from swaprank.seeds import seed_of
    >>> seed_of(7), seed_of(np.random.RandomState(0)) == seed_of(np.random.RandomState(0))
    (7, True)
    """
    if random_state is None or isinstance(random_state, np.random.Generator):
        return int(np.random.default_rng(random_state).integers(LARGEST_SEED, endpoint=True))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(random_state)
