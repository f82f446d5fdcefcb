"""Search ranges of tuning: as users and rankers write them, and as Optuna needs them."""

from typing import Any, NamedTuple, TypeAlias

from swaprank.errors import Hint, ParameterError, Wording
from swaprank.experiments.grid_search import parse_grid
from swaprank.objectives.objective import Objective
from swaprank.rankers.ranker import Ranker


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


def default_ranges(ranker: Ranker) -> dict[str, Range]:
    """The default search ranges of a ranker; parameters that have no effect on its objective are left out.

    >>> import swaprank as sr
    >>> from swaprank.experiments.tuning_ranges import default_ranges
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
        unused |= {"objective"} if isinstance(given, Objective) else set()
    return {name: as_range(name, span) for name, span in ranges.items() if name not in unused}


def fixed_while_tuning(kind: type[Ranker]) -> dict[str, Any]:
    """The parameters that `tune` sets for all trials, such as early stopping.

    >>> import swaprank as sr
    >>> from swaprank.experiments.tuning_ranges import fixed_while_tuning
    >>> fixed_while_tuning(sr.LambdaMART)
    {'n_trees': 2000, 'early_stopping_rounds': 50}
    """
    return {name: each.tuned_at for name, each in kind.declared.items() if each.tuned_at is not None}


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
        f"the range of {name} must be ",
        Wording(
            "(low, high) or a list of values, such as (7, 63) or [True, False]",
            "LOW..HIGH or a list of values, such as 7..63 or true,false",
        ),
        f"; found {given!r}.",
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
