"""`swaprank compare`: compare rankings with paired tests."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import AsJson, Columns, Convention, JudgedFile, Metrics, Seed, Threads, split_names
from swaprank.cli.output import print_result
from swaprank.cli.rankings import read_rankings


def compare(
    data: JudgedFile,
    scores: Annotated[
        list[str],
        typer.Argument(
            metavar="SCORES",
            help="Two or more score files, TREC runs or models, as FILE or NAME=FILE. The first is the baseline.",
        ),
    ],
    metric: Metrics = ["ndcg@10", "map"],  # noqa: B006
    convention: Convention = "standard",
    baseline: Annotated[str | None, typer.Option(help="Name of the baseline.", show_default="the first")] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Number of resamples of the randomization test.")] = 10_000,
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Compare rankings query by query, with paired tests, corrected for the number of rankings."""
    files = {name: Path(file) for name, file in split_names(scores, "rankings", "NAME=FILE").items()}
    judged, systems = read_rankings(data, files, columns)
    result = sr.compare(
        judged,
        systems,
        metric,
        baseline=baseline,
        convention=convention,
        n_resamples=resamples,
        random_state=seed,
        n_threads=threads,
    )
    print_result(result.to_json() if json else str(result))
