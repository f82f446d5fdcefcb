"""`swaprank reproduce`: an experiment of a paper, its figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.common_options import AsJson, Figure, Seed
from swaprank.cli.output import note, say, show


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="EXPERIMENT", help="Which one; all are listed if none is named.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Less data, in a minute or so.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="Data for experiments that take some: a folder with Fold1 to Fold5, each with train.txt, vali.txt and "
            "test.txt.",
        ),
    ] = None,
    figure: Figure = None,
    seed: Seed = 0,
    json: AsJson = False,
) -> None:
    """Run an experiment of a paper again, and print its figures beside the published ones."""
    from swaprank.errors import ParameterError
    from swaprank.rendering.figures import check_drawing
    from swaprank.rendering.json_values import json_text
    from swaprank.reproduction.experiment import Settings, outcome_values
    from swaprank.reproduction.experiment_figures import draw_chart
    from swaprank.reproduction.experiment_names import EXPERIMENTS, experiment

    if name is None:
        if json:
            listed = [{"name": known.name, "source": known.source} for known in EXPERIMENTS.values()]
            show(json_text({"experiments": listed}))
            return
        for known in EXPERIMENTS.values():
            show(f"{known.name:<24}{known.source}")
        return
    chosen = experiment(name)
    if data is not None and not chosen.takes_data:
        raise ParameterError(f"{name} takes no --data: it is run on generated data.")
    if figure is not None:
        check_drawing(figure)
    outcome = chosen.run(Settings(quick, seed, data), note)
    show(json_text(outcome_values(chosen, outcome)) if json else outcome.text)
    if figure is not None:
        draw_chart(outcome.chart, figure)
        if not json:
            say(f"\n{figure}")
