"""Solr's model store: trees, linear models and nets, all in single precision.

Solr compares x <= threshold + 1e-6, where the sum is rounded to single precision. So a threshold is written as a number
for which this sum is our threshold. For some thresholds below 1 there is none. Then a normalizer multiplies the feature
by a power of two, which loses no digit, and the thresholds are multiplied, too.

Solr's setters take the numbers of trees and normalizers as text, and those of weights and layers as numbers with a
decimal point.
"""

import json
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Bools, Features
from swaprank.errors import ExportError
from swaprank.exchange.exported import MISSING_AS_ZERO, Export, check_missing_as_zero, refuse_kind, warn_of_export
from swaprank.exchange.plain_trees import fold_tree, plain_trees
from swaprank.models.forest import Forest
from swaprank.models.served import FeedForward, Trees, WeightedSum

_PACKAGE = "org.apache.solr.ltr"
_SLACK = np.float32(1e-6)
_POWERS = [np.float32(2) ** np.float32(power) for power in range(10, 121, 10)]
_LARGEST = np.finfo(np.float32).max
"""As a threshold, it separates all values from missing ones. So does infinity."""
_DEEPEST = 100
"""Solr makes a tree by recursion, and its threads have small stacks."""


def content(export: Export) -> bytes:
    """The body of `PUT schema/model-store`: the model with the features that it uses."""
    features: list[dict[str, Any]] = [{"name": name} for name in export.feature_names]
    match export.model:
        case Trees(forest):
            used = _at_least_one(np.unique(forest.feature))
            kind, (params, scale) = "MultipleAdditiveTreesModel", _trees(export, forest)
            for at in np.flatnonzero(scale != 1):
                features[at]["norm"] = _standardized(np.float32(0), scale[at])
        case WeightedSum(weights, _, bias):
            used = _at_least_one(np.flatnonzero(weights))
            _check_missing(export, used)
            kind, params = _weighted_sum(export, _single(export, weights), used, float(_single(export, bias)))
        case FeedForward(_, mean, factor, _, layers) as net:
            used = _at_least_one(np.flatnonzero((layers[0][0] != 0).any(axis=0) & (factor != 0)))
            _check_missing(export, used)
            kind, params = "NeuralNetworkModel", _layers(export, net, used)
            for at in np.flatnonzero(factor):
                features[at]["norm"] = _standardized(mean[at], factor[at])
        case _:
            raise refuse_kind(export, "trees, linear models and nets", "onnx or c")
    model: dict[str, Any] = {"class": f"{_PACKAGE}.model.{kind}", "name": export.name, **_store(export)}
    model |= {"features": [features[at] for at in used], "params": params}
    return (json.dumps(model, indent=1 if kind != "MultipleAdditiveTreesModel" else None) + "\n").encode()


def _at_least_one(used: AnyArray) -> AnyArray:
    """A model without features is refused."""
    return used if len(used) else np.zeros(1, np.int64)


def _store(export: Export) -> dict[str, str]:
    """The feature store, if the definitions of the features name one."""
    definitions = export.feature_set.definitions if export.feature_set is not None else None
    stores = {definition.get("store") for definition in definitions or ()}
    return {"store": store} if len(stores) == 1 and isinstance(store := stores.pop(), str) else {}


