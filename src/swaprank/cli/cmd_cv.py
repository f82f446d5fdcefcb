"""`swaprank cv`: rankers trained and tested fold by fold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swaprank.cli.common_options import AsJson, Convention, Metrics, Seed, Threads
from swaprank.cli.output import note, say, show

if TYPE_CHECKING:
    from swaprank.metrics.metric import Metric
    from swaprank.rankers.ranker import Ranker


def cv(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Has Fold1, Fold2, … with train, vali and test in each; or one file of documents."
        ),
    ],
    ranker: Annotated[
        list[str],
        typer.Option(
            help="A kind of ranker, or NAME=KIND; may be given several times, the first is the baseline. "
            "`swaprank info --rankers` lists the kinds."
        ),
    ] = ["lambdamart"],  # noqa: B006
    metric: Metrics = ["ndcg@10", "map"],  # noqa: B006
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="Values to choose from on each fold's vali, such as n_leaves=7,15,31, or lambdamart.n_leaves=7,15 for "
            "one ranker; may be given several times, for all combinations.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of all rankers that have it, or of one, such as lambdarank.n_epochs=50; may be given "
            "several times. `swaprank info --ranker lambdarank` lists those of LambdaRank.",
        ),
    ] = None,
    folds: Annotated[
        int | None, typer.Option(min=3, help="How many folds to make from one file.", show_default="5")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A folder for models and results: an interrupted run goes on from there."),
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="The ranker to compare with, if not the first.")] = None,
    convention: Convention = "standard",
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
) -> None:
    """Cross-validate rankers: each fold's means, paired tests over all test queries.

    Rankers learn for the first measure (--set metric=… for another), which also chooses on vali. Ctrl-C ends the run;
    with -o the same command goes on where it stopped.
    """
    from swaprank.cli.progress import training_bars
    from swaprank.experiments.cross_validation import cross_validate
    from swaprank.experiments.grids import parse_grid
    from swaprank.metrics.parse import metrics as parse_metrics

    measured = parse_metrics(metric, convention)
    kinds = _kinds(ranker)
    with training_bars() as begin:
        try:
            result = cross_validate(
                data,
                _rankers(kinds, settings or [], measured[0], seed, threads),
                measured,
                grid=parse_grid(grid or [], kinds),
                n_folds=folds,
                output=output,
                baseline=baseline,
                convention=convention,
                random_state=seed,
                callbacks=begin,
                tell=note,
            )
        except KeyboardInterrupt:
            if output is not None:
                note(f"{output} has what was done: the same command goes on from there.")
            raise
    show(result.to_json() if json else str(result))
    if output is not None and not json:
        say(f"\n{output}: models of every fold, results.txt and results.json")


def _kinds(rankers: list[str]) -> dict[str, str]:
    """Kinds by name."""
    from swaprank.registry import ranker_class

    kinds: dict[str, str] = {}
    for text in rankers:
        name, equals, kind = text.partition("=")
        if name in kinds:
            raise typer.BadParameter(f"two rankers are called '{name}': write --ranker NAME=KIND.")
        ranker_class(kind if equals else name)
        kinds[name] = kind if equals else name
    return kinds


def _rankers(
    kinds: dict[str, str], settings: list[str], metric: Metric, seed: int, threads: int | None
) -> dict[str, Ranker]:
    from swaprank.experiments.grids import own_values, parse_value
    from swaprank.registry import ranker_class

    values = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise typer.BadParameter(f"write a setting as name=value, found '{setting}'.")
        values[key] = parse_value(key, text, kinds)
    rankers = {}
    for name, kind in kinds.items():
        made = ranker_class(kind)
        own = {"metric": metric, "random_state": seed, "n_threads": threads}
        own |= own_values(name, made._get_param_names(), values)
        known = set(made._get_param_names())
        rankers[name] = made(**{key: value for key, value in own.items() if key in known})
    return rankers
