"""Grids of parameters: which candidates each ranker has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from swaprank.errors import ParameterError, did_you_mean
from swaprank.experiments.ranker_parameters import parse_settings
from swaprank.rankers.ranker import Ranker


def candidates(name: str, ranker: Ranker, grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """The product of all values that a grid has for a ranker, by parameter; one empty candidate if it has none.

    >>> import swaprank as sr
    >>> from swaprank.experiments.grids import candidates
    >>> candidates("mart", sr.MART(), {"n_leaves": (7, 15), "net.hidden": [(5,)], "mart.l2": [0.0, 1.0]})
    [{'n_leaves': 7, 'l2': 0.0}, {'n_leaves': 7, 'l2': 1.0}, {'n_leaves': 15, 'l2': 0.0}, {'n_leaves': 15, 'l2': 1.0}]
    """
    own = own_values(name, type(ranker)._get_param_names(), grid)
    for parameter, values in own.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or len(values) == 0:
            raise ParameterError(f"the grid of {parameter} must have one or more values, found {values!r}.")
    return [dict(zip(own, values, strict=True)) for values in product(*own.values())]


def own_values(name: str, known: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """What is meant for a ranker: "parameter" for all that have it, "name.parameter" for one, which goes first."""
    known = set(known)
    common = {key: value for key, value in values.items() if key in known}
    prefix = f"{name}."
    named = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
    for key in named:
        if key not in known:
            raise ParameterError(f"{name} has no parameter '{key}'; {did_you_mean(key, known)}")
    return {**common, **named}


def check_used(rankers: Mapping[str, Ranker], values: Mapping[str, Any]) -> None:
    """Refuse values that are meant for no ranker.

    >>> import swaprank as sr
    >>> from swaprank.experiments.grids import check_used
    >>> check_used({"mart": sr.MART()}, {"n_leafs": [7]})
    Traceback (most recent call last):
    ...
    swaprank.errors.ParameterError: no ranker has a parameter 'n_leafs'; did you mean 'n_leaves'?
    """
    known = {parameter for ranker in rankers.values() for parameter in type(ranker)._get_param_names()}
    for key in values:
        name, dot, _ = key.partition(".")
        if dot and name not in rankers:
            raise ParameterError(f"'{key}' is meant for a ranker '{name}'; {did_you_mean(name, rankers)}")
        if not dot and key not in known:
            raise ParameterError(f"no ranker has a parameter '{key}'; {did_you_mean(key, known)}")


def parse_grid(texts: Iterable[str], kinds: Mapping[str, str]) -> dict[str, list[Any]]:
    """Grids such as "n_leaves=7,15" or "lambdarank.hidden=(10,),(20,)", for rankers by name and kind.

    >>> from swaprank.experiments.grids import parse_grid
    >>> parse_grid(["n_leaves=7,15", "lambdarank.hidden=(10,),(5,5)"], {"mart": "mart", "lambdarank": "lambdarank"})
    {'n_leaves': [7, 15], 'lambdarank.hidden': [(10,), (5, 5)]}
    """
    grid: dict[str, list[Any]] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        if not equals or not values:
            raise ParameterError(f"write a grid as name=value,value, found '{text}'.")
        if key in grid:
            raise ParameterError(f"there are two grids of {key}: put all values into one.")
        grid[key] = [parse_value(key, value, kinds) for value in _split(values)]
    return grid


def parse_value(key: str, text: str, kinds: Mapping[str, str]) -> Any:
    """The value of a parameter, "name.parameter" or "parameter", as the first ranker that has it reads it."""
    from swaprank.registry import ranker_class

    name, dot, parameter = key.rpartition(".")
    if dot and name not in kinds:
        raise ParameterError(f"'{key}' is meant for a ranker '{name}'; {did_you_mean(name, kinds)}")
    known: dict[str, str] = {}
    for kind in (kinds[name],) if dot else kinds.values():
        known |= dict.fromkeys(ranker_class(kind)._get_param_names(), kind)
    if parameter not in known:
        who = name or ("no ranker" if len(kinds) > 1 else next(iter(kinds)))
        has = "has a" if who == "no ranker" else "has no"
        raise ParameterError(f"{who} {has} parameter '{parameter}'; {did_you_mean(parameter, known)}")
    return parse_settings(known[parameter], [f"{parameter}={text}"])[parameter]


def _split(text: str) -> list[str]:
    """At the commas that are within no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
