"""`swaprank explain`: one query, and what pushes its documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swaprank.cli.common_options import AsJson, Figure, ModelFile
from swaprank.cli.output import say, show, tell

if TYPE_CHECKING:
    from swaprank.data.dataset import Dataset
    from swaprank.rankers.ranker import Ranker


def explain(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Judged documents, in a file as for train.")],
    qid: Annotated[
        str | None, typer.Option("--qid", help="Which query.", show_default="the one with the lowest measure")
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="For which measure; what it learned for if not given.")
    ] = None,
    documents: Annotated[int, typer.Option(min=1, help="How many documents to show.")] = 20,
    figure: Figure = None,
    json: AsJson = False,
) -> None:
    """Show a query's ranked list, the lambda on each document, and the swaps that would gain most."""
    from swaprank.cli.instrument_values import explanation_values
    from swaprank.instruments.explain import explain_query
    from swaprank.reading.read import read_matching
    from swaprank.registry import load
    from swaprank.rendering.figures import check_drawing
    from swaprank.rendering.json_values import json_text

    if figure is not None:
        check_drawing(figure)
    ranker = load(model)
    tell(f"reading {data}")
    judged = read_matching(data, [str(name) for name in ranker.feature_names_in_])
    explanation = explain_query(ranker, judged, _worst(ranker, judged, metric) if qid is None else qid, metric)
    if figure is not None:
        explanation.draw(figure, documents)
    if json:
        show(json_text(explanation_values(explanation, documents)))
        return
    show(explanation.to_text(documents))
    if figure is not None:
        say(f"\n{figure}")


def _worst(ranker: Ranker, judged: Dataset, metric: str | None) -> str:
    """The query with the lowest value, of those that an order can do well on."""
    import numpy as np

    from swaprank.errors import DataError
    from swaprank.evaluation.evaluate import evaluate

    (measured,) = evaluate(judged, ranker.predict(judged), metric or str(ranker.metric))
    highest = np.maximum.reduceat(judged.by_query(judged.labels), judged.indptr[:-1])
    values = np.where((highest > 0) & ~np.isnan(measured.per_query), measured.per_query, np.inf)
    if np.isinf(values).all():
        raise DataError("no query has a relevant document: choose one with --qid.")
    return str(judged.qids[values.argmin()])
