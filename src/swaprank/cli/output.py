"""Output of the commands: exit codes, text, and progress on standard error.

Results are printed always, information unless --quiet, details only if --verbose. Some terminals (old Windows, LANG=C)
cannot show all characters. Progress is a bar on a terminal, and lines elsewhere, if --verbose.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from swaprank.rendering.bars import UpdateBar, best_bar
from swaprank.rendering.escaping import printable

if TYPE_CHECKING:
    from swaprank.rankers.rounds import Callback

NO = 1
"""`certify`: the model is not at an optimum."""
DRIFT = 3
"""`drift`: the data is not like that of training."""
BAD_INPUT = 2
"""Bad usage or bad input."""
BROKEN = 70
"""An internal error; EX_SOFTWARE of sysexits.h."""
INTERRUPTED = 130
"""Ctrl-C (128 + SIGINT). `swaprank.__main__` has the codes of the other signals."""
CLOSED_PIPE = 141
"""The reader of the output has left, as in `swaprank … | head` (128 + SIGPIPE)."""


class Verbosity(IntEnum):
    """The amount that is printed in addition to the results."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


verbosity = ContextVar("verbosity", default=Verbosity.NORMAL)
stdout_is_taken = ContextVar("stdout_is_taken", default=False)
"""True if the file that the command writes is standard output: all text then goes to standard error."""


def print_result(text: str) -> None:
    """Print a result to standard output; characters that a terminal obeys or its encoding lacks are escaped."""
    shown = printable(text)
    known = shown if can_print(shown) else shown.encode(_encoding(), "backslashreplace").decode(_encoding())
    typer.echo(known, err=stdout_is_taken.get())


def print_json(values: Any, *, large: bool = False) -> None:
    """Print values as JSON; see `json_text`."""
    from swaprank.rendering.result import json_text

    print_result(json_text(values, large=large))


def print_info(text: str) -> None:
    """Print information, such as the name of a written file, to standard output unless --quiet."""
    if verbosity.get() > Verbosity.QUIET:
        print_result(text)


def print_either(values: Any, text: str, json: bool, *files: Path | None) -> None:
    """Print a result as JSON; or as text, and below it, as information, the names of the files that were written."""
    if json:
        print_json(values)
        return
    print_result(text)
    for file in files:
        if file is not None:
            print_info(f"\n{file}")


def print_note(text: str) -> None:
    """Print progress or a warning to standard error unless --quiet."""
    if verbosity.get() > Verbosity.QUIET:
        print_error(text)


def print_detail(text: str) -> None:
    """Print a step of the work to standard error if --verbose."""
    if verbosity.get() is Verbosity.VERBOSE:
        print_error(text)


def can_print(text: str) -> bool:
    """True if the encoding of standard output has these characters."""
    try:
        text.encode(_encoding())
    except UnicodeEncodeError:
        return False
    return True


def print_error(text: str) -> None:
    """Print to standard error; characters that a terminal obeys are escaped."""
    # typer.echo would write into a progress bar; rich redirects print around it.
    if sys.stderr is not None:
        print(printable(text), file=sys.stderr, flush=True)


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"  # there may be no standard output


def progress_bar(unit: str = "step") -> AbstractContextManager[UpdateBar]:
    """Show progress; the context is a function that updates it."""
    if verbosity.get() is Verbosity.QUIET:
        return nullcontext(lambda done, total, title, details: None)
    return best_bar(unit, print_detail)


@contextmanager
def training_bar() -> "Iterator[Callable[[str], list[Callback]]]":
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
