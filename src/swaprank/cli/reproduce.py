"""`swaprank reproduce`: an experiment of a paper, its figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.options import Seed
from swaprank.cli.output import show


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[EXPERIMENT]", help="Which one; all are listed if none is named.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Less data, in a minute or so.")] = False,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw the figure into this file (.svg, .png, .pdf).")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Run an experiment of a paper again, and print its figures beside the published ones."""
    from swaprank.reproduction.by_name import EXPERIMENTS, experiment
    from swaprank.reproduction.drawing import check_drawing, draw

    if name is None:
        for known in EXPERIMENTS.values():
            show(f"{known.name:<24}{known.source}")
        return
    if figure is not None:
        check_drawing()
    outcome = experiment(name).run(quick, seed, lambda words: typer.echo(words, err=True))
    show(outcome.text)
    if figure is not None:
        draw(outcome.chart, figure)
        show(f"\n{figure}")
