"""Parameters of rankers: what each may be, checked once, when fitting begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from swaprank.errors import ParameterError, did_you_mean


class Bounds(NamedTuple):
    """A number between two bounds, the lower one included or not; None may be allowed."""

    whole: bool
    low: float
    high: float
    open_low: bool = False
    optional: bool = False


BOUNDS = {
    "n_trees": Bounds(True, 0, 10**7),
    "n_leaves": Bounds(True, 2, 65_536),
    "learning_rate": Bounds(False, 0, np.inf, open_low=True),
    "min_docs_in_leaf": Bounds(True, 1, 2**62),
    "l2": Bounds(False, 0, np.inf),
    "min_gain": Bounds(False, 0, np.inf),
    "max_depth": Bounds(True, 1, 2**62, optional=True),
    "max_bins": Bounds(True, 2, 255),
    "sigma": Bounds(False, 0, np.inf, open_low=True),
    "truncation": Bounds(True, 1, 2**62, optional=True),
    "feature_fraction": Bounds(False, 0, 1, open_low=True),
    "query_fraction": Bounds(False, 0, 1, open_low=True, optional=True),
    "document_fraction": Bounds(False, 0, 1, open_low=True, optional=True),
    "n_epochs": Bounds(True, 0, 10**7),
    "decay": Bounds(False, 0, 1, open_low=True),
    "batch_queries": Bounds(True, 1, 2**62),
    "restart_rounds": Bounds(True, 1, 2**62, optional=True),
    "max_iterations": Bounds(True, 1, 10**7),
    "n_folds": Bounds(True, 2, 10**7, optional=True),
    "gamma": Bounds(False, 0, np.inf, open_low=True, optional=True),
    "degree": Bounds(True, 1, 100),
    "n_landmarks": Bounds(True, 1, 10**7),
    "early_stopping_rounds": Bounds(True, 1, 2**62, optional=True),
    "random_state": Bounds(True, 0, 2**63 - 1),
    "n_threads": Bounds(True, 1, 4096, optional=True),
}


def check_parameters(ranker: Any) -> None:
    """Refuse parameters that are out of bounds, with their name, value and bounds."""
    for name, value in ranker.get_params(deep=False).items():
        if name in BOUNDS:
            check_parameter(name, value, BOUNDS[name])


def check_parameter(name: str, value: Any, bounds: Bounds) -> None:
    """Refuse a value that is no number, not whole where it must be, or out of bounds."""
    if value is None and bounds.optional:
        return
    kind = "a whole number" if bounds.whole else "a number"
    span = f"{kind} {'above' if bounds.open_low else 'from'} {bounds.low:g}"
    if bounds.high <= 10**7:
        span += f" to {bounds.high:g}"
    if bounds.optional:
        span += ", or None"
    numeric = isinstance(value, int | np.integer) or (not bounds.whole and isinstance(value, float | np.floating))
    fits = numeric and not isinstance(value, bool) and bounds.low <= value <= bounds.high and np.isfinite(value)
    if not fits or (bounds.open_low and value == bounds.low):
        raise ParameterError(f"{name} must be {span}; found {value!r}.")


def check_word(name: str, value: Any, known: Sequence[str]) -> None:
    """Refuse a word that is none of those known."""
    if value not in known:
        raise ParameterError(f"there is no {name} '{value}'; {did_you_mean(str(value), known)}")


def check_flags(ranker: Any, *names: str) -> None:
    """Refuse what is neither True nor False."""
    for name in names:
        if not isinstance(getattr(ranker, name), bool):
            raise ParameterError(f"{name} must be True or False; found {getattr(ranker, name)!r}.")


def check_numbers(name: str, values: Any, bounds: Bounds) -> None:
    """Refuse what is no tuple or list of numbers within bounds."""
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or np.ndim(values) == 0:
        raise ParameterError(f"{name} must be a tuple of numbers; found {values!r}.")
    for value in values:
        check_parameter(name, value, bounds)
