"""`swaprank import`: read a model of another library."""

from pathlib import Path
from typing import Annotated

import typer

import swaprank as sr
from swaprank.cli.options import names_or_file
from swaprank.cli.output import print_info


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
    ranker = sr.import_model(model, feature_names=None if names is None else names.names, metric=metric)
    ranker.save(output)
    print_info(f"{output}: {ranker.size_}, {ranker.n_features_in_:,} features")
