"""Configurations of saved work: it may be continued with the same one only."""

import os
from collections.abc import Mapping
from typing import Any

from swaprank.errors import DataError
from swaprank.model_files.plain_json import from_json, to_json


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as they are after writing and reading JSON: tuples become lists."""
    plain: dict[str, Any] = from_json(to_json(dict(values)))
    return plain


def check_configuration(
    file: str | os.PathLike[str] | None, saved: Mapping[str, Any], current: Mapping[str, Any]
) -> None:
    """Raise DataError if a saved search was run with another configuration; the message lists what changed.

    >>> from swaprank.model_files.configurations import check_configuration
    >>> check_configuration("mart.json", {"n_trees": 4, "l2": 0.0}, {"n_trees": 5, "l2": 0.0})
    Traceback (most recent call last):
    ...
    swaprank.errors.DataError: mart.json was saved with another configuration: n_trees was 4, is now 5. Restore these \
values to resume, or choose another output, or delete this file to start over.
    """
    changes = [
        f"{name} was {format_value(saved.get(name))}, is now {format_value(current.get(name))}"
        for name in {**saved, **current}
        if saved.get(name) != current.get(name)
    ]
    if changes:
        raise DataError(
            f"{file} was saved with another configuration: {'; '.join(changes)}. Restore these values to resume, or "
            "choose another output, or delete this file to start over."
        )


def format_parameters(parameters: Mapping[str, Any]) -> str:
    """Parameters as the command line takes them.

    >>> from swaprank.model_files.configurations import format_parameters
    >>> format_parameters({"n_leaves": 7, "hidden": (10, 5)})
    'n_leaves=7 hidden=(10,5)'
    """
    return " ".join(f"{name}={format_value(value)}" for name, value in parameters.items())


def format_value(value: Any) -> str:
    """A short text for one value."""
    if isinstance(value, float) and len(repr(value)) > 8:
        return f"{value:.4g}"
    text = str(value).replace(" ", "").replace("'", "")
    return text if len(text) <= 40 else f"{text[:37]}…"
