"""Write a model for another system."""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np

from swaprank.data.categories import Categories
from swaprank.errors import Hint, ParameterError, did_you_mean
from swaprank.exchange.exported import Export
from swaprank.exchange.feature_sets import feature_set, renamed
from swaprank.exchange.peer_categories import warn_of_others
from swaprank.files import replacing, writable_target
from swaprank.models.model import Model
from swaprank.models.served import on_columns, spread_columns


class TargetFormat(NamedTuple):
    """A format that models are written in."""

    module: str
    """Has a function `content(export: Export) -> bytes`."""
    file: str
    """The usual name of its files."""
    description: str


FORMATS = {
    "lightgbm": TargetFormat(
        "swaprank.exchange.to_lightgbm", "model.txt", "LightGBM's model text, for lightgbm.Booster, Treelite, SHAP"
    ),
    "xgboost": TargetFormat(
        "swaprank.exchange.to_xgboost", "model.json", "XGBoost's model JSON, for Booster.load_model"
    ),
    "ranklib": TargetFormat(
        "swaprank.exchange.to_ranklib", "model.xml", "RankLib's XML, for Elasticsearch LTR and OpenSearch LTR"
    ),
    "xgboost+json": TargetFormat(
        "swaprank.exchange.to_xgboost_dump", "model.json", "XGBoost's dump, for Elasticsearch LTR and OpenSearch LTR"
    ),
    "solr": TargetFormat("swaprank.exchange.to_solr", "model.json", "Solr's model store: trees, linear models, nets"),
    "vespa": TargetFormat("swaprank.exchange.to_vespa", "model.json", "LightGBM's JSON, for Vespa's lightgbm(…)"),
    "onnx": TargetFormat("swaprank.exchange.to_onnx", "model.onnx", "ONNX, for ONNX Runtime and many others"),
    "c": TargetFormat("swaprank.exchange.to_c", "model.c", "One file of C99 without dependencies"),
}

ALIASES = {"elasticsearch": "ranklib", "opensearch": "ranklib"}
"""Other names of formats, by the engine that reads them."""


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
    to = ALIASES.get(to, to)
    if to not in FORMATS:
        raise ParameterError(f"there is no format '{to}'; {did_you_mean(to, [*FORMATS, *ALIASES])}")
    if missing not in ("refuse", "zero"):
        raise ParameterError(Hint("missing"), f" must be 'refuse' or 'zero'; found {missing!r}.")
    file = writable_target(path)
    names, own_categories = renamed(feature_names, categories, rename or {})
    served, given = model.for_export(), feature_set(features)
    may_be_missing = None if missing_features is None else np.isin(feature_names, missing_features)
    if given is not None:
        columns = given.columns_of(names)
        served = on_columns(served, columns, len(given.names), {})
        at = dict(zip(names, columns.tolist(), strict=True))
        own_categories = {given.names[at[each]]: found for each, found in own_categories.items()}
        names = given.names
        may_be_missing = None if may_be_missing is None else spread_columns(may_be_missing, columns, len(names))
    name = name or file.name.partition(".")[0] or "model"
    export = Export(to, served, names, own_categories, name, missing, request, given, may_be_missing)
    warn_of_others(export)
    content = import_module(FORMATS[to].module).content(export)
    with replacing(file) as stream:
        stream.write(content)
