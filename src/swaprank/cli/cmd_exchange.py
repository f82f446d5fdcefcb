"""`swaprank export` and `swaprank import`: write models for other systems, and read models of other libraries."""

from pathlib import Path
from typing import Annotated, Any

import typer

import swaprank as sr
from swaprank.cli.completion import complete_format
from swaprank.cli.options import AsJson, names_or_file, split_names
from swaprank.cli.output import print_either, print_info
from swaprank.cli.rankings import load_any
from swaprank.files import writable_target

_SHOWN = 20
"""Features that `export` lists at most."""


def export(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="MODEL", help="Model file, of swaprank or of another library.", show_default=False),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            autocompletion=complete_format,
            help="Format to write; see --list. elasticsearch and opensearch mean ranklib.",
            show_default="that of the ending .txt .xml .onnx .c",
        ),
    ] = None,
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
            autocompletion=lambda incomplete: [each for each in ("refuse", "zero") if each.startswith(incomplete)],
            help="For formats that may read a missing value as 0. refuse: if the model does something else, it is an "
            "error in ranklib, and a warning in solr and xgboost+json, where servers differ. zero: a missing value is "
            "0, because documents always have all features, or 0 stood for missing values in training.",
        ),
    ] = "refuse",
    request: Annotated[
        bool, typer.Option("--request", help="Write the body of the request that uploads the model.")
    ] = False,
    list_formats: Annotated[bool, typer.Option("--list", help="List the formats.")] = False,
    json: AsJson = False,
) -> None:
    """Write a model for another system: a search engine, another library, a runtime, or a C compiler.

    The system then gives the same scores, up to the rounding of its arithmetic. What it cannot hold is an error,
    and what it may score differently a warning.
    """
    if list_formats:
        _show_formats(json)
        return
    if model is None or output is None:
        raise typer.BadParameter("give MODEL, --output FILE and --to FORMAT; or --list.")
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
    print_info(f"{output}: {ranker.size_}{f' as {to}' if to else ''}")
    by_place = _by_place(ranker, target_features, _renamed(rename or []))
    if by_place:
        print_info(f"features by their place: {by_place}")


def _by_place(ranker: "sr.Ranker", target: list[str] | Path | None, new_names: dict[str, str]) -> str:
    """Which feature of the target is which of the model, where numbers were matched with names."""
    from swaprank.exchange.feature_sets import feature_set, renamed

    given = feature_set(target)
    if given is None:
        return ""
    names, _ = renamed(ranker.feature_names_in_.tolist(), {}, new_names)
    pairs = [(name, given.names[at]) for name, at in zip(names, given.columns_of(names).tolist(), strict=True)]
    differ = [f"{name} = {there}" for name, there in pairs if name != there]
    return ", ".join(differ[:_SHOWN]) + (f", … ({len(differ):,} in all)" if len(differ) > _SHOWN else "")


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
    formats = [dict(zip(header, row, strict=True)) for row in rows]
    print_either({"formats": formats}, text_table(header, rows, left=3), json)


def import_(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="Model file of another library: LightGBM text, XGBoost JSON or UBJ, CatBoost JSON or cbm, RankLib "
            "XML, or an ONNX tree ensemble.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file of swaprank to write.")],
    features: Annotated[
        str | None,
        typer.Option(
            help="Names of the features, separated by commas, or a text file with one per line.",
            show_default="those that the model has",
        ),
    ] = None,
    pandas_categories: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,…",
            help="For LightGBM: the columns of the training data that were pandas categories, if the file does not say "
            "it.",
        ),
    ] = None,
    subtract: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FEATURE=NUMBER",
            help="For LightGBM: a number to subtract from a feature that is too large for single precision. Can be "
            "repeated.",
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Documents that the library itself scores, to compare; it must be installed."
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="Metric that report, certify and explain use by default.")
    ] = "ndcg@10",
) -> None:
    """Read a model of another library, and write it as a model of swaprank.

    All commands then take it: predict, evaluate, report, certify, combine, explain, export, and train --base-ranker.
    """
    from swaprank.exchange.feature_sets import feature_set
    from swaprank.model_files.container import check_target

    given = names_or_file(features)
    check_target(output, (model, given if isinstance(given, Path) else None))
    names = feature_set(given)
    numbers = _subtracted(subtract or [])
    options: dict[str, Any] = {
        "feature_names": None if names is None else names.names,
        "pandas_categories": None if pandas_categories is None else pandas_categories.split(","),
        "subtract": numbers,
        "metric": metric,
    }
    ranker = sr.import_model(model, **options)
    if check is not None:
        ranker = sr.import_model(model, check=_documents(check, ranker, numbers), **options)
    ranker.save(output)
    print_info(f"{output}: {ranker.size_}, {ranker.n_features_in_:,} features")
    for line in (*ranker.notes_, *([] if ranker.agreement_ is None else [str(ranker.agreement_)])):
        print_info(line)


def _subtracted(given: list[str]) -> dict[str, float]:
    try:
        return {name: float(number) for name, _, number in (each.rpartition("=") for each in given)}
    except ValueError:
        raise typer.BadParameter(f"write --subtract FEATURE=NUMBER; found '{' '.join(given)}'.") from None


def _documents(file: Path, ranker: "sr.Ranker", subtract: dict[str, float]) -> "sr.Dataset":
    """The documents with the features as the library has them."""
    from swaprank.exchange.double_thresholds import subtracted_name
    from swaprank.reading.read import read_matching

    before = {subtracted_name(name, subtract): name for name in subtract}
    names = [before.get(name, name) for name in ranker.feature_names_in_.tolist()]
    return read_matching(file, names, ranker.categories_, unlabeled=True)
