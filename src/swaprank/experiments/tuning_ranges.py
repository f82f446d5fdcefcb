"""Default search ranges of tuning for each kind of ranker.

The ranges contain the rankers' default values, so that these can be the first trial.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from swaprank.errors import ParameterError, did_you_mean
from swaprank.experiments.grids import parse_grid


class IntRange(NamedTuple):
    """Whole numbers between two bounds, on a linear or logarithmic scale."""

    low: int
    high: int
    log: bool = False


class FloatRange(NamedTuple):
    """Numbers between two bounds, on a linear or logarithmic scale."""

    low: float
    high: float
    log: bool = False


class Choice(NamedTuple):
    """One of several values."""

    values: tuple[Any, ...]


Range: TypeAlias = IntRange | FloatRange | Choice

_TREES: dict[str, Range] = {
    "n_leaves": IntRange(4, 255, log=True),
    "learning_rate": FloatRange(0.01, 0.3, log=True),
    "min_docs_in_leaf": IntRange(5, 500, log=True),
    "l2": FloatRange(0.0, 10.0),
    "feature_fraction": FloatRange(0.3, 1.0),
}
_NET: dict[str, Range] = {
    "hidden": Choice(((), (5,), (10,), (20,), (50,), (20, 10))),
    "learning_rate": FloatRange(1e-5, 1e-2, log=True),
    "batch_queries": IntRange(1, 32, log=True),
    "activation": Choice(("tanh", "relu")),
}

DEFAULT_RANGES: dict[str, dict[str, Range]] = {
    "lambdamart": {**_TREES, "sigma": FloatRange(0.3, 3.0, log=True), "normalize": Choice((True, False))},
    "mart": {**_TREES, "objective": Choice(("squared", "logistic", "balanced_logistic"))},
    "lambdarank": {**_NET, "sigma": FloatRange(0.3, 3.0, log=True), "normalize": Choice((True, False))},
    "ranknet": {**_NET, "sigma": FloatRange(0.3, 3.0, log=True)},
    "smoothrank": {
        "start": Choice(("regression", "overweighted", "pairwise", "zero")),
        "best_step": Choice((False, True)),
        "max_iterations": IntRange(5, 60, log=True),
    },
    "linear_regression": {
        "target": Choice(("gains", "labels")),
        "overweight": Choice((False, True)),
        "standardize": Choice((True, False)),
    },
}
"""Search ranges by kind of ranker and parameter."""

_EARLY_STOPPING = {"n_trees": 2000, "early_stopping_rounds": 50}
FIXED_PARAMETERS: dict[str, dict[str, Any]] = {
    "lambdamart": _EARLY_STOPPING,
    "mart": _EARLY_STOPPING,
    "lambdarank": {"early_stopping_rounds": 20},
    "ranknet": {"early_stopping_rounds": 20},
}
"""Parameters that tuning sets for all trials: enough rounds, with early stopping on the validation set."""


def default_ranges(kind: str) -> dict[str, Range]:
    """The default search ranges of a kind of ranker.

    >>> from swaprank.experiments.tuning_ranges import default_ranges
    >>> default_ranges("lambdamart")["n_leaves"]
    IntRange(low=4, high=255, log=True)
    """
    if kind not in DEFAULT_RANGES:
        raise ParameterError(f"there are no default ranges for '{kind}'; {did_you_mean(kind, DEFAULT_RANGES)}")
    return DEFAULT_RANGES[kind]


def as_range(name: str, given: Any) -> Range:
    """Convert a range as users write it: (low, high), a list of choices, or an object of a class above.

    >>> from swaprank.experiments.tuning_ranges import as_range
    >>> as_range("n_leaves", (7, 63)), as_range("learning_rate", (0.01, 0.3)), as_range("normalize", [True, False])
    (IntRange(low=7, high=63, log=True), FloatRange(low=0.01, high=0.3, log=True), Choice(values=(True, False)))
    """
    if isinstance(given, IntRange | FloatRange | Choice):
        return given
    match given:
        case (int() as low, int() as high) if isinstance(given, tuple) and low < high:
            return IntRange(low, high, log=low > 0)
        case (int() | float() as low, int() | float() as high) if isinstance(given, tuple) and low < high:
            return FloatRange(low, high, log=low > 0)
        case list() if given:
            return Choice(tuple(given))
    raise ParameterError(
        f"the range of {name} must be (low, high) or a list of values, such as (7, 63) or [True, False]; "
        f"found {given!r}."
    )


def parse_range(ranker: str, text: str) -> tuple[str, Any]:
    """Parse "name=low..high" or "name=value,value" for a kind of ranker.

    >>> from swaprank.experiments.tuning_ranges import parse_range
    >>> parse_range("mart", "n_leaves=7..63"), parse_range("mart", "objective=squared,logistic")
    (('n_leaves', (7, 63)), ('objective', ['squared', 'logistic']))
    """
    name, _, span = text.partition("=")
    low, dots, high = span.partition("..")
    values = parse_grid([f"{name}={low},{high}" if dots else text], {ranker: ranker})[name]
    return name, tuple(values) if dots else values
