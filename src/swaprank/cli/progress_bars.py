"""Progress on standard error: a bar on a terminal; lines elsewhere, if --verbose."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from swaprank.cli.output import Verbosity, print_detail, verbosity

if TYPE_CHECKING:
    from swaprank.rankers.rounds import Callback, Progress

MAX_LINES = 20
"""Largest number of lines per training when there is no terminal."""

UpdateBar: TypeAlias = Callable[[int, int, str, str], None]
"""Called with the finished steps, all steps, a title and details. A new title starts a new bar."""


@contextmanager
def progress_bar(unit: str = "step") -> Iterator[UpdateBar]:
    """Show progress; yields a function that updates it."""
    if verbosity.get() is Verbosity.QUIET:
        yield lambda done, total, title, details: None
    elif sys.stderr.isatty():
        yield from _terminal_bar()
    else:
        yield partial(_print_line, unit)


@contextmanager
def training_bar() -> Iterator[Callable[[str], list[Callback]]]:
    """Show the progress of trainings; yields a function that takes a title and returns callbacks for `fit`."""
    with progress_bar("round") as update:

        def callbacks(title: str) -> list[Callback]:
            def show(progress: Progress) -> None:
                details = "  ".join(
                    f"{name} {metric} {value:.4f}"
                    for name, of_set in progress.measured.items()
                    for metric, value in of_set.items()
                )
                update(progress.round, progress.n_rounds, title, details)

            return [show]

        yield callbacks


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show a spinner on standard output if it is a terminal."""
    if verbosity.get() is Verbosity.QUIET or not sys.stdout.isatty():
        yield
        return
    from rich.console import Console

    with Console().status(text):
        yield


def _terminal_bar() -> Iterator[UpdateBar]:
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TimeRemainingColumn(),
        rich_progress.TextColumn("{task.description}"),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, current_title = bar.add_task("", total=None), ""

        def update(done: int, total: int, title: str, details: str) -> None:
            nonlocal task, current_title
            if title != current_title:
                # A new task has its own remaining time.
                bar.remove_task(task)
                task, current_title = bar.add_task("", total=None), title
            bar.update(task, total=total, completed=done, description=f"{title}  {details}".strip())

        yield update


def _print_line(unit: str, done: int, total: int, title: str, details: str) -> None:
    if done % max(1, total // MAX_LINES) == 0 or done == total:
        print_detail(f"{title}  {unit} {done:,} of {total:,}  {details}".strip())
