"""Progress on standard error: a bar on a terminal; lines elsewhere, if --verbose."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from swaprank.cli.output import Verbosity, print_detail, verbosity
from swaprank.rendering.bars import UpdateBar, line_bar, terminal_bar

if TYPE_CHECKING:
    from swaprank.rankers.rounds import Callback


@contextmanager
def progress_bar(unit: str = "step") -> Iterator[UpdateBar]:
    """Show progress; yields a function that updates it."""
    if verbosity.get() is Verbosity.QUIET:
        yield lambda done, total, title, details: None
    elif sys.stderr.isatty():
        with terminal_bar() as update:
            yield update
    else:
        yield line_bar(unit, print_detail)


@contextmanager
def training_bar() -> Iterator[Callable[[str], list[Callback]]]:
    """Show the progress of trainings; yields a function that takes a title and returns callbacks for `fit`."""
    from swaprank.rankers.rounds import show_rounds

    with progress_bar("round") as update:
        yield lambda title: [show_rounds(update, title)]


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show a spinner on standard output if it is a terminal."""
    if verbosity.get() is Verbosity.QUIET or not sys.stdout.isatty():
        yield
        return
    from rich.console import Console

    with Console().status(text):
        yield
