"""Adds options that name the columns of tables to every command that reads data."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

_PANEL = "Columns of tables"


def _column(name: str, meaning: str, default: str | None = None) -> Any:
    return Annotated[
        str | None,
        typer.Option(
            f"--{name}", metavar="COLUMN", help=meaning, show_default=default or False, rich_help_panel=_PANEL
        ),
    ]


def _columns(name: str, meaning: str, default: str | None = None) -> Any:
    return Annotated[
        list[str] | None,
        typer.Option(
            f"--{name}",
            metavar="COLUMNS",
            help=f"{meaning}, separated by commas. Can be repeated.",
            show_default=default or False,
            rich_help_panel=_PANEL,
        ),
    ]


OPTIONS: Mapping[str, Any] = {
    "label": _column("label", "Relevance labels.", "label"),
    "qid": _column("qid", "Query ids.", "qid"),
    "docid": _column("docid", "Document ids."),
    "sample_weight": _column("sample-weight", "Training weights of documents."),
    "features": _columns("features", "Features", "all columns without another role"),
    "ignore": _columns("ignore", "Columns to leave out"),
    "categorical_features": _columns(
        "categorical", "Features whose values are categories; also feature numbers of LETOR text"
    ),
}
"""The options by the keywords of `swaprank.read` that they stand for."""
LOG_OPTIONS: Mapping[str, Any] = {
    "session": _column("session", "Session ids: one id per page of results.", "session"),
    "qid": OPTIONS["qid"],
    "docid": _column("docid", "Document ids.", "docid"),
    "position": _column("position", "Positions, from 1.", "position"),
    "click": _column("click", "Clicks: 0 or 1, or grades from 0 to 1.", "click"),
    "propensity": _column("propensity", "Logged propensities."),
    "features": OPTIONS["features"],
}
"""The options by the keywords of `swaprank.clicks.read_clicks` that they stand for."""
_KINDS = {"columns": OPTIONS, "log_columns": LOG_OPTIONS}
"""The options that replace a parameter of a command."""


def with_table_columns(command: Callable[..., None]) -> Callable[..., None]:
    """The command with its parameter `columns` or `log_columns` replaced by options; it is what they gave."""
    signature = inspect.signature(command, eval_str=True)
    kind = next((name for name in _KINDS if name in signature.parameters), None)
    if kind is None:
        return command
    known = _KINDS[kind]
    added = [
        inspect.Parameter(f"{name}_column", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in known.items()
    ]
    others = [parameter for name, parameter in signature.parameters.items() if name != kind]

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        given = {name: options.pop(f"{name}_column") for name in known}
        columns = {name: _names(value) if isinstance(value, list) else value for name, value in given.items() if value}
        command(*arguments, **{kind: columns}, **options)

    setattr(run, "__signature__", signature.replace(parameters=[*others, *added]))  # noqa: B010
    return run


def _names(given: list[str]) -> list[str]:
    return [name.strip() for names in given for name in names.split(",") if name.strip()]
