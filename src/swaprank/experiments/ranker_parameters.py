"""Parameters of rankers: check their names, list them with their descriptions, convert their values."""

import inspect
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from swaprank.errors import ParameterError, did_you_mean
from swaprank.experiments.config_files import NONE
from swaprank.objectives.objective import Objective
from swaprank.peer_names import PARAMETERS
from swaprank.rankers.ranker import Ranker
from swaprank.registry import RANKERS, make_ranker, ranker_class

_NOT_TRAINED_FOR = ("metric", "base_ranker", "members", "n_threads")


class ParameterInfo(NamedTuple):
    """Name, default and description of one parameter of a ranker."""

    name: str
    default: Any
    meaning: str


def check_parameter_names(ranker: str, names: Iterable[str]) -> None:
    """Raise ParameterError if a kind of ranker lacks one of these parameters.

    >>> from swaprank.experiments.ranker_parameters import check_parameter_names
    >>> check_parameter_names("mart", ["n_leaves"])
    """
    known = ranker_class(ranker)._get_param_names()
    for name in names:
        if name not in known:
            raise ParameterError(
                f"{ranker} has no parameter '{name}'; {did_you_mean(PARAMETERS.get(name, name), known)}"
            )


def parse_settings(ranker: str, settings: Iterable[str]) -> dict[str, Any]:
    """Parse settings such as "n_leaves=31" for a kind of ranker.

    >>> from swaprank.experiments.ranker_parameters import parse_settings
    >>> parse_settings("lambdarank", ["hidden=(10,5)", "early_stopping_rounds=none"])
    {'hidden': (10, 5), 'early_stopping_rounds': None}
    """
    settings = list(settings)
    made = make_ranker(ranker, settings)
    return {(name := setting.partition("=")[0]): getattr(made, name) for setting in settings}


def training_parameters(ranker: Ranker) -> dict[str, Any]:
    """The parameters that the model depends on, apart from the metric: all except base_ranker and n_threads.

    An objective given as an instance is named by its text.

    >>> import swaprank as sr
    >>> from swaprank.experiments.ranker_parameters import training_parameters
    >>> training_parameters(sr.ensembles.Combination())
    {'whole_line': False}
    """
    names = type(ranker)._get_param_names()
    order = [name for name in inspect.signature(type(ranker)).parameters if name in names]
    values = {name: getattr(ranker, name) for name in order if name not in _NOT_TRAINED_FOR}
    return {name: str(value) if isinstance(value, Objective) else value for name, value in values.items()}


def from_config_value(value: Any) -> Any:
    """Convert a value of a configuration file to a parameter: lists become tuples, "none" becomes None.

    >>> from swaprank.experiments.ranker_parameters import from_config_value
    >>> from_config_value([10, 5]), from_config_value("none")
    ((10, 5), None)
    """
    if isinstance(value, list):
        return tuple(from_config_value(item) for item in value)
    return None if isinstance(value, str) and value.lower() == NONE else value


def trainable_rankers() -> dict[str, str]:
    """The rankers that can be trained on data, with their one-line descriptions.

    >>> from swaprank.experiments.ranker_parameters import trainable_rankers
    >>> trainable_rankers()["lambdamart"]
    "Boosted trees that follow LambdaRank's gradients for a metric [Burges2010, section 7]."
    """
    kinds = {name: ranker_class(name) for name in sorted(RANKERS)}
    return {
        name: (inspect.getdoc(kind) or "").partition("\n")[0]
        for name, kind in kinds.items()
        if kind.learns_from == "data"
    }


def list_parameters(ranker: str) -> list[ParameterInfo]:
    """List the parameters of a kind of ranker with their defaults and descriptions.

    >>> from swaprank.experiments.ranker_parameters import list_parameters
    >>> list_parameters("mart")[3]
    ParameterInfo(name='n_leaves', default=31, meaning='Maximum number of leaves per tree.')
    """
    kind = ranker_class(ranker)
    text = inspect.getdoc(kind) or ""
    meanings: dict[str, str] = {}
    if shared := re.search(r"The other parameters are those of (\w+)\.", text):
        meanings = _docstring_args(inspect.getdoc(ranker_class(shared[1].lower())) or "")
    meanings |= _docstring_args(text)
    signature = inspect.signature(kind).parameters
    return [
        ParameterInfo(name, parameter.default, meanings.get(name, ""))
        for name, parameter in signature.items()
        if name not in ("base_ranker", "members")
    ]


def _docstring_args(docstring: str) -> dict[str, str]:
    """The entries of a docstring's Args section."""
    _, _, after = docstring.partition("\nArgs:\n")
    section = re.split(r"\n(?=\S)", after, maxsplit=1)[0]
    entries = re.split(r"^    (?=\w+: )", section, flags=re.MULTILINE)
    found = (" ".join(entry.split()).partition(": ") for entry in entries if entry.strip())
    return {name: meaning for name, _, meaning in found}
