"""`swaprank cv`: cross-validate rankers."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.completion import complete_ranker, complete_setting
from swaprank.cli.options import AsJson, Columns, Convention, Metrics, Seed, Segments, Threads, split_names
from swaprank.cli.output import print_info, print_note, print_result, training_bar

Folds = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Folder with Fold1, Fold2, …, each with train, vali and test files; or one file to split into folds.",
    ),
]
Rankers = Annotated[
    list[str],
    typer.Option(
        metavar="[NAME=]RANKER",
        autocompletion=complete_ranker,
        help="Ranker. Can be repeated; the first is the baseline. `swaprank info --rankers` lists all.",
    ),
]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUES",
        help="Values to try, such as n_leaves=7,15,31, or lambdamart.n_leaves=7,15 for one ranker. Each fold uses the "
        "best on its vali set. Can be repeated; all combinations are tried.",
    ),
]
RankerSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        autocompletion=complete_setting,
        help="Parameter of all rankers that have it, such as n_trees=100, or of one, such as lambdarank.n_epochs=50. "
        "Can be repeated. `swaprank info --ranker lambdarank` lists the parameters of LambdaRank.",
    ),
]


def cv(
    data: Folds,
    ranker: Rankers = ["lambdamart"],  # noqa: B006
    metric: Metrics = ["ndcg@10", "map"],  # noqa: B006
    grid: Grid = None,
    settings: RankerSettings = None,
    folds: Annotated[int | None, typer.Option(min=3, help="Number of folds for one file.", show_default="5")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for models and results; allows resuming.")
    ] = None,
    by: Segments = None,
    baseline: Annotated[str | None, typer.Option(help="Name of the baseline.", show_default="the first ranker")] = None,
    convention: Convention = "standard",
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Cross-validate rankers: means per fold, and paired tests over all test queries.

    Rankers are trained for the first metric, which also selects the --grid values.
    Use --set metric=… to train for another metric; --set NAME.metric=… is for one ranker.
    With -o, run the same command again to resume an interrupted run.
    """
    from swaprank.experiments.grid_search import make_rankers, parse_grid
    from swaprank.metrics.parse import metrics as parse_metrics

    metrics = parse_metrics(metric, convention)
    kinds = split_names(ranker, "rankers", "--ranker NAME=RANKER")
    rankers = make_rankers(kinds, settings or [], metric=metrics[0], random_state=seed, n_threads=threads)
    with training_bar() as callbacks:
        try:
            result = sr.cross_validate(
                data,
                rankers,
                metrics,
                grid=parse_grid(grid or [], kinds),
                n_folds=folds,
                output=output,
                by=by,
                baseline=baseline,
                convention=convention,
                random_state=seed,
                columns=columns,
                callbacks=callbacks,
                log=print_note,
            )
        except KeyboardInterrupt:
            if output is not None:
                print_note(f"finished trainings are saved in {output}: run the same command again to resume.")
            raise
    print_result(result.to_json() if json else str(result))
    if output is not None and not json:
        print_info(f"\n{output}: models of every fold, results.txt and results.json")
