"""Write a model for another system."""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from swaprank.arrays import Bools
from swaprank.data.categories import Categories
from swaprank.errors import ExportError, ParameterError, did_you_mean
from swaprank.exchange.feature_sets import FeatureSet, feature_set, renamed
from swaprank.exchange.other_columns import spread_columns
from swaprank.exchange.served_models import (
    FeedForward,
    KernelSum,
    Mixture,
    ServedModel,
    Trees,
    WeightedSum,
    on_columns,
    served_model,
)
from swaprank.files import replacing, writable_target
from swaprank.models.model import Model


class Format(NamedTuple):
    """A format that models are written in."""

    module: str
    """Has a function `content(export: Export) -> bytes`."""
    file: str
    """What its files are usually called."""
    description: str


FORMATS = {
    "lightgbm": Format(
        "swaprank.exchange.to_lightgbm", "model.txt", "LightGBM's model text, for lightgbm.Booster, Treelite, SHAP"
    ),
    "xgboost": Format("swaprank.exchange.to_xgboost", "model.json", "XGBoost's model JSON, for Booster.load_model"),
    "ranklib": Format(
        "swaprank.exchange.to_ranklib", "model.xml", "RankLib's XML, for Elasticsearch LTR and OpenSearch LTR"
    ),
    "xgboost+json": Format(
        "swaprank.exchange.to_xgboost_dump", "model.json", "XGBoost's dump, for Elasticsearch LTR and OpenSearch LTR"
    ),
    "solr": Format("swaprank.exchange.to_solr", "model.json", "Solr's model store: trees, linear models, nets"),
    "vespa": Format("swaprank.exchange.to_vespa", "model.json", "LightGBM's JSON, for Vespa's lightgbm(…)"),
    "onnx": Format("swaprank.exchange.to_onnx", "model.onnx", "ONNX, for ONNX Runtime and many others"),
    "c": Format("swaprank.exchange.to_c", "model.c", "One file of C99 without dependencies"),
}


class Export(NamedTuple):
    """What a format is given: a model for all features of the target, and how to write it."""

    to: str
    """The name of the format, for messages."""
    model: ServedModel
    feature_names: tuple[str, ...]
    categories: Mapping[str, Categories]
    """The categories of each categorical feature; their positions are the numbers that the model takes."""
    name: str
    """What the model is called where it is served."""
    missing: Literal["refuse", "zero"]
    """What to do about missing values that the model treats otherwise than a target that reads them as 0."""
    request: bool
    """Write the whole body of the request that uploads the model, instead of the model alone."""
    feature_set: FeatureSet | None
    """The features of the target as they were given, with their definitions if these were given."""
    may_be_missing: Bools | None = None
    """Which features had missing values in training; None if that is not known."""


def export(
    model: Model,
    feature_names: Sequence[str],
    categories: Mapping[str, Categories],
    path: str | os.PathLike[str],
    to: str,
    *,
    features: Any = None,
    rename: Mapping[str, str] | None = None,
    name: str | None = None,
    missing: Literal["refuse", "zero"] = "refuse",
    request: bool = False,
    missing_features: Sequence[str] | None = None,
) -> None:
    """Write a model to a file in the format of another system; see `Ranker.export`."""
    if to not in FORMATS:
        raise ParameterError(f"there is no format '{to}'; {did_you_mean(to, FORMATS)}")
    if missing not in ("refuse", "zero"):
        raise ParameterError(f"missing must be 'refuse' or 'zero'; found {missing!r}.")
    file = writable_target(path)
    names, own_categories = renamed(feature_names, categories, rename or {})
    served, given = served_model(model), feature_set(features)
    may_be_missing = None if missing_features is None else np.isin(feature_names, missing_features)
    if given is not None:
        columns = given.columns_of(names)
        served = on_columns(served, columns, len(given.names), {})
        at = dict(zip(names, columns.tolist(), strict=True))
        own_categories = {given.names[at[each]]: found for each, found in own_categories.items()}
        names = given.names
        may_be_missing = None if may_be_missing is None else spread_columns(may_be_missing, columns, len(names))
    export = Export(to, served, names, own_categories, name or _stem(file), missing, request, given, may_be_missing)
    content = import_module(FORMATS[to].module).content(export)
    with replacing(file) as stream:
        stream.write(content)


def refuse_kind(export: Export, holds: str, instead: str) -> ExportError:
    """The error for a model of a kind that the format cannot hold; `holds` says what it can.

    >>> import numpy as np
    >>> from swaprank.exchange.export import Export, refuse_kind
    >>> from swaprank.exchange.served_models import WeightedSum
    >>> model = WeightedSum(np.ones(2), np.zeros(2, np.float32), 0.0)
    >>> refuse_kind(Export("lightgbm", model, ("a", "b"), {}, "m", "refuse", False, None), "trees", "onnx or c")
    ExportError('lightgbm holds only trees; found a linear model. Use onnx or c.')
    """
    return ExportError(f"{export.to} holds only {holds}; found {describe(export.model)}. Use {instead}.")


def describe(model: ServedModel) -> str:
    """A kind of model in words."""
    match model:
        case Trees():
            return "trees"
        case WeightedSum():
            return "a linear model"
        case FeedForward(layers=layers):
            hidden = len(layers) - 1
            return f"a net of {hidden} hidden layer{'s' if hidden != 1 else ''}"
        case KernelSum():
            return "a kernel machine"
        case Mixture(members=members):
            return f"an ensemble of {' and '.join(describe(member) for member in members)}"


def _stem(file: Path) -> str:
    return file.name.partition(".")[0] or "model"
