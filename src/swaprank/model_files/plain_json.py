"""Strict JSON for plain values: the same content gives the same bytes, and floats are exact.

JSON has no NaN and infinities. They become `{"$float": "nan"}`.
"""

import json
import math
from typing import Any, NoReturn

import numpy as np

from swaprank.errors import ModelFileError

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
