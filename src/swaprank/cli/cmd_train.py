"""`swaprank train`: train a ranker and save the model."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import AsJson, Columns, RankerName, Settings, Threads, TrainingMetric
from swaprank.cli.output import BAD_INPUT, INTERRUPTED, print_detail, print_info, print_note, print_result, training_bar

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Model file to write, such as model.swaprank. model.toml is written next to it.",
        show_default=False,
    ),
]
TrainingSeed = Annotated[
    int | None, typer.Option(min=0, help="Random seed. The same seed gives the same model.", show_default="0")
]


def train(
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="TRAIN",
            help="Training data. Required without --config. Several files or a folder with --dask or --mpi.",
            show_default=False,
        ),
    ] = None,
    output: Output = None,
    valid: Annotated[Path | None, typer.Option(help="Validation data, evaluated after every round.")] = None,
    ranker: RankerName = None,
    metric: TrainingMetric = None,
    settings: Settings = None,
    base_ranker: Annotated[Path | None, typer.Option(help="Model to continue training from.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="Configuration file (.toml or .yaml). Options override the file.")
    ] = None,
    seed: TrainingSeed = None,
    threads: Threads = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="SCHEDULER", help="Train on a Dask cluster, such as scheduler:8786.", show_default=False),
    ] = None,
    max_restarts: Annotated[
        int, typer.Option(min=0, help="With --dask: how many times training goes on without workers that were lost.")
    ] = 3,
    mpi: Annotated[bool, typer.Option("--mpi", help="Train in all processes that mpiexec started.")] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File to keep training in; the same command goes on from there. Trees only.")
    ] = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Train a ranker and save the model. Ctrl-C stops training and saves the best model so far; the exit code is 130.

    A .toml file next to the model records all parameters and hashes of the data.
    Pass this file to --config to repeat the run.
    """
    from swaprank.experiments.training import run_on_dask, run_on_mpi, run_training
    from swaprank.experiments.training_config import differing_versions, read_training_config, recorded_digest

    if config is None:
        _require("TRAIN, the training data", data)
        _require("--output / -o, the model file to write", output)
    if mpi and dask is not None:
        raise typer.BadParameter("give --dask or --mpi, not both.")
    if any(setting.startswith("metric=") for setting in settings or []):
        raise typer.BadParameter("set the metric with --metric, not with --set.")
    options = {
        "train": data[0] if data and len(data) == 1 else data, "output": output, "valid": valid,
        "base_ranker": base_ranker, "ranker": ranker, "metric": metric, "seed": seed, "threads": threads,
        "columns": columns,
    }  # fmt: skip
    run = read_training_config(config, options, settings or [])
    recorded = None if config is None else recorded_digest(config)
    if config is not None:
        for change in differing_versions(config):
            print_note(f"{change}: the model may differ slightly.")
    interrupted = False
    try:
        with training_bar() as callbacks:
            if mpi:
                trained = run_on_mpi(run, lambda: callbacks(""), BAD_INPUT, checkpoint)
            elif dask is not None:
                trained = run_on_dask(run, dask, callbacks(""), print_detail, checkpoint, max_restarts)
            else:
                trained = run_training(run, callbacks(""), print_detail, checkpoint)
    except sr.errors.Interrupted as stopped:
        trained, interrupted = stopped.result, True
    if trained is None:  # The first process of MPI has it.
        return
    if json:
        print_result(trained.to_json())
    else:
        print_info(trained.to_text())
        if recorded == trained.model_digest:
            print_info(f"identical, byte for byte, to the model recorded in {config}")
        if run.record is not None:
            print_info(f"{run.record}: training record; repeat with: swaprank train --config {run.record}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _require(meaning: str, value: object) -> None:
    if not value:
        raise typer.BadParameter(f"missing: {meaning}. Give it here or in a --config file.")
