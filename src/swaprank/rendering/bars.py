"""Progress of long work: a bar on a terminal or in a notebook, lines elsewhere."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from swaprank.rendering.escaping import printable, printable_line

LOGGER = logging.getLogger("swaprank")
"""Progress at the level INFO, for those who set up logging; warnings are given by `warnings`, not here."""
LOGGER.addHandler(logging.NullHandler())

MAX_LINES = 20
"""Largest number of lines of one bar when there is no terminal."""

UpdateBar: TypeAlias = Callable[[int, int, str, str], None]
"""Called with the finished steps, all steps (0 if not known), a title and details. A new title starts a new bar."""
PrintLine: TypeAlias = Callable[[str], None]


def print_progress(line: str) -> None:
    """Print a line at once: to standard error, or in a notebook, which shows that as an error, to standard output."""
    stream = sys.stdout if _in_notebook() else sys.stderr
    stream.write(f"{printable(line)}\n")
    stream.flush()


@contextmanager
def best_bar(unit: str, print_line: PrintLine = print_progress) -> Iterator[UpdateBar]:
    """The bar that fits where standard error goes; yields a function that updates it."""
    if _in_notebook():
        with _notebook_bar() as update:
            yield update
    elif sys.stderr.isatty():
        with terminal_bar() as update:
            yield update
    else:
        yield line_bar(unit, print_line)


@contextmanager
def terminal_bar() -> Iterator[UpdateBar]:
    """A bar of rich on standard error, which is gone at the end."""
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TimeRemainingColumn(),
        rich_progress.TextColumn("{task.description}", markup=False),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, current_title = bar.add_task("", total=None), ""

        def update(done: int, total: int, title: str, details: str) -> None:
            nonlocal task, current_title
            if title != current_title:
                # A new task has its own remaining time.
                bar.remove_task(task)
                task, current_title = bar.add_task("", total=None), title
            shown = printable_line(f"{title}  {details}".strip())
            bar.update(task, total=total or None, completed=done, description=shown)

        yield update


def line_bar(unit: str, print_line: PrintLine, every: int | None = None) -> UpdateBar:
    """A line after every so many steps, and after the last; by default, at most MAX_LINES lines."""

    def update(done: int, total: int, title: str, details: str) -> None:
        if total and (done % (every or max(1, total // MAX_LINES)) == 0 or done == total):
            print_line(f"{title}  {unit} {done:,} of {total:,}  {details}".strip())

    return update


def _in_notebook() -> bool:
    """True if this runs in a Jupyter kernel, whose output is a web page."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def _notebook_bar() -> Iterator[UpdateBar]:
    """One line of output with a bar, which is replaced after every step; at the end, only its text stays."""
    from html import escape

    from IPython.display import display

    shown: Any = None
    text = ""

    def update(done: int, total: int, title: str, details: str) -> None:
        nonlocal shown, text
        text = f"{title}  {done:,} of {total:,}  {details}".strip()
        content = {
            "text/plain": text,
            "text/html": f'<progress value="{done}" max="{total}"></progress> <code>{escape(text)}</code>',
        }
        if shown is None:
            shown = display(content, raw=True, display_id=True)
        else:
            shown.update(content, raw=True)

    try:
        yield update
    finally:
        if shown is not None:
            shown.update({"text/plain": text, "text/html": f"<code>{escape(text)}</code>"}, raw=True)
