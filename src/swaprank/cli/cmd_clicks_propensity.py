"""`swaprank clicks propensity`: estimate the position bias of a click log."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.common_options import AsJson, Figure, LogColumns, LogFile, Seed, Threads
from swaprank.cli.output import print_info, print_result


class BiasMethod(StrEnum):
    """How the position bias is estimated."""

    HARVEST = "harvest"
    SWAPS = "swaps"
    REGRESSION = "regression"
    TRUST = "trust"


def clicks_propensity(
    log: LogFile,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="JSON file to write, for the others.")] = None,
    method: Annotated[
        BiasMethod,
        typer.Option(
            help="harvest: from documents that changed places. swaps: from neighbours that were shown in both orders. "
            "regression: relevance is predicted from features. trust: with trust bias."
        ),
    ] = BiasMethod.HARVEST,
    max_position: Annotated[
        int | None, typer.Option(min=2, help="Last position to estimate.", show_default="the last of the log")
    ] = None,
    resamples: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Bootstrap resamples of the sessions for the 95% intervals; 0 for none.",
            show_default="200; 20 for regression and trust",
        ),
    ] = None,
    figure: Figure = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
    *,
    log_columns: LogColumns,
) -> None:
    """Estimate how likely documents are examined at each position, with 95% intervals.

    If the log cannot tell, because documents never change places, the answer is an error with advice.
    """
    from swaprank.cli.progress_bars import progress_bar
    from swaprank.clicks.bias_estimation import position_bias
    from swaprank.clicks.log_files import read_clicks
    from swaprank.files import writable_target
    from swaprank.rendering.figures import check_drawing, new_axes, save_figure

    if output is not None:
        writable_target(output, (log,))
    if figure is not None:
        check_drawing(figure)
    if method is not BiasMethod.REGRESSION:
        log_columns = {"features": [], **log_columns}
    clicks = read_clicks(log, **log_columns)
    with progress_bar("resample") as update:
        found = position_bias(
            clicks,
            method.value,
            max_position=max_position,
            n_resamples=resamples,
            random_state=seed,
            n_threads=threads,
            progress=lambda done, total: update(done, total, "intervals", ""),
        )
    if output is not None:
        found.save(output)
    if figure is not None:
        save_figure(found.plot(new_axes()), figure)
    print_result(found.to_json() if json else str(found))
    for written in (output, figure):
        if written is not None and not json:
            print_info(f"\n{written}")
