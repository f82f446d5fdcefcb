"""`swaprank explain`: the ranked list of one query, with the lambda of each document."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import AsJson, Columns, Figure, ModelFile, ModelMetric
from swaprank.cli.output import print_files, print_json, print_result
from swaprank.cli.rankings import read_for


def explain(
    model: ModelFile,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Documents with relevance labels, in any format that train reads.")
    ],
    query: Annotated[
        str | None, typer.Option(help="Id of the query.", show_default="the query with the lowest metric")
    ] = None,
    metric: ModelMetric = None,
    documents: Annotated[int, typer.Option(min=1, help="Number of documents to show.")] = 20,
    figure: Figure = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Show the ranked list of one query, the lambda of each document, and the swaps that improve the metric most."""
    ranker = sr.load(model)
    explanation = sr.explain_query(ranker, read_for(ranker, data, columns), query, metric)
    if figure is not None:
        explanation.draw(figure, documents)
    if json:
        print_json(explanation.to_dict(documents))
        return
    print_result(explanation.to_text(documents))
    print_files(figure)
