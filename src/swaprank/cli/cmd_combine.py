"""`swaprank combine`: the optimal mix of two models."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.completion import complete_metric
from swaprank.cli.options import AsJson, Columns, Figure, Threads
from swaprank.cli.output import print_either, print_info


def combine(
    first: Annotated[Path, typer.Argument(metavar="A", help="First model file.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Second model file.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Documents with relevance labels that neither model was trained on.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    metric: Annotated[
        str, typer.Option("--metric", "-m", autocompletion=complete_metric, help="Metric to maximize.")
    ] = "ndcg@10",
    whole_line: Annotated[bool, typer.Option("--whole-line", help="Allow any alpha, not only 0 to 1.")] = False,
    figure: Figure = None,
    threads: Threads = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Find the optimal mix of two models: the alpha for which alpha * A + (1 - alpha) * B has the highest metric."""
    from swaprank.ensembles.ensemble_ranker import categories_of_members, names_of_members
    from swaprank.model_files.container import check_target
    from swaprank.reading.read import read_matching

    check_target(output, (first, second, data))
    a, b = sr.load(first), sr.load(second)
    documents = read_matching(data, names_of_members([a, b]), categories_of_members([a, b]), **columns)
    both = sr.combine(a, b, documents, metric, whole_line=whole_line, n_threads=threads)
    both.save(output)
    if figure is not None:
        both.draw(figure)
    if not json:
        print_info(f"{output}: {both.size_}")
    print_either({"model": str(output), **both.to_dict()}, both.summary(), json, figure)
