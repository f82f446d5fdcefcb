"""Presets: what a metric's name means to the tools that people compare with."""

from __future__ import annotations

from typing import Any

CONVENTIONS: dict[str, dict[str, Any]] = {
    "standard": {},
    "trec": {"gain": "linear", "ties": "docid"},
    "letor": {"discount": "letor", "short": "zero", "ties": "input"},
    "mslr": {"discount": "letor", "short": "zero", "ties": "input", "rel": 2},
    "lightgbm": {"over": "reachable", "empty": 1, "ties": "input"},
}
"""Only what differs from our own; a metric takes those options that it has."""
