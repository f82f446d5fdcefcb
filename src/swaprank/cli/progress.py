"""A bar on a terminal, lines where verbosity is wanted elsewhere, and else silence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from swaprank.cli.output import Verbosity, tell, verbosity

if TYPE_CHECKING:
    from swaprank.rankers.rounds import Callback, Progress

LINES = 20
"""Of a training, at most: a log is not a film."""


@contextmanager
def training_bar(title: Callable[[], str] = lambda: "") -> Iterator[Callable[[Progress], None]]:
    """Something to call after every round: it draws a bar on standard error if that is a terminal.

    Args:
        title: What is being trained, asked anew after every round.
    """
    if verbosity.get() is Verbosity.QUIET:
        yield lambda told: None
    elif sys.stderr.isatty():
        yield from _bar(title)
    else:
        yield lambda told: _line(told, title())


@contextmanager
def training_bars() -> Iterator[Callable[[str], list[Callback]]]:
    """The same for one training after another: told what is about to be trained, it gives what to call."""
    current = ""
    with training_bar(lambda: current) as bar:

        def begin(title: str) -> list[Callback]:
            nonlocal current
            current = title
            return [bar]

        yield begin


def _bar(title: Callable[[], str]) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task, named = bar.add_task("", total=None), ""

        def show(told: Progress) -> None:
            nonlocal task, named
            if title() != named:
                # Another training: its time is its own.
                bar.remove_task(task)
                task, named = bar.add_task("", total=None), title()
            description = f"{named}  {_words(told)}".strip()
            bar.update(task, total=told.n_rounds, completed=told.round, description=description)

        yield show


def _line(told: Progress, title: str) -> None:
    every = max(1, told.n_rounds // LINES)
    if told.round % every == 0 or told.round == told.n_rounds:
        tell(f"{title}  round {told.round:,} of {told.n_rounds:,}  {_words(told)}".strip())


def _words(told: Progress) -> str:
    return "  ".join(
        f"{name} {metric} {value:.4f}" for name, of_set in told.measured.items() for metric, value in of_set.items()
    )
