"""The command line: one verb a file, each a thin face of a function that Python users call."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from swaprank.cli.compare import compare
from swaprank.cli.demo import demo
from swaprank.cli.evaluate import evaluate
from swaprank.cli.generate import generate
from swaprank.cli.info import info
from swaprank.errors import SwaprankError
from swaprank.version import __version__

app = typer.Typer(
    name="swaprank",
    help="Learning to rank for the measure you care about.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for verb in (demo, info, evaluate, compare, generate):
    app.command()(verb)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"swaprank {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: 0 when all went well, 2 for bad usage or bad input, the reason on standard error."""
    try:
        app(args=arguments)
    except (SwaprankError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            # Whoever read our output has had enough; there is nobody left to tell.
            sys.stderr.close()
            sys.exit(0)
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)
