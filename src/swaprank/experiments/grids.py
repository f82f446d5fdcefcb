"""Parameter grids: parse them and list the candidates of each ranker."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from swaprank.errors import ParameterError, did_you_mean
from swaprank.experiments.ranker_parameters import parse_settings
from swaprank.peer_names import PARAMETERS
from swaprank.rankers.ranker import Ranker


def candidates(name: str, ranker: Ranker, grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations of the grid values that apply to a ranker; one empty candidate if none do.

    >>> import swaprank as sr
    >>> from swaprank.experiments.grids import candidates
    >>> candidates("mart", sr.MART(), {"n_leaves": (7, 15), "net.hidden": [(5,)], "mart.l2": [0.0, 1.0]})
    [{'n_leaves': 7, 'l2': 0.0}, {'n_leaves': 7, 'l2': 1.0}, {'n_leaves': 15, 'l2': 0.0}, {'n_leaves': 15, 'l2': 1.0}]
    """
    own = values_for(name, type(ranker)._get_param_names(), grid)
    for parameter, values in own.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or len(values) == 0:
            raise ParameterError(f"the grid of {parameter} must be a list of one or more values; found {values!r}.")
    return [dict(zip(own, values, strict=True)) for values in product(*own.values())]


def values_for(name: str, known: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values for one ranker: "parameter" applies to all rankers that have it; "name.parameter" overrides it."""
    known = set(known)
    common = {key: value for key, value in values.items() if key in known}
    prefix = f"{name}."
    named = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
    for key in named:
        if key not in known:
            raise ParameterError(f"{name} has no parameter '{key}'; {did_you_mean(PARAMETERS.get(key, key), known)}")
    return {**common, **named}


def check_grid_names(rankers: Mapping[str, Ranker], grid: Mapping[str, Any]) -> None:
    """Raise ParameterError if a grid names an unknown ranker or parameter.

    >>> import swaprank as sr
    >>> from swaprank.experiments.grids import check_grid_names
    >>> check_grid_names({"mart": sr.MART()}, {"n_leafs": [7]})
    Traceback (most recent call last):
    ...
    swaprank.errors.ParameterError: no ranker has a parameter 'n_leafs'; did you mean 'n_leaves'?
    """
    known = {parameter for ranker in rankers.values() for parameter in type(ranker)._get_param_names()}
    for key in grid:
        name, dot, _ = key.partition(".")
        if dot and name not in rankers:
            raise ParameterError(f"'{key}': there is no ranker '{name}'; {did_you_mean(name, rankers)}")
        if not dot and key not in known:
            raise ParameterError(f"no ranker has a parameter '{key}'; {did_you_mean(PARAMETERS.get(key, key), known)}")


def parse_grid(texts: Iterable[str], kinds: Mapping[str, str]) -> dict[str, list[Any]]:
    """Parse grids such as "n_leaves=7,15" or "lambdarank.hidden=(10,),(20,)"; `kinds` maps names to kinds of rankers.

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
            raise ParameterError(f"there are two grids for {key}: put all values into one.")
        grid[key] = [parse_value(key, value, kinds) for value in _split_at_commas(values)]
    return grid


def parse_value(key: str, text: str, kinds: Mapping[str, str]) -> Any:
    """Parse the value of "parameter", or of "name.parameter" for one ranker."""
    from swaprank.registry import ranker_class

    name, dot, parameter = key.rpartition(".")
    if dot and name not in kinds:
        raise ParameterError(f"'{key}': there is no ranker '{name}'; {did_you_mean(name, kinds)}")
    known: dict[str, str] = {}
    for kind in (kinds[name],) if dot else kinds.values():
        known |= dict.fromkeys(ranker_class(kind)._get_param_names(), kind)
    if parameter not in known:
        who = name or ("no ranker" if len(kinds) > 1 else next(iter(kinds)))
        has = "has a" if who == "no ranker" else "has no"
        raise ParameterError(
            f"{who} {has} parameter '{parameter}'; {did_you_mean(PARAMETERS.get(parameter, parameter), known)}"
        )
    return parse_settings(known[parameter], [f"{parameter}={text}"])[parameter]


def make_rankers(kinds: Mapping[str, str], settings: Iterable[str], **defaults: Any) -> dict[str, Ranker]:
    """Create rankers by name from settings such as "n_trees=50" or "lambdarank.n_epochs=20".

    Args:
        kinds: The kind of each ranker, by name.
        settings: Parameters of all rankers that have them, or of one ranker.
        defaults: Parameters that the settings override; rankers without such a parameter ignore it.

    >>> from swaprank.experiments.grids import make_rankers
    >>> make_rankers({"a": "mart", "b": "ranknet"}, ["a.n_trees=5", "n_epochs=7"], random_state=3)
    {'a': MART(n_trees=5, random_state=3), 'b': RankNet(n_epochs=7, random_state=3)}
    """
    from swaprank.registry import ranker_class

    classes = {name: ranker_class(kind) for name, kind in kinds.items()}
    values = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ParameterError(f"write a setting as name=value, found '{setting}'.")
        values[key] = parse_value(key, text, kinds)
    rankers = {}
    for name, ranker in classes.items():
        known = ranker._get_param_names()
        own = {key: value for key, value in defaults.items() if key in known}
        rankers[name] = ranker(**{**own, **values_for(name, known, values)})
    return rankers


def _split_at_commas(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
