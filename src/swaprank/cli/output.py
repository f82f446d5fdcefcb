"""Printing: results always, information unless --quiet, details only if --verbose.

Some terminals (old Windows, LANG=C) cannot show all characters.
"""

import sys
from contextvars import ContextVar
from enum import IntEnum

import typer


class Verbosity(IntEnum):
    """How much to print in addition to the results."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


verbosity = ContextVar("verbosity", default=Verbosity.NORMAL)
stdout_is_taken = ContextVar("stdout_is_taken", default=False)
"""Whether the file that the command writes is standard output: all text then goes to standard error."""


def print_result(text: str) -> None:
    """Print a result to standard output; characters that its encoding lacks are escaped."""
    printable = text if can_print(text) else text.encode(_encoding(), "backslashreplace").decode(_encoding())
    typer.echo(printable, err=stdout_is_taken.get())


def print_info(text: str) -> None:
    """Print information, such as the name of a written file, to standard output unless --quiet."""
    if verbosity.get() > Verbosity.QUIET:
        print_result(text)


def print_note(text: str) -> None:
    """Print progress or a warning to standard error unless --quiet."""
    if verbosity.get() > Verbosity.QUIET:
        _print_error(text)


def print_detail(text: str) -> None:
    """Print a step of the work to standard error if --verbose."""
    if verbosity.get() is Verbosity.VERBOSE:
        _print_error(text)


def can_print(text: str) -> bool:
    """Whether the encoding of standard output has these characters."""
    try:
        text.encode(_encoding())
    except UnicodeEncodeError:
        return False
    return True


def _print_error(text: str) -> None:
    # typer.echo would write into a progress bar; rich redirects print around it.
    print(text, file=sys.stderr, flush=True)


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"  # there may be no standard output
