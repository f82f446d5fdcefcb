"""Adds --verbose and --quiet to every command."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any

import typer

from swaprank.cli.output import Verbosity, print_detail, print_note, verbosity
from swaprank.errors import PrecisionWarning

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print every step to standard error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only results.")]


def with_verbosity(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options --verbose and --quiet added."""
    signature = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in (("verbose", Verbose), ("quiet", Quiet))
    ]

    @wraps(command)
    def run(*arguments: Any, verbose: bool, quiet: bool, **options: Any) -> None:
        if verbose and quiet:
            raise typer.BadParameter("--verbose and --quiet exclude each other.")
        verbosity.set(Verbosity.VERBOSE if verbose else Verbosity.QUIET if quiet else Verbosity.NORMAL)
        with _own_warnings_as_notes():
            command(*arguments, **options)
        _say_if_kernels_are_lost()

    setattr(run, "__signature__", signature.replace(parameters=[*signature.parameters.values(), *added]))  # noqa: B010
    return run


@contextmanager
def _own_warnings_as_notes() -> Iterator[None]:
    """Print warnings about the data as notes, without a line of Python code; other warnings as Python does."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", PrecisionWarning)
        show = warnings.showwarning

        def print_warning(message: Any, category: type[Warning], *place: Any, **details: Any) -> None:
            if issubclass(category, PrecisionWarning):
                print_note(f"warning: {message}")
            else:
                show(message, category, *place, **details)

        warnings.showwarning = print_warning
        yield


def _say_if_kernels_are_lost() -> None:
    """Say why the next run will compile again, if this one compiled and could not save."""
    cache = sys.modules.get("swaprank.compilation.cache")
    if cache and cache.STORAGE.n_compiled and cache.STORAGE.problem:
        print_detail(
            f"{cache.STORAGE.n_compiled} compiled kernels could not be saved: {cache.STORAGE.problem}. "
            "Set NUMBA_CACHE_DIR to a folder of yours, or let the owner of the installation run `swaprank warm`."
        )
