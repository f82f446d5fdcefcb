"""The command line: a command or two per file; each calls a function of the Python API."""

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress

import typer

import swaprank as sr
from swaprank.cli.cmd_agreement import agreement
from swaprank.cli.cmd_analyze import certify, explain
from swaprank.cli.cmd_bin import bin_
from swaprank.cli.cmd_calibrate import calibrate
from swaprank.cli.cmd_click_abtest import clicks_abtest
from swaprank.cli.cmd_click_count import clicks_count
from swaprank.cli.cmd_click_models import clicks_check, clicks_models
from swaprank.cli.cmd_click_policy import clicks_policy
from swaprank.cli.cmd_clicks import clicks_evaluate, clicks_info, clicks_propensity, clicks_simulate, clicks_train
from swaprank.cli.cmd_combine import combine
from swaprank.cli.cmd_cv import cv
from swaprank.cli.cmd_demo import demo
from swaprank.cli.cmd_drift import drift
from swaprank.cli.cmd_evaluate import compare, evaluate
from swaprank.cli.cmd_exchange import export, import_
from swaprank.cli.cmd_explore import explore
from swaprank.cli.cmd_generate import generate
from swaprank.cli.cmd_info import info
from swaprank.cli.cmd_predict import predict
from swaprank.cli.cmd_report import report
from swaprank.cli.cmd_reproduce import reproduce
from swaprank.cli.cmd_train import train
from swaprank.cli.cmd_tune import tune
from swaprank.cli.cmd_warm import warm
from swaprank.cli.options import with_added_options
from swaprank.cli.output import BAD_INPUT, BROKEN, CLOSED_PIPE, INTERRUPTED, NO, print_error, print_note
from swaprank.cli.unknown_options import SuggestingCommand
from swaprank.cli.usage_errors import EscapingGroup

app = typer.Typer(
    name="swaprank",
    cls=EscapingGroup,
    help="Learning to rank for the metric you care about.",
    epilog="Exit codes: 0 success, 1 the answer of certify is no, 2 bad usage or input, 3 drift found drift, 70 "
    "internal error, 130 Ctrl-C (143 SIGTERM, 129 SIGHUP), 141 closed pipe.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
COMMANDS = {
    "Getting started": (demo, info, generate, warm),
    "Training and prediction": (bin_, train, tune, cv, combine, calibrate, predict),
    "Exchange with other systems": (export, import_),
    "Evaluation": (evaluate, compare, report, explore, agreement),
    "Analysis": (explain, certify, drift, reproduce),
}
"""The commands by panel of the help, in its order."""
for panel, commands in COMMANDS.items():
    for command in commands:
        name = command.__name__.rstrip("_")
        app.command(name, cls=SuggestingCommand, rich_help_panel=panel)(with_added_options(command))

CLICK_COMMANDS = (
    clicks_info,
    clicks_check,
    clicks_count,
    clicks_propensity,
    clicks_models,
    clicks_train,
    clicks_evaluate,
    clicks_policy,
    clicks_abtest,
    clicks_simulate,
)
"""The commands of `swaprank clicks`, in the order of its help."""
clicks_app = typer.Typer(
    help="Learn from click logs: position bias, training, evaluation, A/B tests.", no_args_is_help=True
)
for of_clicks in CLICK_COMMANDS:
    name = of_clicks.__name__.removeprefix("clicks_")
    clicks_app.command(name, cls=SuggestingCommand)(with_added_options(of_clicks))
app.add_typer(clicks_app, name="clicks", rich_help_panel="Clicks")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"swaprank {sr.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; raises SystemExit with one of the exit codes of output.py. Errors go to standard error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", sr.errors.PrecisionWarning)
            warnings.showwarning = lambda message, *place, **others: print_note(
                f"warning: {message.for_command_line() if isinstance(message, sr.errors.SwaprankWarning) else message}"
            )
            app(args=arguments)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            # Typer handles KeyboardInterrupt without a message.
            _fail("interrupted", INTERRUPTED)
        cause = end.__context__
        if end.code != NO or isinstance(cause, typer.Exit):
            raise
        # Typer itself ends with 1 if the reader of a pipe has left, and for EOFError.
        if isinstance(cause, OSError):
            sys.exit(CLOSED_PIPE)
        _fail_internally((cause and cause.__cause__) or end)
    except BrokenPipeError:
        sys.exit(CLOSED_PIPE)
    except sr.errors.SwaprankError as error:
        _fail(f"error: {error.for_command_line()}", BAD_INPUT)
    except OSError as error:
        where = "the output" if error.filename is None else error.filename
        _fail(f"error: {where}: {error.strerror or error}.", BAD_INPUT)
    except MemoryError as error:
        _fail(f"error: out of memory. {error}".rstrip(), BAD_INPUT)
    except Exception as error:
        _fail_internally(error)


def _fail_internally(error: BaseException) -> None:
    if isinstance(error.__cause__, KeyboardInterrupt):
        # Python makes a RuntimeError of it while a class is created.
        _fail("interrupted", INTERRUPTED)
    if os.environ.get("SWAPRANK_DEBUG"):
        traceback.print_exception(error)
    reason = f"{type(error).__name__}: {error}".rstrip(": .")
    _fail(f"internal error: {reason}; run with SWAPRANK_DEBUG=1 for the traceback.", BROKEN)


def _fail(message: str, code: int) -> None:
    with suppress(OSError):  # the exit code says it, too, if standard error is closed or full
        print_error(message)
    sys.exit(code)
