"""`swaprank train`: a ranker from judged documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from swaprank.cli.common_options import AsJson, RankerName, Settings, Threads
from swaprank.cli.output import note, say, show, tell

if TYPE_CHECKING:
    from swaprank.experiments.training_run import Trained, TrainingRun


def train(
    data: Annotated[
        Path | None, typer.Argument(metavar="TRAIN", help="Judged documents to learn from.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write the model, such as model.swaprank; model.toml comes beside it."
        ),
    ] = None,
    valid: Annotated[Path | None, typer.Option(help="Judged documents to measure on after every round.")] = None,
    ranker: RankerName = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            help="The measure to learn for, such as ndcg@10.",
            show_default="the ranker's own, ndcg@10 for most",
        ),
    ] = None,
    settings: Settings = None,
    base: Annotated[Path | None, typer.Option(help="A model to start from.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="A .toml or .yaml file with all of this; what is given beside it goes before it."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The same seed gives the same model.", show_default="0")
    ] = None,
    threads: Threads = None,
    json: AsJson = False,
) -> None:
    """Train a ranker and save it; Ctrl-C ends training early and saves the best model so far.

    Beside the model goes a .toml file with all parameters and digests of the data: `--config` with it repeats the run.
    """
    from swaprank.cli.progress import training_bar
    from swaprank.experiments.run_configs import differing_versions, read_run, recorded_digest
    from swaprank.experiments.training_run import run_training

    if config is None:
        _require("TRAIN, the judged documents to learn from", data)
        _require("--output / -o, where to write the model", output)
    if any(setting.startswith("metric=") for setting in settings or []):
        raise typer.BadParameter("give the measure with --metric, not with --set.")
    given = {
        "train": data, "output": output, "valid": valid, "base": base, "ranker": ranker, "metric": metric,
        "seed": seed, "threads": threads, "parameters": _parameters(config, ranker, settings or []),
    }  # fmt: skip
    run = read_run(config, given)
    before = None if config is None else recorded_digest(config)
    if config is not None:
        for change in differing_versions(config):
            note(f"{change}: the model may differ in its last digits.")
    with training_bar() as bar:
        trained = run_training(run, [bar], tell)
    if json:
        from swaprank.rendering.json_values import json_text

        show(json_text(_values(run, trained)))
        return
    say(f"{run.output}: {trained.ranker.size_} learned from {len(trained.train):,} documents")
    for line in _measured(trained):
        say(line)
    if trained.ranker.interrupted_:
        say("interrupted: this is the best model until then")
    elif before == trained.model_digest:
        say(f"the same model, byte for byte, as {config} tells of")
    again = "trains to the end" if trained.ranker.interrupted_ else "repeats it"
    say(f"{run.record}: how it was trained; swaprank train --config {run.record} {again}")


def _require(words: str, value: Path | None) -> None:
    if value is None:
        raise typer.BadParameter(f"missing: {words} (or a --config that says so).")


def _parameters(config: Path | None, ranker: str | None, settings: list[str]) -> dict[str, Any]:
    """What --set says, checked against the ranker."""
    from swaprank.experiments.config_files import read_config
    from swaprank.experiments.ranker_parameters import parse_settings

    if ranker is None and config is not None:
        ranker = str(read_config(config).get("ranker", "lambdamart"))
    return parse_settings(ranker or "lambdamart", settings)


def _watched(trained: Trained) -> tuple[str, float, list[float]] | None:
    """What was watched, its value for the model that was saved, and after every round."""
    ranker = trained.ranker
    rounds = ranker.history_.get("valid", {}).get(str(ranker.metric))
    if trained.valid is None or not rounds:
        return None
    return f"valid {ranker.metric}", ranker.score(trained.valid), rounds


def _measured(trained: Trained) -> list[str]:
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


def _values(run: TrainingRun, trained: Trained) -> dict[str, Any]:
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
