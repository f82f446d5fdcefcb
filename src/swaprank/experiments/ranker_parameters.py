"""Parameters of rankers by their names: checked, listed with what they mean, and as plain values."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from swaprank.errors import ParameterError, did_you_mean
from swaprank.experiments.config_files import NONE
from swaprank.rankers.ranker import Ranker
from swaprank.registry import RANKERS, make_ranker, ranker_class


class ParameterFact(NamedTuple):
    """A parameter of a ranker."""

    name: str
    default: Any
    meaning: str


def check_names(ranker: str, names: Iterable[str]) -> None:
    """Refuse a parameter that a kind of ranker has not.

    >>> from swaprank.experiments.ranker_parameters import check_names
    >>> check_names("mart", ["n_leaves"])
    """
    known = ranker_class(ranker)._get_param_names()
    for name in names:
        if name not in known:
            raise ParameterError(f"{ranker} has no parameter '{name}'; {did_you_mean(name, known)}")


def parse_settings(ranker: str, settings: Iterable[str]) -> dict[str, Any]:
    """The values of settings such as "n_leaves=31", checked against a kind of ranker.

    >>> from swaprank.experiments.ranker_parameters import parse_settings
    >>> parse_settings("lambdarank", ["hidden=(10,5)", "early_stopping_rounds=none"])
    {'hidden': (10, 5), 'early_stopping_rounds': None}
    """
    settings = list(settings)
    made = make_ranker(ranker, settings)
    return {(name := setting.partition("=")[0]): getattr(made, name) for setting in settings}


def plain_parameters(ranker: Ranker) -> dict[str, Any]:
    """What makes the model: all parameters but the metric, the base ranker and the number of threads.

    >>> import swaprank as sr
    >>> from swaprank.experiments.ranker_parameters import plain_parameters
    >>> plain_parameters(sr.Combination())
    {'whole_line': False}
    """
    names = type(ranker)._get_param_names()
    order = [name for name in inspect.signature(type(ranker)).parameters if name in names]
    return {
        name: getattr(ranker, name) for name in order if name not in ("metric", "base_ranker", "members", "n_threads")
    }


def from_plain(value: Any) -> Any:
    """A value of a configuration file as a parameter: lists are tuples, and "none" is None.

    >>> from swaprank.experiments.ranker_parameters import from_plain
    >>> from_plain([10, 5]), from_plain("none")
    ((10, 5), None)
    """
    if isinstance(value, list):
        return tuple(from_plain(item) for item in value)
    return None if isinstance(value, str) and value.lower() == NONE else value


def trainable_rankers() -> dict[str, str]:
    """The kinds of ranker that learn from data, and what each is.

    >>> from swaprank.experiments.ranker_parameters import trainable_rankers
    >>> trainable_rankers()["lambdamart"]
    "Boosted trees that follow LambdaRank's gradients for a metric [Burges2010, section 7]."
    """
    kinds = {name: ranker_class(name) for name in sorted(RANKERS)}
    return {
        name: (inspect.getdoc(kind) or "").partition("\n")[0]
        for name, kind in kinds.items()
        if not kind.made_of_rankers
    }


def parameters_of(ranker: str) -> list[ParameterFact]:
    """The parameters of a kind of ranker, with their defaults and what they mean.

    >>> from swaprank.experiments.ranker_parameters import parameters_of
    >>> parameters_of("mart")[3]
    ParameterFact(name='n_leaves', default=31, meaning='Maximum number of leaves per tree.')
    """
    kind = ranker_class(ranker)
    # What two kinds share is told in the docstring of one of them.
    meanings: dict[str, str] = {}
    for described in ("lambdarank", "lambdamart", ranker):
        meanings |= _meanings(inspect.getdoc(ranker_class(described)) or "")
    signature = inspect.signature(kind).parameters
    return [
        ParameterFact(name, parameter.default, meanings.get(name, ""))
        for name, parameter in signature.items()
        if name not in ("base_ranker", "members")
    ]


def _meanings(docstring: str) -> dict[str, str]:
    """The entries of a docstring's Args."""
    _, _, after = docstring.partition("\nArgs:\n")
    section = re.split(r"\n(?=\S)", after, maxsplit=1)[0]
    entries = re.split(r"^    (?=\w+: )", section, flags=re.MULTILINE)
    found = (" ".join(entry.split()).partition(": ") for entry in entries if entry.strip())
    return {name: meaning for name, _, meaning in found}
