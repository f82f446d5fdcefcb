"""Errors about the arguments: they repeat what was typed, or what a pattern such as * put there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup

from swaprank.rendering.escaping import printable


class EscapingGroup(TyperGroup):
    """All commands: their errors about arguments have no characters that a terminal obeys."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the options before the command."""
        with _escaped():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Parse the arguments of a command, and run it."""
        with _escaped():
            return super().invoke(ctx)


@contextmanager
def _escaped() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # The class is in Click, of which some versions of Typer have a copy.
        if hasattr(error, "format_message"):
            error.message = printable(error.message)  # type: ignore[attr-defined]
        raise
