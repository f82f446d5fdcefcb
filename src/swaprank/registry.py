"""Rankers from words: what model files, the command line and configuration files say."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from swaprank.errors import ParameterError, did_you_mean
from swaprank.rankers.ranker import Ranker

RANKERS = {
    "stacked": ("swaprank.ensembles.stacked", "Stacked"),
    "combination": ("swaprank.ensembles.combination", "Combination"),
    "lambdamart": ("swaprank.rankers.lambdamart", "LambdaMART"),
    "lambdarank": ("swaprank.rankers.lambdarank", "LambdaRank"),
    "ranknet": ("swaprank.rankers.ranknet", "RankNet"),
    "smoothrank": ("swaprank.rankers.smoothrank", "SmoothRank"),
    "linear_regression": ("swaprank.rankers.linear_regression", "LinearRegressionRanker"),
    "mart": ("swaprank.rankers.mart", "MART"),
}
"""Where each kind of ranker is, so that only the one that is asked for is imported."""


def ranker_class(name: str) -> type[Ranker]:
    """The class of a kind of ranker.

    >>> from swaprank.registry import ranker_class
    >>> ranker_class("mart").__name__
    'MART'
    """
    if name not in RANKERS:
        raise ParameterError(f"there is no ranker '{name}'; {did_you_mean(name, RANKERS)}")
    module, class_name = RANKERS[name]
    found: type[Ranker] = getattr(import_module(module), class_name)
    return found


def make_ranker(name: str, settings: Iterable[str] = ()) -> Ranker:
    """A ranker from its name and settings such as "n_leaves=31".

    >>> from swaprank.registry import make_ranker
    >>> make_ranker("lambdamart", ["n_leaves=15", "metric=map"])
    LambdaMART(metric='map', n_leaves=15)
    """
    kind = ranker_class(name)
    known = kind._get_param_names()
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"write a setting as name=value, found '{setting}'.")
        if key not in known:
            raise ParameterError(f"{name} has no parameter '{key}'; {did_you_mean(key, known)}")
        parameters[key] = _value(value)
    return kind(**parameters)


def _value(text: str) -> Any:
    """Numbers, tuples of numbers, true, false and none as what they say; anything else is text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float | tuple) else text
