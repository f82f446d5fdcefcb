"""`swaprank evaluate`: how good scores are."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.options import AsJson, Convention, DataFile, Metrics


def evaluate(
    data: DataFile,
    scores: Annotated[
        list[Path], typer.Argument(metavar="SCORES", help="Scores: one number a line, row by row; or a TREC run.")
    ],
    metric: Metrics = ["ndcg@10", "map"],  # noqa: B006
    convention: Convention = "standard",
    per_query: Annotated[bool, typer.Option("--per-query", help="With --json: every query's value, too.")] = False,
    json: AsJson = False,
) -> None:
    """Measure scores on judged documents: means, 95% intervals and the conventions in words."""
    from swaprank.evaluation.evaluate import evaluate as measure
    from swaprank.reading.judged import read_judged, read_scores

    judged = read_judged(data)
    results = {str(path): measure(judged, read_scores(path), metric, convention=convention) for path in scores}
    if json:
        parsed = {path: json_format.loads(result.to_json(per_query=per_query)) for path, result in results.items()}
        typer.echo(json_format.dumps(parsed, indent=2))
        return
    for path, result in results.items():
        typer.echo(f"{path}\n\n{result}\n" if len(results) > 1 else str(result))
