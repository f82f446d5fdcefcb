"""What the verbs print, on any terminal: some (old Windows, LANG=C) lack the characters that we would like."""

from __future__ import annotations

import sys

import typer


def show(text: str) -> None:
    """Print to standard output; what its encoding lacks is written as an escape."""
    typer.echo(text if can_show(text) else text.encode(_encoding(), "backslashreplace").decode(_encoding()))


def can_show(text: str) -> bool:
    """Whether standard output has these characters."""
    try:
        text.encode(_encoding())
    except UnicodeEncodeError:
        return False
    return True


def _encoding() -> str:
    return sys.stdout.encoding or "utf-8"
