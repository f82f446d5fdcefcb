"""Where good parameters of each kind of ranker lie: what tuning tries, and what it leaves fixed.

The defaults of the rankers lie within, so that they can be the first trial.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from swaprank.errors import ParameterError, did_you_mean


class Whole(NamedTuple):
    """Whole numbers between two bounds, drawn evenly or by their logarithm."""

    low: int
    high: int
    log: bool = False


class Real(NamedTuple):
    """Numbers between two bounds, drawn evenly or by their logarithm."""

    low: float
    high: float
    log: bool = False


class Choice(NamedTuple):
    """One of some values."""

    values: tuple[Any, ...]


Range: TypeAlias = Whole | Real | Choice

_TREES: dict[str, Range] = {
    "n_leaves": Whole(4, 255, log=True),
    "learning_rate": Real(0.01, 0.3, log=True),
    "min_docs_in_leaf": Whole(5, 500, log=True),
    "l2": Real(0.0, 10.0),
    "feature_fraction": Real(0.3, 1.0),
}
_NET: dict[str, Range] = {
    "hidden": Choice(((), (5,), (10,), (20,), (50,), (20, 10))),
    "learning_rate": Real(1e-5, 1e-2, log=True),
    "batch_queries": Whole(1, 32, log=True),
    "activation": Choice(("tanh", "relu")),
}

RANGES: dict[str, dict[str, Range]] = {
    "lambdamart": {**_TREES, "sigma": Real(0.3, 3.0, log=True), "normalize": Choice((True, False))},
    "mart": {**_TREES, "objective": Choice(("squared", "logistic", "balanced_logistic"))},
    "lambdarank": {**_NET, "sigma": Real(0.3, 3.0, log=True), "normalize": Choice((True, False))},
    "ranknet": {**_NET, "sigma": Real(0.3, 3.0, log=True)},
    "smoothrank": {
        "start": Choice(("regression", "overweighted", "pairwise", "zero")),
        "best_sigma": Choice((False, True)),
        "max_iterations": Whole(5, 60, log=True),
    },
    "linear_regression": {
        "target": Choice(("gains", "labels")),
        "overweight": Choice((False, True)),
        "standardize": Choice((True, False)),
    },
}
"""By kind of ranker and parameter."""

_STOP_EARLY = {"n_trees": 2000, "early_stopping_rounds": 50}
FIXED: dict[str, dict[str, Any]] = {
    "lambdamart": _STOP_EARLY,
    "mart": _STOP_EARLY,
    "lambdarank": {"early_stopping_rounds": 20},
    "ranknet": {"early_stopping_rounds": 20},
}
"""What tuning sets once, unless told otherwise: as many rounds as the validation set wants."""


def ranges_of(kind: str) -> dict[str, Range]:
    """The ranges of a kind of ranker.

    >>> from swaprank.experiments.tuning_ranges import ranges_of
    >>> ranges_of("lambdamart")["n_leaves"]
    Whole(low=4, high=255, log=True)
    """
    if kind not in RANGES:
        raise ParameterError(f"nobody has said what to tune of '{kind}'; {did_you_mean(kind, RANGES)}")
    return RANGES[kind]


def as_range(name: str, given: Any) -> Range:
    """A range as users write it: (low, high), a list of values to choose from, or one of the classes here.

    >>> from swaprank.experiments.tuning_ranges import as_range
    >>> as_range("n_leaves", (7, 63)), as_range("learning_rate", (0.01, 0.3)), as_range("normalize", [True, False])
    (Whole(low=7, high=63, log=True), Real(low=0.01, high=0.3, log=True), Choice(values=(True, False)))
    """
    if isinstance(given, Whole | Real | Choice):
        return given
    match given:
        case (int() as low, int() as high) if isinstance(given, tuple) and low < high:
            return Whole(low, high, log=low > 0)
        case (int() | float() as low, int() | float() as high) if isinstance(given, tuple) and low < high:
            return Real(low, high, log=low > 0)
        case list() if given:
            return Choice(tuple(given))
    raise ParameterError(
        f"the range of {name} must be (low, high) or a list of values, as (7, 63) or [True, False]; found {given!r}."
    )
