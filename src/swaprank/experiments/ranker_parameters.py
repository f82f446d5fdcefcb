"""Parameters of rankers: their descriptions, values from text and files, and the ranges that tuning searches."""

import inspect
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import swaprank as sr
from swaprank.errors import Hint, ParameterError, Wording
from swaprank.experiments.config_files import NONE
from swaprank.parameters import own_name
from swaprank.peer_names import ARGUMENTS
from swaprank.registry import PRESETS, RANKERS, make_ranker, ranker_class, ranker_maker


class ParameterInfo(NamedTuple):
    """Name, default and description of one parameter of a ranker."""

    name: str
    default: Any
    meaning: str


def check_parameter_names(ranker: str, names: Iterable[str]) -> None:
    """Raise ParameterError if a kind of ranker lacks one of these parameters.

    >>> from swaprank.experiments.ranker_parameters import check_parameter_names
    >>> check_parameter_names("mart", ["n_leaves", "n_estimators"])
    """
    for name in names:
        own_name(ranker_class(ranker), name, ranker)


def parse_settings(ranker: str, settings: Iterable[str]) -> dict[str, Any]:
    """Parse settings such as "n_leaves=31" for a kind of ranker.

    >>> from swaprank.experiments.ranker_parameters import parse_settings
    >>> parse_settings("lambdarank", ["hidden=(10,5)", "early_stopping_rounds=none"])
    {'hidden': (10, 5), 'early_stopping_rounds': None}
    """
    settings, kind = list(settings), ranker_class(ranker)
    made = make_ranker(ranker, settings)
    names = [own_name(kind, setting.partition("=")[0], ranker) for setting in settings]
    return {name: getattr(made, name) for name in names}


def training_parameters(ranker: sr.Ranker) -> dict[str, Any]:
    """The parameters that the model depends on, apart from the metric: all except base_ranker and n_threads.

    An objective given as an instance is named by its text.

    >>> import swaprank as sr
    >>> from swaprank.experiments.ranker_parameters import training_parameters
    >>> training_parameters(sr.ensembles.Combination())
    {'whole_line': False}
    """
    names = [name for name, each in ranker.declared.items() if not each.is_ranker]
    values = {name: getattr(ranker, name) for name in names if name not in ("metric", "n_threads")}
    return {name: str(value) if isinstance(value, sr.objectives.Objective) else value for name, value in values.items()}


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
    """The rankers that can be trained on data, and those of the papers, with their one-line descriptions.

    >>> from swaprank.experiments.ranker_parameters import trainable_rankers
    >>> trainable_rankers()["lambdamart"]
    "Boosted trees that follow LambdaRank's gradients for a metric [Burges2010, section 7]."
    """
    kinds = [name for name in sorted(RANKERS) if ranker_class(name).can.learns_from == "data"]
    return {name: (inspect.getdoc(ranker_maker(name)) or "").partition("\n")[0] for name in (*kinds, *PRESETS)}


def list_parameters(ranker: str) -> list[ParameterInfo]:
    """List the parameters of a kind of ranker, or of one of the papers, with their values and descriptions.

    >>> from swaprank.experiments.ranker_parameters import list_parameters
    >>> list_parameters("mart")[0].name, list_parameters("mart")[0].default
    ('metric', 'ndcg@10')
    """
    made = ranker_maker(ranker)()
    declared = {name: each for name, each in made.declared.items() if not each.is_ranker}
    return [ParameterInfo(name, getattr(made, name), each.text) for name, each in declared.items()]


def names_elsewhere() -> dict[str, str]:
    """The names of other libraries for our parameters: those that are accepted, and those of about the same thing.

    >>> from swaprank.experiments.ranker_parameters import names_elsewhere
    >>> names_elsewhere()["num_leaves"], names_elsewhere()["subsample"]
    ('n_leaves', 'query_fraction or document_fraction')
    """
    accepted = {name: ours for kind in RANKERS for name, ours in ranker_class(kind).accepted_names().items()}
    return {**ARGUMENTS, **accepted}


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


def default_ranges(ranker: sr.Ranker) -> dict[str, Range]:
    """The default search ranges of a ranker; parameters that have no effect on its objective are left out.

    >>> import swaprank as sr
    >>> from swaprank.experiments.ranker_parameters import default_ranges
    >>> default_ranges(sr.LambdaMART())["n_leaves"]
    IntRange(low=4, high=255, log=True)
    >>> "sigma" in default_ranges(sr.LambdaMART()), "sigma" in default_ranges(sr.LambdaMART(objective="smooth"))
    (True, False)
    """
    declared = ranker.declared
    ranges = {name: each.tune for name, each in declared.items() if each.tune is not None}
    if not ranges:
        raise ParameterError(
            f"{ranker.kind} has no default ranges: give ", Hint("ranges", {...}, "--range NAME=LOW..HIGH"), "."
        )
    unused: set[str] = set()
    if "objective" in declared:
        given = ranker.get_params(deep=False)["objective"]
        if given != declared["objective"].default:
            unused = {name for name, each in declared.items() if each.of_objective}
        unused |= {"objective"} if isinstance(given, sr.objectives.Objective) else set()
    return {name: as_range(name, span) for name, span in ranges.items() if name not in unused}


def fixed_while_tuning(kind: type[sr.Ranker]) -> dict[str, Any]:
    """The parameters that `tune` sets for all trials, such as early stopping.

    >>> import swaprank as sr
    >>> from swaprank.experiments.ranker_parameters import fixed_while_tuning
    >>> fixed_while_tuning(sr.LambdaMART)
    {'n_trees': 2000, 'early_stopping_rounds': 'auto'}
    """
    return {name: each.tuned_at for name, each in kind.declared.items() if each.tuned_at is not None}


def as_range(name: str, given: Any) -> Range:
    """Convert a range as users write it: (low, high), a list of choices, or an object of a class above.

    >>> from swaprank.experiments.ranker_parameters import as_range
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
        f"the range of {name} must be ",
        Wording(
            "(low, high) or a list of values, such as (7, 63) or [True, False]",
            "LOW..HIGH or a list of values, such as 7..63 or true,false",
        ),
        f"; found {given!r}.",
    )
