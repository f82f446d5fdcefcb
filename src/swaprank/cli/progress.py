"""A bar on a terminal, and silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from swaprank.rankers.rounds import Progress


@contextmanager
def training_bar() -> Iterator[Callable[[Progress], None]]:
    """Something to call after every round: it draws a bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda told: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(told: Progress) -> None:
            words = "  ".join(f"{name} {value:.4f}" for name, value in told.measured.items())
            bar.update(task, total=told.n_rounds, completed=told.round, description=words)

        yield show
