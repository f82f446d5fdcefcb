"""What the verbs print: results always, news unless quiet, details if verbose; on any terminal.

Some terminals (old Windows, LANG=C) lack the characters that we would like.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from enum import IntEnum

import typer


class Verbosity(IntEnum):
    """How much is told beside the results."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


verbosity = ContextVar("verbosity", default=Verbosity.NORMAL)


def show(text: str) -> None:
    """Print a result to standard output; what its encoding lacks is written as an escape."""
    typer.echo(_writable(text))


def say(text: str) -> None:
    """Print what was done, such as the name of a file that was written, unless all shall be quiet."""
    if verbosity.get() > Verbosity.QUIET:
        show(text)


def note(text: str) -> None:
    """Print what the user should know to standard error, unless all shall be quiet."""
    if verbosity.get() > Verbosity.QUIET:
        _print_error(text)


def tell(text: str) -> None:
    """Print what is being done to standard error, where verbosity is wanted."""
    if verbosity.get() is Verbosity.VERBOSE:
        _print_error(text)


def can_show(text: str) -> bool:
    """Whether standard output has these characters."""
    try:
        text.encode(_encoding())
    except UnicodeEncodeError:
        return False
    return True


def _print_error(text: str) -> None:
    # Not typer.echo, which passes by the bar that may be drawn there, and writes into it.
    print(text, file=sys.stderr, flush=True)


def _writable(text: str) -> str:
    return text if can_show(text) else text.encode(_encoding(), "backslashreplace").decode(_encoding())


def _encoding() -> str:
    return sys.stdout.encoding or "utf-8"
