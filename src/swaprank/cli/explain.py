"""`swaprank explain`: one query, and what pushes its documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.output import show


def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that train has saved.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Judged documents, in a file as for train.")],
    qid: Annotated[str, typer.Option("--qid", help="Which query.")],
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="For which measure; what it learned for if not given.")
    ] = None,
    documents: Annotated[int, typer.Option(min=1, help="How many documents to show.")] = 20,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw the list and its forces (.svg, .png, .pdf).")
    ] = None,
) -> None:
    """Show a query's ranked list, the lambda on each document, and the swaps that would gain most."""
    from swaprank.instruments.explain import explain_query
    from swaprank.model_files.rankers import load
    from swaprank.reading.matching import read_matching
    from swaprank.reproduction.drawing import check_drawing

    if figure is not None:
        check_drawing()
    ranker = load(model)
    judged = read_matching(data, [str(name) for name in ranker.feature_names_in_])
    explanation = explain_query(ranker, judged, qid, metric)
    show(explanation.to_text(documents))
    if figure is not None:
        explanation.draw(figure, documents)
        show(f"\n{figure}")
