"""`swaprank clicks models` and `check`: which click model fits a log, and whether the position-based one holds."""

from pathlib import Path
from typing import Annotated, Any, get_args

import typer

import swaprank as sr
from swaprank.cli.options import AsJson, LogColumns, LogFile, Seed, Threads
from swaprank.cli.output import print_detail, print_either
from swaprank.clicks.models.click_model_names import ModelName


def clicks_models(
    log: LogFile,
    held_out: Annotated[
        Path | None,
        typer.Option(help="Click log to predict.", show_default="a random fifth of the sessions, not fitted on"),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help=f"Click model: {', '.join(get_args(ModelName))}. Can be repeated.",
            show_default="all",
        ),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
    *,
    log_columns: LogColumns,
) -> None:
    """Compare click models: how well do they predict the clicks on pages that they were not fitted on?"""
    names: Any = model
    other = None if held_out is None else _read(held_out, log_columns)
    result = sr.clicks.compare_models(_read(log, log_columns), other, names, random_state=seed, n_threads=threads)
    print_either(result.to_dict(), str(result), json)


def clicks_check(
    log: LogFile,
    max_position: Annotated[int, typer.Option(min=2, help="Last position at which estimates are compared.")] = 10,
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
    *,
    log_columns: LogColumns,
) -> None:
    """Check whether the position-based model holds in a click log, and say what to do if it does not."""
    clicks = _read(log, log_columns)
    result = sr.clicks.check_model(clicks, max_position=max_position, random_state=seed, n_threads=threads)
    print_either(result.to_dict(), str(result), json)


def _read(path: Path, log_columns: LogColumns) -> Any:
    print_detail(f"reading {path}")
    return sr.clicks.read_clicks(path, **{"features": [], **log_columns})
