"""-v and -q for every verb, added to them in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from swaprank.cli.output import Verbosity, verbosity

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tell every step, on standard error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but results.")]


def with_verbosity(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb that takes -v and -q as well."""
    taken = inspect.signature(verb, eval_str=True)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in (("verbose", Verbose), ("quiet", Quiet))
    ]

    @wraps(verb)
    def run(*arguments: Any, verbose: bool, quiet: bool, **options: Any) -> None:
        if verbose and quiet:
            raise typer.BadParameter("--verbose and --quiet do not go together.")
        verbosity.set(Verbosity.VERBOSE if verbose else Verbosity.QUIET if quiet else Verbosity.NORMAL)
        verb(*arguments, **options)

    setattr(run, "__signature__", taken.replace(parameters=[*taken.parameters.values(), *more]))  # noqa: B010
    return run
