"""`swaprank drift`: compare new data with what training has seen."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import AsJson, Columns, Figure, ModelFile
from swaprank.cli.output import DRIFT, print_either
from swaprank.cli.rankings import load_any, read_for


def drift(
    model: ModelFile,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="New documents, in any format that train reads, labels or not.")
    ],
    reference: Annotated[
        Path | None,
        typer.Option(help="The training data, for a model without counts of it.", show_default=False),
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Smaller changes of shares are no drift.")] = 0.05,
    alpha: Annotated[float, typer.Option(help="How often the same distribution may be called drift.")] = 0.01,
    figure: Figure = None,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Compare new data with what training has seen: values, missing values, categories and scores.

    The exit code is 3 if there is drift.
    """
    ranker = load_any(model)
    before = None if reference is None else read_for(ranker, reference, columns, unlabeled=True)
    new = read_for(ranker, data, columns, unlabeled=True)
    found = sr.drift(ranker, new, reference=before, tolerance=tolerance, alpha=alpha)
    if figure is not None:
        found.draw(figure)
    print_either(found.to_dict(), str(found), json, figure)
    if found.drifted:
        raise typer.Exit(DRIFT)