def _trees(export: Export, forest: Forest) -> tuple[dict[str, Any], Features]:
    """The parameters of the model, and what each feature is multiplied by."""
    forest = plain_trees(export, forest, _DEEPEST)
    missing_left = _missing_left(export, forest)
    thresholds, scale = _thresholds(export, forest)

    def leaf(leaf: int) -> dict[str, Any]:
        return {"value": str(np.float32(forest.leaf_value[leaf]))}

    def node(node: int, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        split: dict[str, Any] = {
            "feature": export.feature_names[forest.feature[node]],
            "threshold": _java(thresholds[node]),
        }
        if missing_left is not None:
            split["missing"] = "left" if missing_left[node] else "right"
        return {**split, "left": left, "right": right}

    roots = [fold_tree(forest, tree, leaf, node) for tree in range(forest.n_trees)]
    trees = [{"weight": "1", "root": root} for root in roots]
    return ({"trees": trees} if missing_left is None else {"isNullSameAsZero": False, "trees": trees}), scale


def _missing_left(export: Export, forest: Forest) -> Bools | None:
    """Which nodes send missing values left; None if Solr shall read them as 0."""
    learned, assumed = export.unlike_zero()
    nulls = _nulls(export, forest.feature)
    if export.missing == "zero":
        return np.asarray(forest.threshold >= 0) if nulls.any() else None
    if not (learned | nulls).any():
        check_missing_as_zero(export, "Solr")
        return None
    unlike = (learned | assumed) & ~nulls
    if unlike.any():
        warn_of_export(
            f"Solr reads missing values of {export.named(unlike)} as 0, which the model "
            'does not do, unless the features are defined with the parameter "defaultValue": "NaN". This needs '
            "Solr 9.2. If 0 stood for missing values in training, export with ",
            MISSING_AS_ZERO,
            ".",
        )
    return forest.missing_left


def _nulls(export: Export, used: AnyArray) -> Bools:
    """True for used features whose missing values are NaN in Solr, by their definitions."""
    definitions = export.feature_set.definitions if export.feature_set is not None else None
    nulls = np.zeros(len(export.feature_names), np.bool_)
    for at, definition in enumerate(definitions or ()):
        params = definition.get("params")
        nulls[at] = isinstance(params, dict) and str(params.get("defaultValue")).lower() == "nan"
    return nulls & np.isin(np.arange(len(nulls)), used)


def _check_missing(export: Export, used: AnyArray) -> None:
    """Warn about missing values of linear models and nets."""
    nulls = _nulls(export, used)
    if nulls.any():
        warn_of_export(
            f'{export.named(nulls)}: "defaultValue": "NaN" in the definition is for trees only. With other models, '
            "Solr gives a document without a value the score NaN: define the feature without it."
        )
    check_missing_as_zero(export, "Solr")


def _thresholds(export: Export, forest: Forest) -> tuple[Features, Features]:
    """The thresholds to write, and what each feature is multiplied by; a warning if some are not ours in Solr."""
    scale = np.ones(forest.n_features, np.float32)
    written, sums = _before_slack(forest.threshold)
    for feature in np.unique(forest.feature[sums != forest.threshold]):
        nodes = forest.feature == feature
        for power in _POWERS:
            scaled = _scaled(forest.threshold[nodes], power)
            found, sums_there = _before_slack(scaled)
            if (np.isfinite(scaled) | (forest.threshold[nodes] == _LARGEST)).all() and (sums_there == scaled).all():
                scale[feature], written[nodes], sums[nodes] = power, found, forest.threshold[nodes]
                break
    gap = np.where(sums == forest.threshold, 0, sums.astype(np.float64) - forest.threshold)
    if (gap > 0).any():
        features = np.isin(np.arange(forest.n_features), forest.feature[gap > 0])
        warn_of_export(
            f"Solr adds 1e-6 to thresholds, which changes {np.sum(gap > 0)} of the {len(gap)} thresholds by up to "
            f"{gap.max():.1g}: {export.named(features)} has both tiny and huge ones. If documents have values so "
            "near to each other, train on a feature of a smaller range, such as its logarithm."
        )
    return written, scale


def _before_slack(threshold: Features) -> tuple[Features, Features]:
    """The smallest numbers whose sums with 1e-6 are at least the thresholds, and these sums."""
    lowest, highest = np.float32(-np.inf), np.float32(np.inf)
    with np.errstate(over="ignore"):
        written = np.nextafter(np.nextafter(threshold - _SLACK, lowest), lowest)
        for _ in range(4):
            written = np.where(written + _SLACK < threshold, np.nextafter(written, highest), written)
    return written, written + _SLACK


def _scaled(threshold: Features, power: np.float32) -> Features:
    with np.errstate(over="ignore"):
        return np.asarray(threshold * power, np.float32)


def _java(number: np.float32) -> str:
    return "Infinity" if number == np.inf else str(number)


def _weighted_sum(export: Export, weights: Features, used: AnyArray, bias: float) -> tuple[str, dict[str, Any]]:
    """A LinearModel, which has no constant; with one, a net of a single unit."""
    if bias == 0:
        return "LinearModel", {"weights": {export.feature_names[at]: float(weights[at]) for at in used}}
    unit = {"matrix": [weights[used].tolist()], "bias": [bias], "activation": "identity"}
    return "NeuralNetworkModel", {"layers": [unit]}


def _single(export: Export, values: Any) -> Features:
    """The numbers in single precision; ExportError if they are too large for it."""
    with np.errstate(over="ignore"):
        found = np.asarray(values).astype(np.float32)
    if not np.isfinite(found).all():
        raise ExportError(
            f"{export.to} has single precision, in which a weight of the model is infinite. Use ranklib, onnx or c."
        )
    return found


def _layers(export: Export, net: FeedForward, used: AnyArray) -> dict[str, Any]:
    if net.logged.any():
        name = export.feature_names[int(np.flatnonzero(net.logged)[0])]
        raise ExportError(
            f"solr has no logarithm, which the net takes of '{name}'. Use onnx or c; or train on a feature that is "
            "a logarithm already."
        )
    (matrix, biases), *others = net.layers
    activations = [net.activation] * len(others) + ["identity"]
    layers = [(matrix[:, used], biases), *others]
    return {
        "layers": [
            {"matrix": matrix.tolist(), "bias": biases.tolist(), "activation": activation}
            for (matrix, biases), activation in zip(layers, activations, strict=True)
        ]
    }


def _standardized(mean: np.float32, factor: np.float32) -> dict[str, Any]:
    """(x - mean) / standard deviation; folded into the first layer, it would cancel digits of large means."""
    params = {"avg": str(mean), "std": str(np.float32(1) / factor)}
    return {"class": f"{_PACKAGE}.norm.StandardNormalizer", "params": params}
