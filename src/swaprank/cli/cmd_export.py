"""`swaprank export`: write a model for another system."""

from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.options import AsJson, names_or_file, split_names
from swaprank.cli.output import print_info, print_json, print_result
from swaprank.cli.rankings import load_any
from swaprank.files import writable_target


def export(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="MODEL", help="Model file, of swaprank or of another library.", show_default=False),
    ] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="FORMAT", help="Format to write; see --list.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write.", show_default=False)] = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="Features of the target in its order: names separated by commas, a text file with one per line, or "
            "the JSON of an Elasticsearch feature set or a Solr feature store.",
            show_default="those of the model",
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option("--rename", metavar="OLD=NEW", help="What the target calls a feature. Can be repeated."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="What the model is called there.", show_default="the name of the file without its ending"),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            help="refuse: it is an error if the target reads missing values as 0, and the model has learned something "
            "else. zero: accept this, because documents always have all features."
        ),
    ] = "refuse",
    request: Annotated[
        bool, typer.Option("--request", help="Write the body of the request that uploads the model.")
    ] = False,
    list_formats: Annotated[bool, typer.Option("--list", help="List the formats.")] = False,
    json: AsJson = False,
) -> None:
    """Write a model for another system: a search engine, another library, a runtime, or a C compiler.

    The system then gives the same scores. What it cannot hold is an error, and what it may score differently a warning.
    """
    if list_formats:
        _show_formats(json)
        return
    if model is None or to is None or output is None:
        raise typer.BadParameter("give MODEL, --to FORMAT and --output FILE; or --list.")
    target_features = names_or_file(features)
    writable_target(output, (model, target_features if isinstance(target_features, Path) else None))
    ranker = load_any(model)
    ranker.export(
        output,
        to,
        features=target_features,
        rename=_renamed(rename or []),
        name=name,
        missing=missing,  # type: ignore[arg-type]  # checked there
        request=request,
    )
    print_info(f"{output}: {ranker.size_} as {to}")


def _renamed(given: list[str]) -> dict[str, str]:
    for each in given:
        if not all(each.partition("=")):
            raise typer.BadParameter(f"write --rename OLD=NEW; found '{each}'.")
    return split_names(given, "features", "--rename OLD=NEW")


def _show_formats(json: bool) -> None:
    from swaprank.exchange.export import FORMATS
    from swaprank.rendering.tables import text_table

    header = ("format", "file", "description")
    rows = [(name, each.file, each.description) for name, each in FORMATS.items()]
    if json:
        print_json({"formats": [dict(zip(header, row, strict=True)) for row in rows]})
    else:
        print_result(text_table(header, rows, left=3))
