"""Results as JSON, which has no NaN: NaN becomes null."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def json_number(value: Any) -> Any:
    """None for NaN; other values unchanged."""
    return None if isinstance(value, float) and value != value else value


def json_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with None for NaN."""
    return [{name: json_number(value) for name, value in row.items()} for row in rows]


def json_text(values: Any, *, large: bool = False) -> str:
    """Indented JSON; or, if it is large, on one line, because indenting is ten times slower."""
    return json.dumps(values, indent=None if large else 2, allow_nan=False)
