"""`swaprank calibrate`: scores as probabilities of relevance, or as expected labels."""

from pathlib import Path
from typing import Annotated, Literal

import typer

import swaprank as sr
from swaprank.cli.options import AsJson, Columns, Figure, ModelFile
from swaprank.cli.output import print_either, print_info
from swaprank.cli.rankings import load_any, read_for


def calibrate(
    model: ModelFile,
    data: Annotated[
        Path, typer.Argument(metavar="VALID", help="Documents with labels that the model was not trained on.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    method: Annotated[Literal["isotonic", "platt"], typer.Option(help="Kind of function.")] = "isotonic",
    target: Annotated[
        Literal["probability", "label"], typer.Option(help="Probability of relevance, or expected label.")
    ] = "probability",
    rel: Annotated[float, typer.Option(help="Labels from here on are relevant.")] = 1.0,
    test: Annotated[
        Path | None, typer.Option(help="Other judged documents, to show how reliable it is.", show_default=False)
    ] = None,
    figure: Figure = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Fit a rising function from scores to probabilities of relevance, which `predict --calibrated` writes.

    The ranking stays the same. A reliability table and --figure are of the documents of --test.
    """
    from swaprank.model_files.container import check_target

    check_target(output, (model, data))
    if figure is not None and test is None:
        raise sr.errors.ParameterError("--figure draws the reliability on other documents: give them with --test.")
    ranker = load_any(model)
    calibrated = ranker.calibrate(read_for(ranker, data, columns), method=method, target=target, rel=rel)
    calibrated.save(output)
    if not json:
        print_info(f"{output}: {calibrated.size_}, calibrated with {calibrated.check_calibrated().n_queries:,} queries")
    if test is None:
        if json:
            print_either({"model": str(output)}, "", json, figure)
        return
    found = sr.instruments.reliability(calibrated, read_for(ranker, test, columns))
    if figure is not None:
        found.draw(figure)
    print_either({"model": str(output), **found.to_dict()}, str(found), json, figure)
