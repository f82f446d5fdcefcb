"""`swaprank evaluate`: measure the quality of rankings."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import AsJson, Columns, Convention, JudgedFile, Metrics, Threads
from swaprank.cli.output import print_json, print_result
from swaprank.cli.rankings import read_rankings


def evaluate(
    data: JudgedFile,
    scores: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCORES", help="File of scores (one per line, in the order of the documents), TREC run, or model."
        ),
    ],
    metric: Metrics = ["ndcg@10", "map"],  # noqa: B006
    convention: Convention = "standard",
    per_query: Annotated[bool, typer.Option("--per-query", help="Also print the values of every query.")] = False,
    threads: Threads = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Evaluate rankings: means with 95% confidence intervals, and how each metric is defined."""
    judged, rankings = read_rankings(data, {str(path): path for path in scores}, columns)
    results = {
        path: sr.evaluate(judged, ranking, metric, convention=convention, n_threads=threads)
        for path, ranking in rankings.items()
    }
    if json:
        plain = {path: result.to_dict(per_query=per_query) for path, result in results.items()}
        print_json(plain, large=per_query)
        return
    for path, result in results.items():
        text = result.to_text(per_query=per_query)
        print_result(f"{path}\n\n{text}\n" if len(results) > 1 else text)
