"""`swaprank info`: what a data file or a model holds, and which rankers and parameters there are."""

from __future__ import annotations

from typing import Annotated

import typer

from swaprank.cli.common_options import AsJson, InfoFile
from swaprank.cli.output import can_show, show


def info(
    file: InfoFile = None,
    ranker: Annotated[str | None, typer.Option(help="List the parameters of this kind of ranker instead.")] = None,
    rankers: Annotated[bool, typer.Option("--rankers", help="List the kinds of ranker instead.")] = False,
    json: AsJson = False,
) -> None:
    """Tell what a data file holds: sizes, list lengths, labels, and features that are missing or constant.

    Of a model: what it is, what was measured while it was trained, and its parameters. Also lists rankers (--rankers)
    and their parameters (--ranker NAME).
    """
    if (file is not None) + (ranker is not None) + rankers != 1:
        raise typer.BadParameter("give one of these: FILE, --ranker NAME, or --rankers.")
    if file is not None:
        from swaprank.cli.rankings import is_model

        (_show_model if is_model(file) else _show_data)(str(file), json)
    elif ranker is not None:
        _show_parameters(ranker, json)
    else:
        _show_rankers(json)


def _show_data(file: str, json: bool) -> None:
    from swaprank.data.summary import summarize
    from swaprank.reading.read import read

    summary = summarize(read(file))
    show(summary.to_json() if json else summary.to_text(bar="█" if can_show("█") else "#"))


def _show_model(file: str, json: bool) -> None:
    from swaprank.experiments.model_summary import model_facts
    from swaprank.registry import load

    facts = model_facts(load(file))
    show(facts.to_json() if json else facts.to_text())


def _show_rankers(json: bool) -> None:
    from swaprank.experiments.ranker_parameters import trainable_rankers
    from swaprank.rendering.json_values import json_text
    from swaprank.rendering.text_tables import text_table

    known = trainable_rankers()
    if json:
        show(json_text({"rankers": [{"name": name, "meaning": meaning} for name, meaning in known.items()]}))
    else:
        show(text_table(["ranker", "what it is"], list(known.items()), left=2))


def _show_parameters(ranker: str, json: bool) -> None:
    import shutil
    import textwrap

    from swaprank.experiments.ranker_parameters import parameters_of
    from swaprank.rendering.json_values import json_text

    facts = parameters_of(ranker)
    if json:
        show(json_text({"ranker": ranker, "parameters": [fact._asdict() for fact in facts]}))
        return
    width = max(60, min(shutil.get_terminal_size().columns, 100))
    for fact in facts:
        default = "none" if fact.default is None else f"{fact.default}"
        meaning = textwrap.fill(fact.meaning, width, initial_indent="    ", subsequent_indent="    ")
        show(f"{fact.name} = {default}\n{meaning}")
