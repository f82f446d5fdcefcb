"""`swaprank tune`: search for the best parameters of a ranker."""

from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.options import AsJson, Columns, RankerName, Seed, Settings, Threads, TrainFile, TrainingMetric
from swaprank.cli.output import INTERRUPTED, print_info, print_note, print_result, training_bar

Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        help="Model file to write, such as best.swaprank. best.toml and best.trials are written next to it.",
    ),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="NAME=RANGE",
        help="Parameter to tune, such as n_leaves=7..63 or normalize=true,false. Can be repeated.",
        show_default="the main parameters of the ranker",
    ),
]


def tune(
    data: TrainFile,
    valid: Annotated[Path, typer.Option(help="Validation data. The search maximizes the metric on it.")],
    output: Output,
    ranker: RankerName = None,
    metric: TrainingMetric = None,
    trials: Annotated[int, typer.Option(min=1, help="Total number of trials, including those of earlier runs.")] = 50,
    timeout: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Start no new trial after this time.", show_default="no limit"),
    ] = None,
    ranges: Ranges = None,
    settings: Settings = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Search for the best parameters with Optuna, and save the best model.

    Trials are saved next to the model: run the same command again to resume.
    Ctrl-C stops the search and saves the best model so far; the exit code is 130.
    Requires Optuna, which the extra 'tune' installs.
    """
    from swaprank.experiments.training_run import TrainingRun
    from swaprank.experiments.tuning import run_tuning

    chosen = ranker or "lambdamart"
    run = TrainingRun(data, output, valid, ranker=chosen, metric=metric, seed=seed, threads=threads, columns=columns)
    with training_bar() as callbacks:
        try:
            tuning = run_tuning(
                run, settings or [], ranges or [], n_trials=trials, timeout=timeout, callbacks=callbacks, log=print_note
            )
        except KeyboardInterrupt:
            print_note("finished trials are saved: run the same command again to resume.")
            raise
    if json:
        print_result(tuning.to_json())
    else:
        print_result(str(tuning))
        if tuning.interrupted:
            print_info("interrupted: this is the best model so far; run the same command again to resume")
        print_info(f"\n{output}: {tuning.ranker.size_}")
        print_info(f"{run.record}: training record; repeat with: swaprank train --config {run.record}")
    if tuning.interrupted:
        raise typer.Exit(INTERRUPTED)
