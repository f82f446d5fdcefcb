"""Results as JSON, which has no NaN: a number that does not exist is null."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def json_number(value: Any) -> Any:
    """None in place of NaN; anything else as it is."""
    return None if isinstance(value, float) and value != value else value


def json_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with None in place of NaN."""
    return [{name: json_number(value) for name, value in row.items()} for row in rows]


def json_text(values: Any, *, large: bool = False) -> str:
    """JSON to be read by people, or on one line where there is much of it: indenting costs ten times the time."""
    return json.dumps(values, indent=None if large else 2, allow_nan=False)
