"""`swaprank train`: train a ranker and save the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from swaprank.cli.common_options import AsJson, RankerName, Settings, Threads, TrainingMetric
from swaprank.cli.output import print_detail, print_info, print_note, print_result

if TYPE_CHECKING:
    from swaprank.experiments.training_run import TrainingResult, TrainingRun


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
        Path | None,
        typer.Argument(metavar="TRAIN", help="Training data. Required without --config.", show_default=False),
    ] = None,
    output: Output = None,
    valid: Annotated[Path | None, typer.Option(help="Validation data, measured after every round.")] = None,
    ranker: RankerName = None,
    metric: TrainingMetric = None,
    settings: Settings = None,
    base: Annotated[Path | None, typer.Option(help="Model to continue training from.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="Configuration file (.toml or .yaml). Options override the file.")
    ] = None,
    seed: TrainingSeed = None,
    threads: Threads = None,
    json: AsJson = False,
) -> None:
    """Train a ranker and save the model. Ctrl-C stops training and saves the best model so far.

    A .toml file next to the model records all parameters and hashes of the data.
    Pass this file to --config to repeat the run.
    """
    from swaprank.cli.progress_bars import training_bar
    from swaprank.experiments.training_config import differing_versions, read_training_config, recorded_digest
    from swaprank.experiments.training_run import run_training

    if config is None:
        _require("TRAIN, the training data", data)
        _require("--output / -o, the model file to write", output)
    if any(setting.startswith("metric=") for setting in settings or []):
        raise typer.BadParameter("set the metric with --metric, not with --set.")
    options = {
        "train": data, "output": output, "valid": valid, "base": base, "ranker": ranker, "metric": metric,
        "seed": seed, "threads": threads, "parameters": _parameters(config, ranker, settings or []),
    }  # fmt: skip
    run = read_training_config(config, options)
    recorded = None if config is None else recorded_digest(config)
    if config is not None:
        for change in differing_versions(config):
            print_note(f"{change}: the model may differ slightly.")
    with training_bar() as callbacks:
        trained = run_training(run, callbacks(""), print_detail)
    if json:
        from swaprank.rendering.json_values import json_text

        print_result(json_text(_values(run, trained)))
        return
    print_info(f"{run.output}: {trained.ranker.size_}, trained on {len(trained.train):,} documents")
    for line in _measured(trained):
        print_info(line)
    if trained.ranker.interrupted_:
        print_info("interrupted: this is the best model so far")
    elif recorded == trained.model_digest:
        print_info(f"identical, byte for byte, to the model recorded in {config}")
    print_info(f"{run.record}: training record; repeat with: swaprank train --config {run.record}")


def _require(meaning: str, value: Path | None) -> None:
    if value is None:
        raise typer.BadParameter(f"missing: {meaning}. Give it here or in a --config file.")


def _parameters(config: Path | None, ranker: str | None, settings: list[str]) -> dict[str, Any]:
    """The parameters of --set, checked against the ranker."""
    from swaprank.experiments.config_files import read_config
    from swaprank.experiments.ranker_parameters import parse_settings

    if ranker is None and config is not None:
        ranker = str(read_config(config).get("ranker", "lambdamart"))
    return parse_settings(ranker or "lambdamart", settings)


def _watched(trained: TrainingResult) -> tuple[str, float, list[float]] | None:
    """Name of the validation metric, its value for the saved model, and its values after every round."""
    ranker = trained.ranker
    rounds = ranker.history_.get("valid", {}).get(str(ranker.metric))
    if trained.valid is None or not rounds:
        return None
    return f"valid {ranker.metric}", ranker.score(trained.valid), rounds


def _measured(trained: TrainingResult) -> list[str]:
    watched = _watched(trained)
    if watched is None:
        return [
            f"{name} {metric}: {values[-1]:.4f}"
            for name, of_set in trained.ranker.history_.items()
            for metric, values in of_set.items()
            if values
        ]
    name, value, rounds = watched
    best = max(rounds)
    line = f"{name}: {value:.4f}"
    if best > value + 1e-9:
        line += f"; it was {best:.4f} after round {rounds.index(best) + 1} of {len(rounds)}"
    return [line]


def _values(run: TrainingRun, trained: TrainingResult) -> dict[str, Any]:
    ranker, watched = trained.ranker, _watched(trained)
    valid = None
    if watched is not None:
        name, value, rounds = watched
        valid = {
            "metric": name.removeprefix("valid "),
            "value": value,
            "best": max(rounds),
            "best_round": rounds.index(max(rounds)) + 1,
            "n_rounds": len(rounds),
        }
    return {
        "model": str(run.output),
        "config": str(run.record),
        "ranker": ranker.kind,
        "size": ranker.size_,
        "n_documents": len(trained.train),
        "n_queries": trained.train.n_queries,
        "interrupted": ranker.interrupted_,
        "valid": valid,
    }
