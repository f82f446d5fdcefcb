"""Results as plain Python values and as JSON, which has no NaN: NaN becomes None and null."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """The value as JSON knows it: dicts with text keys, lists, numbers, None for NaN and infinity, text for the rest.

    >>> from swaprank.rendering.json_values import plain
    >>> plain({"hidden": (10, 5), 7: float("nan")})
    {'hidden': [10, 5], '7': None}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def json_number(value: Any) -> Any:
    """None for NaN; other values unchanged."""
    return None if isinstance(value, float) and value != value else value


def json_text(values: Any, *, large: bool = False) -> str:
    """Indented JSON of plain values; or, if it is large, on one line, because indenting is ten times slower."""
    return json.dumps(plain(values), indent=None if large else 2, allow_nan=False)
