"""`swaprank agreement`: how far judges agree."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import AsJson
from swaprank.cli.output import print_either


def agreement(
    judges: Annotated[
        list[Path], typer.Argument(metavar="QRELS…", help="TREC judgements, a file for each of two or more judges.")
    ],
    resamples: Annotated[int, typer.Option(help="Draws of queries for the intervals.")] = 1_000,
    json: AsJson = False,
) -> None:
    """Compare the labels of judges: Cohen's kappa, Krippendorff's alpha, and who said what."""
    found = sr.evaluation.agreement(*map(sr.trec.read_qrels, judges), n_resamples=resamples)
    print_either(found.to_dict(), str(found), json)
