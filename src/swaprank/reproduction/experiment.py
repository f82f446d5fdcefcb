"""What an experiment is, and what it gives: a table for people, and a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

Tell = Callable[[str], None]
"""Told, in a few words, of every step that is done."""


class Series(NamedTuple):
    """One line of a chart."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    errors: Sequence[float] | None = None
    published: bool = False
    """Whether these are the paper's figures."""


class Chart(NamedTuple):
    """Lines over a common axis."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False


class Outcome(NamedTuple):
    """What came out of an experiment."""

    text: str
    chart: Chart


class Experiment(NamedTuple):
    """One experiment of a paper."""

    name: str
    source: str
    """Where the paper has it."""
    run: Callable[[bool, int, Tell], Outcome]
    """quick, random_state, tell -> outcome; quick ones take less data, and say so."""
