"""`swaprank info`: describe a data file or a model; list rankers and their parameters."""

from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import AsJson, Columns, InfoFile
from swaprank.cli.output import can_print, print_either, print_json, print_result
from swaprank.cli.rankings import is_model


def info(
    file: InfoFile = None,
    ranker: Annotated[str | None, typer.Option(help="List the parameters of this ranker.", show_default=False)] = None,
    rankers: Annotated[bool, typer.Option("--rankers", help="List all rankers.")] = False,
    environment: Annotated[
        bool, typer.Option("--environment", help="Show versions, the CPU level, threads and compiled kernels.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Compare the checksums of a file of bins.")] = False,
    json: AsJson = False,
    *,
    columns: Columns,
) -> None:
    """Describe a data file or a model, list the rankers and their parameters, or show the environment.

    For data: sizes, list lengths, labels, missing values and constant features.
    For a model: its kind, its metric values during training, and its parameters.
    """
    if (file is not None) + (ranker is not None) + rankers + environment != 1:
        raise typer.BadParameter("give exactly one of FILE, --ranker NAME, --rankers and --environment.")
    if file is not None:
        from swaprank.reading.formats import is_bins

        if check and not is_bins(file):
            raise typer.BadParameter(f"--check is for files of bins, whose names end in .bins; found {file}.")
        if check:
            from swaprank.data.bins_file import read_bins

            read_bins(file, check=True)
        if is_model(file):
            from swaprank.experiments.model_summary import summarize_model

            of_model = summarize_model(sr.load(file))
            print_result(of_model.to_json() if json else of_model.to_text())
        else:
            summary = sr.data.summarize(sr.read(file, **columns))
            print_result(summary.to_json() if json else summary.to_text(bar="█" if can_print("█") else "#"))
    elif ranker is not None:
        _show_parameters(ranker, json)
    elif rankers:
        _show_rankers(json)
    else:
        from swaprank import environment as about

        print_either(about.environment(), about.environment_text(), json)


def _show_rankers(json: bool) -> None:
    from swaprank.experiments.ranker_parameters import trainable_rankers
    from swaprank.rendering.tables import text_table

    known = trainable_rankers()
    named = [{"name": name, "meaning": meaning} for name, meaning in known.items()]
    print_either({"rankers": named}, text_table(["ranker", "description"], list(known.items()), left=2), json)


def _show_parameters(ranker: str, json: bool) -> None:
    import shutil
    import textwrap

    from swaprank.experiments.ranker_parameters import list_parameters

    parameters = list_parameters(ranker)
    if json:
        print_json({"ranker": ranker, "parameters": [parameter._asdict() for parameter in parameters]})
        return
    width = max(60, min(shutil.get_terminal_size().columns, 100))
    for parameter in parameters:
        default = "none" if parameter.default is None else f"{parameter.default}"
        meaning = textwrap.fill(parameter.meaning, width, initial_indent="    ", subsequent_indent="    ")
        print_result(f"{parameter.name} = {default}\n{meaning}")
