"""`swaprank report`: an HTML report about a model."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import Columns, Convention, ModelFile, Segments
from swaprank.cli.output import print_info, print_result, progress_bar

ReportMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="Metric. Can be repeated; the first is the main one.",
        show_default="the model's metric, ndcg@10, map, mrr, err",
    ),
]
BaselineFeature = Annotated[
    str | None,
    typer.Option(
        help="Feature to compare with. --baseline-feature=-NAME ranks the smallest value first.",
        show_default="the best single feature, if there is no --baseline",
    ),
]
Queries = Annotated[
    list[str] | None,
    typer.Option(
        "--query",
        help="Id of a query whose ranked list is shown. Can be repeated.",
        show_default="best, median and worst query",
    ),
]
Certify = Annotated[
    bool, typer.Option("--certify", help="Test whether the model is at a local optimum on --train, or else on DATA.")
]


def report(
    model: ModelFile,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Documents with relevance labels that the model was not trained on.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    metric: ReportMetrics = None,
    convention: Convention = "standard",
    baseline: Annotated[Path | None, typer.Option(help="Model to compare with.")] = None,
    baseline_feature: BaselineFeature = None,
    by: Segments = None,
    query: Queries = None,
    train: Annotated[Path | None, typer.Option(help="Training data of the model.")] = None,
    certify: Certify = False,
    title: Annotated[str | None, typer.Option(help="Title of the page.", show_default=False)] = None,
    *,
    columns: Columns,
) -> None:
    """Write a report about a model: metrics, queries, features and calibration in one HTML file that works offline."""
    from swaprank.rendering.tables import decimals

    with progress_bar() as update:
        made = sr.report(
            model,
            data,
            output,
            metrics=metric or None,
            convention=convention,
            baseline=baseline,
            baseline_feature=baseline_feature,
            by=by,
            qids=query or (),
            train=train,
            certify=certify,
            title=title,
            columns=columns,
            progress=lambda step, done, total: update(done, total, "", step),
        )
    result, difference = made.evaluation.results[0], made.comparison.differences[0]
    low, high = result.interval
    print_info(f"{output}: {len(made.html.encode()) / 1000:,.0f} kB")
    interval = "" if low != low else f" (95% interval {low:.4f} to {high:.4f})"
    print_result(f"{result.metric} {decimals(result.mean)}{interval}")
    print_result(difference.sentence())
    if words := made.comparison.without_relevant():
        print_result(words)
