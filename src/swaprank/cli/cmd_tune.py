"""`swaprank tune`: a ranker whose parameters suit a validation set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from swaprank.cli.common_options import AsJson, RankerName, Seed, Settings, Threads, TrainFile
from swaprank.cli.output import note, say, show, tell

if TYPE_CHECKING:
    from swaprank.experiments.training_run import TrainingRun
    from swaprank.rankers.ranker import Ranker


def tune(
    data: TrainFile,
    valid: Annotated[Path, typer.Option(help="Judged documents on which the measure is to be best.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write the best model, such as best.swaprank; best.toml and best.trials come beside it.",
        ),
    ],
    ranker: RankerName = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            help="The measure to learn for, and to be best.",
            show_default="the ranker's own, ndcg@10 for most",
        ),
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="How many trials in all, with those of earlier runs.")] = 50,
    timeout: Annotated[float | None, typer.Option(min=0, help="Begin no trial after so many seconds.")] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="NAME=RANGE",
            help="What to tune, such as n_leaves=7..63 or normalize=true,false; may be given several times. What "
            "usually matters for the ranker if not given.",
        ),
    ] = None,
    settings: Settings = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
) -> None:
    """Search for good parameters (Optuna), and save the best model.

    The trials are kept beside the model: the same command goes on where it stopped. Ctrl-C ends the search, and saves
    the best model so far. Needs Optuna, which the extra `tune` brings.
    """
    from swaprank.cli.progress import training_bars
    from swaprank.experiments.fingerprints import data_facts
    from swaprank.experiments.optuna_study import check_optuna
    from swaprank.experiments.training_run import TrainingRun, check_outputs, file_digest, write_record
    from swaprank.experiments.tuning import tune as search
    from swaprank.reading.read import read, read_matching

    check_optuna()
    run = TrainingRun(data, output, valid, ranker=ranker or "lambdamart", metric=metric, seed=seed, threads=threads)
    check_outputs(run)
    learner, tuned = _task(run, settings or [], ranges or [])
    tell(f"reading {data}")
    train_data = read(data)
    valid_data = read_matching(valid, train_data.feature_names)
    with training_bars() as begin:
        result = search(
            train_data,
            valid_data,
            learner,
            ranges=tuned,
            n_trials=trials,
            timeout=timeout,
            storage=output.with_suffix(".trials"),
            random_state=seed,
            callbacks=begin,
            tell=note,
        )
    result.ranker.save(output)
    facts = {"train": data_facts(train_data), "valid": data_facts(valid_data)}
    write_record(run, result.ranker, facts, file_digest(output))
    if json:
        show(result.to_json())
        return
    show(str(result))
    if result.interrupted:
        say("interrupted: this is the best until then; the same command goes on")
    say(f"\n{output}: {result.ranker.size_}\n{run.record}: swaprank train --config {run.record} trains it again")


def _task(run: TrainingRun, settings: list[str], ranges: list[str]) -> tuple[Ranker, dict[str, Any]]:
    """The ranker to begin with, and what to tune: what was set is not."""
    from dataclasses import replace

    from swaprank.experiments.ranker_parameters import parse_settings
    from swaprank.experiments.tuning_ranges import FIXED, ranges_of

    fixed = parse_settings(run.ranker, settings)
    learner = replace(run, parameters={**FIXED.get(run.ranker, {}), **fixed}).make_ranker()
    if ranges:
        tuned = dict(_range(run.ranker, text) for text in ranges)
    else:
        tuned = {name: span for name, span in ranges_of(run.ranker).items() if name not in fixed}
    both = set(tuned) & set(fixed)
    if both:
        raise typer.BadParameter(f"{both.pop()} is both set and tuned.")
    return learner, tuned


def _range(ranker: str, text: str) -> tuple[str, Any]:
    """NAME=LOW..HIGH, or NAME=VALUE,VALUE."""
    from swaprank.experiments.grids import parse_grid

    name, _, span = text.partition("=")
    low, dots, high = span.partition("..")
    if dots:
        bounds = parse_grid([f"{name}={low},{high}"], {ranker: ranker})[name]
        return name, tuple(bounds)
    return name, parse_grid([text], {ranker: ranker})[name]
