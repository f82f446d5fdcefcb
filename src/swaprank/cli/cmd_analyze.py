"""`swaprank explain` and `swaprank certify`: a ranked list or two of its documents, and a test for an optimum."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import AsJson, Columns, Figure, ModelFile, ModelMetric, Seed, Threads
from swaprank.cli.output import NO, print_either, progress_bar
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
    above: Annotated[
        str | None, typer.Option(metavar="DOC", help="Why is this document above that of --below? An id or a row.")
    ] = None,
    below: Annotated[str | None, typer.Option(metavar="DOC", help="See --above.")] = None,
    document: Annotated[
        str | None,
        typer.Option(metavar="DOC", help="What lifts this document into the top K? An id or a row."),
    ] = None,
    enter: Annotated[int | None, typer.Option(metavar="K", min=1, help="The K of --document.")] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A feature that may change; repeatable.", show_default="all features"),
    ] = None,
    figure: Figure = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Show the ranked list of one query, the lambda of each document, and the swaps that improve the metric most.

    With --above and --below: why is one document above another? The difference of their scores by features.
    With --document and --enter: which change of one feature lifts a document into the top K?
    """
    _check_questions(above, below, document, enter, change, figure)
    ranker = sr.load(model)
    judged = read_for(ranker, data, columns, unlabeled=above is not None or document is not None)
    if document is not None and enter is not None:
        changes = sr.instruments.changes_to_enter(ranker, judged, document, enter, query=query, features=change)
        print_either(changes.to_dict(), str(changes), json)
    elif above is not None:
        data_or_query, given = (judged, None) if query is None else (query, judged)
        pair = sr.explain_pair(ranker, data_or_query, above, below, data=given)
        if figure is not None:
            pair.draw(figure)
        print_either(pair.to_dict(), str(pair), json, figure)
    else:
        explanation = sr.explain_query(ranker, judged, query, metric)
        if figure is not None:
            explanation.draw(figure, documents)
        print_either(explanation.to_dict(documents), explanation.to_text(documents), json, figure)


def _check_questions(
    above: str | None,
    below: str | None,
    document: str | None,
    enter: int | None,
    change: list[str] | None,
    figure: Path | None,
) -> None:
    if (above is None) != (below is None):
        raise typer.BadParameter("give --above and --below together.")
    if (document is None) != (enter is None):
        raise typer.BadParameter("give --document and --enter together.")
    if above is not None and document is not None:
        raise typer.BadParameter("give --above and --below, or --document and --enter, not both.")
    if change and enter is None:
        raise typer.BadParameter("--change requires --enter.")
    if figure is not None and enter is not None:
        raise typer.BadParameter("--enter has no figure.")


def certify(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The training data of the model.")],
    metric: ModelMetric = None,
    epsilon: Annotated[float, typer.Option(help="Fraction of improving directions to rule out.")] = 0.01,
    delta: Annotated[float, typer.Option(help="Allowed probability of missing such a fraction.")] = 0.01,
    steps: Annotated[str, typer.Option(help="Step sizes: wide (0.1 to 1), fine (0.001 to 0.01) or both.")] = "wide",
    weights: Annotated[int, typer.Option(min=0, help="Number of parameters that are also varied one at a time.")] = 50,
    polish: Annotated[
        bool, typer.Option("--polish", help="Follow improving directions, and certify the better model.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file to write. Requires --polish.")
    ] = None,
    figure: Figure = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Test whether a model is at a local optimum of its metric.

    Moves the parameters in random directions and measures the metric.
    The exit code is 1 if a direction improves the metric.
    """
    from swaprank.model_files.container import check_target

    if output is not None:
        if not polish:
            raise typer.BadParameter("-o requires --polish.")
        check_target(output, (model, data))
    ranker = sr.load(model)
    ranker.n_threads = threads
    judged = read_for(ranker, data, columns)
    with progress_bar() as update:
        certificate = sr.certify(
            ranker,
            judged,
            metric,
            epsilon=epsilon,
            delta=delta,
            steps=steps,
            n_weights=weights,
            polish=polish,
            random_state=seed,
            progress=lambda done, total: update(done, total, "certifying", ""),
        )
    if output is not None:
        certificate.ranker.save(output)
    if figure is not None:
        certificate.draw(figure)
    print_either(certificate.to_dict(), str(certificate), json, output, figure)
    if not certificate.passed:
        raise typer.Exit(NO)
