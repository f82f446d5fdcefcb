"""Adds --verbose and --quiet to every command."""

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from swaprank.cli.output import Verbosity, print_detail, stdout_is_taken, verbosity
from swaprank.files import is_standard_output

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
        stdout_is_taken.set(is_standard_output(options.get("output")))
        command(*arguments, **options)
        _say_if_kernels_are_lost()

    setattr(run, "__signature__", signature.replace(parameters=[*signature.parameters.values(), *added]))  # noqa: B010
    return run


def _say_if_kernels_are_lost() -> None:
    """Say why the next run will compile again, if this one compiled and could not save."""
    storage = sys.modules.get("swaprank.compilation.storage")
    if storage and storage.STORAGE.n_compiled and storage.STORAGE.problem:
        print_detail(
            f"{storage.STORAGE.n_compiled} compiled kernels could not be saved: {storage.STORAGE.problem}. "
            "Set NUMBA_CACHE_DIR to a folder of yours, or let the owner of the installation run `swaprank warm`."
        )
