"""Checks of the rankers' parameters, made when fitting begins."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from swaprank.errors import ParameterError, did_you_mean
from swaprank.models.net import Net
from swaprank.seeds import LARGEST_SEED

LARGEST_FLOAT = float(np.finfo(np.float64).max)


class Bounds(NamedTuple):
    """The range of a numeric parameter. If open_low, low itself is excluded. If optional, None is allowed."""

    whole: bool
    low: float
    high: float
    open_low: bool = False
    optional: bool = False


BOUNDS = {
    "n_rounds": Bounds(True, 0, 10**7),
    "n_trees": Bounds(True, 0, 10**7),
    "n_leaves": Bounds(True, 2, 65_536),
    "learning_rate": Bounds(False, 0, np.inf, open_low=True),
    "min_docs_in_leaf": Bounds(True, 1, 2**62),
    "leaf_smoothing": Bounds(False, 0, 1e12, optional=True),
    "l2": Bounds(False, 0, np.inf),
    "min_gain": Bounds(False, 0, np.inf),
    "max_depth": Bounds(True, 1, 2**62, optional=True),
    "max_bins": Bounds(True, 2, 255),
    "sigma": Bounds(False, 0, np.inf, open_low=True),
    "horizon": Bounds(True, 1, 2**62, optional=True),
    "score_noise": Bounds(False, 0, 1e6, optional=True),
    "feature_fraction": Bounds(False, 0, 1, open_low=True),
    "query_fraction": Bounds(False, 0, 1, open_low=True),
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
    "n_learners": Bounds(True, 1, 10**6),
    "probability": Bounds(False, 0, 1, open_low=True),
    "n_restarts": Bounds(True, 1, 10**6),
    "n_passes": Bounds(True, 1, 10**6),
    "rel": Bounds(False, 0, np.inf),
    "tolerance": Bounds(False, 0, np.inf, open_low=True),
    "early_stopping_rounds": Bounds(True, 1, 2**62, optional=True),
    "random_state": Bounds(True, 0, LARGEST_SEED, optional=True),
    "n_threads": Bounds(True, 1, 4096, optional=True),
}

BOUNDS_OF_EACH = {"hidden": Bounds(True, 1, 10**6), "annealing": Bounds(False, 0, np.inf, open_low=True)}
"""Parameters that are tuples of numbers."""
FLAGS = ("best_step", "normalize", "overweight", "standardize", "ties", "whole_line")
"""Parameters that are True or False."""


def check_parameters(ranker: Any) -> None:
    """Check the type and the bounds of a ranker's parameters; an error names the parameter and its value."""
    for name, value in ranker.get_params(deep=False).items():
        if name == "random_state" and isinstance(value, np.random.RandomState | np.random.Generator):
            continue
        if name in BOUNDS:
            for number in _by_round(name, value) if name in ranker.by_round else (value,):
                check_parameter(name, number, BOUNDS[name])
        elif name in BOUNDS_OF_EACH:
            if not _is_sequence(value):
                raise ParameterError(f"{name} must be a tuple of numbers, such as (10,); found {value!r}.")
            for number in value:
                check_parameter(name, number, BOUNDS_OF_EACH[name])
        elif name in FLAGS and not isinstance(value, bool):
            raise ParameterError(f"{name} must be True or False; found {value!r}.")


def _by_round(name: str, value: Any) -> Sequence[Any]:
    """One value per round, or the one value of all rounds."""
    if not _is_sequence(value):
        return (value,)
    if len(value) == 0:
        raise ParameterError(f"{name} must be a number or a sequence of numbers, one per round; found none.")
    values: Sequence[Any] = value
    return values


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and np.ndim(value) > 0


def check_parameter(name: str, value: Any, bounds: Bounds) -> None:
    """Raise an error if a value is not a number, not an integer where one is needed, or out of bounds."""
    if value is None and bounds.optional:
        return
    kind = "a whole number" if bounds.whole else "a number"
    span = f"{kind} {'above' if bounds.open_low else 'from'} {bounds.low:g}"
    if bounds.high <= 10**7:
        span += f" to {bounds.high:g}"
    if bounds.optional:
        span += ", or None"
    numeric = isinstance(value, int | np.integer) or (not bounds.whole and isinstance(value, float | np.floating))
    fits = numeric and not isinstance(value, bool) and bounds.low <= value <= min(bounds.high, LARGEST_FLOAT)
    if not fits or (bounds.open_low and value == bounds.low):
        raise ParameterError(f"{name} must be {span}; found {value!r}.")


def check_word(name: str, value: Any, known: Sequence[str]) -> None:
    """Raise an error if a value is not one of the known names."""
    if value not in known:
        raise ParameterError(f"there is no {name} '{value}'; {did_you_mean(str(value), known)}")


def check_net_shape(net: Net, ranker: Any, whose: str) -> None:
    """Raise an error if a net has other hidden layers or another activation than a ranker's parameters."""
    hidden = tuple(int(n_units) for n_units in ranker.hidden)
    if (net.hidden, net.activation) != (hidden, ranker.activation):
        raise ParameterError(
            f"{whose} has hidden={net.hidden} and activation='{net.activation}', but the parameters are "
            f"hidden={hidden} and activation='{ranker.activation}'."
        )
