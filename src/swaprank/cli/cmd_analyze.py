"""`swaprank explain` and `swaprank certify`: the lambdas of one ranked list, and a test for a local optimum."""

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
    print_either(explanation.to_dict(documents), explanation.to_text(documents), json, figure)


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
