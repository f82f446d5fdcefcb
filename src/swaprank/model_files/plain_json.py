"""Plain values as JSON with the same bytes everywhere, and configurations that are compared with saved ones."""

import json
import math
import os
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from swaprank.errors import DataError, ModelFileError

_FLOAT = "$float"


def to_json(value: Any) -> bytes:
    """Canonical JSON. Tuples, ranges and arrays become lists; NumPy scalars become Python scalars.

    >>> from swaprank.model_files.plain_json import to_json
    >>> to_json({"sigma": 1.0, "best": float("nan"), "hidden": (10, 5)})
    b'{"best":{"$float":"nan"},"hidden":[10,5],"sigma":1.0}'
    """
    try:
        text = json.dumps(_encoded(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except RecursionError:
        raise ModelFileError("a model file cannot hold values that are nested so deeply.") from None
    return text.encode("ascii")


def from_json(text: bytes) -> Any:
    """The inverse of `to_json`; raises ValueError if the text is not such JSON.

    >>> from swaprank.model_files.plain_json import from_json
    >>> from_json(b'{"best":{"$float":"nan"},"hidden":[10,5]}')
    {'best': nan, 'hidden': [10, 5]}
    """
    try:
        return json.loads(text.decode("ascii"), object_hook=_decoded, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _encoded(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return [_encoded(item) for item in value.tolist()] if value.ndim else _encoded(value.item())
    if isinstance(value, list | tuple | range):
        return [_encoded(item) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or key == _FLOAT:
                raise ModelFileError(f"a model file cannot hold the key {key!r}: keys must be text.")
        return {key: _encoded(item) for key, item in value.items()}
    raise ModelFileError(f"a model file cannot hold {value!r}: only numbers, text, lists and dictionaries.")


def _decoded(found: dict[str, Any]) -> Any:
    if _FLOAT not in found:
        return found
    if len(found) > 1 or found[_FLOAT] not in ("nan", "inf", "-inf"):
        raise ValueError(f"{found} is not a number")
    return float(found[_FLOAT])


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as they are after writing and reading JSON: tuples become lists."""
    plain: dict[str, Any] = from_json(to_json(dict(values)))
    return plain


def check_configuration(
    file: str | os.PathLike[str] | None, saved: Mapping[str, Any], current: Mapping[str, Any]
) -> None:
    """Raise DataError if a saved search was run with another configuration; the message lists what changed.

    >>> from swaprank.model_files.plain_json import check_configuration
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

    >>> from swaprank.model_files.plain_json import format_parameters
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
