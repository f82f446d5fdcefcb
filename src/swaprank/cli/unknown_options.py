"""Suggestions for unknown options: parameters of rankers are given with --set, also those with names of LightGBM."""

from itertools import zip_longest
from typing import Any

from typer.core import TyperCommand

_OWN_OPTIONS = {"random_state": "--seed", "n_threads": "--threads", "metric": "--metric"}
"""Parameters that have an option of their own."""
_OTHER_OPTIONS = dict.fromkeys(("eval_set", "valid_sets", "valid_data", "evals", "validation"), "--valid") | {
    "base": "--base-ranker"
}
"""Names that other command lines have for an option of ours."""


class SuggestingCommand(TyperCommand):
    """A command that says what to type instead of an option that it does not have."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; an error about an unknown option says what to type instead."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if type(error).__name__ == "NoSuchOption":
                options = {option for parameter in self.params for option in parameter.opts}
                suggestion = suggested(error.option_name, given, options)  # type: ignore[attr-defined]
                if suggestion:
                    error.message += f"; {suggestion}"  # type: ignore[attr-defined]
                    error.possibilities = None  # type: ignore[attr-defined]
            raise


def suggested(option: str, arguments: list[str], options: set[str]) -> str:
    """The words to type instead of an unknown option of a command with these arguments and options; or nothing."""
    from swaprank.experiments.ranker_parameters import names_elsewhere
    from swaprank.peer_names import ADVICE
    from swaprank.registry import RANKERS

    name = option.lstrip("-").replace("-", "_").lower()
    for_rankers = _parameters(arguments)
    ours = [name] if name in for_rankers else names_elsewhere().get(name, name).split(" or ")
    own = _OTHER_OPTIONS.get(name) or _OWN_OPTIONS.get(ours[0])
    value = _value_of(option, arguments)
    if own in options:
        return f"write {own} {value}"
    if "--set" not in options:
        return ""
    settings = [f"--set {each}={value}" for each in ours if each in for_rankers]
    if settings:
        return f"it is a parameter of the ranker: {' or '.join(settings)}"
    elsewhere = [kind for kind, names in _parameters_of_all().items() if ours[0] in names and kind in RANKERS]
    if elsewhere:
        return f"{ours[0]} is a parameter of {', '.join(elsewhere)}: --ranker {elsewhere[0]} --set {ours[0]}={value}"
    advice = ADVICE.get(name, "")
    if advice.startswith("not available"):
        return advice
    return _similar(name, for_rankers, value, options)


def _similar(name: str, known: list[str], value: str, options: set[str]) -> str:
    from difflib import get_close_matches

    set_only = [each for each in known if each not in _OWN_OPTIONS]
    nearest = get_close_matches(name, [*(each.lstrip("-").replace("-", "_") for each in options), *set_only], n=1)
    return f"did you mean --set {nearest[0]}={value}?" if nearest and nearest[0] in set_only else ""


def _value_of(option: str, arguments: list[str]) -> str:
    """The value that follows an option."""
    for argument, following in zip_longest(arguments, arguments[1:], fillvalue=""):
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
        if argument == option and following and not following.startswith("--"):
            return following
    return "VALUE"


def _parameters(arguments: list[str]) -> list[str]:
    """The parameters of the rankers that the arguments name."""
    from swaprank.experiments.ranker_parameters import trainable_rankers

    words = [word for argument in arguments for word in argument.split("=")]
    named = [kind for kind in trainable_rankers() if kind in words] or ["lambdamart"]
    return [name for kind in named for name in _parameters_of_all()[kind]]


def _parameters_of_all() -> dict[str, list[str]]:
    from swaprank.experiments.ranker_parameters import list_parameters, trainable_rankers

    return {kind: [parameter.name for parameter in list_parameters(kind)] for kind in trainable_rankers()}
