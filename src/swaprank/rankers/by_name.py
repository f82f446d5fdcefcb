"""Rankers from words: what the command line and configuration files say."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from swaprank.errors import ParameterError, did_you_mean
from swaprank.rankers.lambdamart import LambdaMART
from swaprank.rankers.mart import MART
from swaprank.rankers.tree_ranker import TreeRanker

RANKERS: dict[str, type[LambdaMART | MART]] = {kind.kind: kind for kind in (LambdaMART, MART)}


def make_ranker(name: str, settings: Iterable[str] = ()) -> TreeRanker:
    """A ranker from its name and settings such as "n_leaves=31".

    >>> from swaprank.rankers.by_name import make_ranker
    >>> make_ranker("lambdamart", ["n_leaves=15", "metric=map"])
    LambdaMART(metric='map', n_leaves=15)
    """
    if name not in RANKERS:
        raise ParameterError(f"there is no ranker '{name}'; {did_you_mean(name, RANKERS)}")
    known = RANKERS[name]._get_param_names()
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"write a setting as name=value, found '{setting}'.")
        if key not in known:
            raise ParameterError(f"{name} has no parameter '{key}'; {did_you_mean(key, known)}")
        parameters[key] = _value(value)
    return RANKERS[name](**parameters)


def _value(text: str) -> Any:
    """Numbers, true, false and none as what they say; anything else is text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float) else text
