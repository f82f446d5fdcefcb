"""Presets of metric options that reproduce other tools."""

from typing import Any

CONVENTIONS: dict[str, dict[str, Any]] = {
    "standard": {},
    "trec": {"gain": "linear", "ties": "docid"},
    "letor": {"discount": "letor", "short": "zero", "ties": "input"},
    "mslr": {"discount": "letor", "short": "zero", "ties": "input", "rel": 2},
    "lightgbm": {"over": "reachable", "empty": 1, "ties": "input"},
}
"""Only the options that differ from the standard; a metric ignores those that it does not have."""
