"""`swaprank reproduce`: repeat an experiment of a paper."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import AsJson, Figure, Seed
from swaprank.cli.output import print_either, print_note


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="EXPERIMENT",
            help="Name of the experiment. Without a name, lists the tables and figures of the papers.",
            show_default=False,
        ),
    ] = None,
    listed: Annotated[
        bool,
        typer.Option("--list", help="List every table and figure of the papers: its experiment, or what is missing."),
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Use less data; takes about a minute.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="Data for the experiments that can use it: a LETOR folder with Fold1 to Fold5, each with train.txt, "
            "vali.txt and test.txt (LETOR 2.0: trainingset.txt, validationset.txt, testset.txt).",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Keep what is trained there, for the experiments that can resume; run it again to continue.",
        ),
    ] = None,
    figure: Figure = None,
    seed: Seed = 0,
    json: AsJson = False,
) -> None:
    """Repeat an experiment of a paper, and print its results next to the published ones."""
    from swaprank.reproduction.coverage import coverage_table, coverage_values
    from swaprank.reproduction.experiment import Settings, draw_chart, outcome_values
    from swaprank.reproduction.experiment_names import EXPERIMENTS, experiment
    from swaprank.reproduction.letor_sets import folds_folder

    if name is None or listed:
        names = [{"name": known.name, "source": known.source} for known in EXPERIMENTS.values()]
        print_either({"experiments": names, "items": coverage_values()}, coverage_table(), json)
        return
    chosen = experiment(name)
    if data is not None and not chosen.takes_data:
        raise sr.errors.ParameterError(f"{name} does not take --data: it uses generated data.")
    if output is not None and not chosen.takes_output:
        raise sr.errors.ParameterError(f"{name} does not take --output: it cannot resume.")
    folder = None if data is None else folds_folder(data)
    outcome = chosen.run(Settings(quick, seed, folder, output), print_note)
    if figure is not None:
        draw_chart(outcome.chart, figure)
    print_either(outcome_values(chosen, outcome), outcome.text, json, figure)
