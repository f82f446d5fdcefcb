"""What Solr's model store accepts, and how its models score. Written from their setters and `score` methods.

A key is the name of a setter, and the type of a value is that of the setter's argument: numbers of trees and
normalizers are text, those of weights any JSON number, and those of layers JSON numbers with a fraction. All arithmetic
is in float.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from swaprank.arrays import Features, Floats

F = np.float32


def scores(content: bytes, names: list[str], X: Features) -> Floats:
    """Scores of documents; `names` is the feature store, whose features without a value are NaN if they are in X."""
    model = json.loads(content)
    assert model.keys() <= {"class", "name", "store", "features", "params"}
    assert model["features"]
    listed = [feature["name"] for feature in model["features"]]
    assert len(set(listed)) == len(listed)
    assert set(listed) <= set(names)
    columns = X[:, [names.index(name) for name in listed]]
    kind = model["class"].removeprefix("org.apache.solr.ltr.model.")
    params = model["params"]
    null_is_zero = params.pop("isNullSameAsZero", True)
    assert type(null_is_zero) is bool
    assert null_is_zero or kind == "MultipleAdditiveTreesModel"
    if null_is_zero:
        columns = np.where(np.isnan(columns), F(0), columns)
    assert len(params) == 1
    score = {"MultipleAdditiveTreesModel": _trees, "LinearModel": _linear, "NeuralNetworkModel": _net}[kind]
    with np.errstate(over="ignore"):
        normalized = [_normalized(feature, columns[:, at]) for at, feature in enumerate(model["features"])]
        columns = np.stack(normalized, axis=1)
        return np.array([float(score(params, listed, x)) for x in columns])


def _normalized(feature: dict[str, Any], values: Features) -> Features:
    assert feature.keys() <= {"name", "norm"}
    if "norm" not in feature:
        return values
    assert feature["norm"]["class"] == "org.apache.solr.ltr.norm.StandardNormalizer"
    assert feature["norm"].keys() == {"class", "params"}
    params = {name: F(_text(value)) for name, value in feature["norm"]["params"].items()}
    assert params.keys() == {"avg", "std"}
    assert params["std"] > 0
    normalized: Features = (values - params["avg"]) / params["std"]
    return normalized


def _text(value: Any) -> str:
    assert type(value) is str
    return value


def _trees(params: dict[str, Any], listed: list[str], x: Features) -> np.float32:
    total = F(0)
    for tree in params["trees"]:
        assert tree.keys() == {"weight", "root"}
        node = tree["root"]
        while "value" not in node:
            assert node.keys() - {"missing"} == {"feature", "threshold", "left", "right"}
            value = x[listed.index(node["feature"])]
            goes_left = value <= F(_text(node["threshold"])) + F(1e-6)
            if np.isnan(value):
                goes_left = {"left": True, "right": False}[node["missing"]]
            node = node["left" if goes_left else "right"]
        assert node.keys() == {"value"}
        total = total + F(_text(tree["weight"])) * F(_text(node["value"]))
    return total


def _linear(params: dict[str, Any], listed: list[str], x: Features) -> np.float32:
    assert params["weights"].keys() == set(listed)
    total = F(0)
    for name, value in zip(listed, x, strict=True):
        assert type(params["weights"][name]) in (int, float)
        total = total + value * F(params["weights"][name])
    return total


def _net(params: dict[str, Any], listed: list[str], x: Features) -> np.float32:
    activations: dict[str, Callable[[np.float32], np.float32]] = {
        "identity": lambda z: z,
        "relu": lambda z: F(0) if z < 0 else z,
        "tanh": lambda z: F(np.tanh(float(z))),
        "sigmoid": lambda z: F(1 / (1 + np.exp(-float(z)))),
    }
    for layer in params["layers"]:
        assert layer.keys() == {"matrix", "bias", "activation"}
        assert all(type(value) is float for row in (*layer["matrix"], layer["bias"]) for value in row)
        assert all(len(row) == len(x) for row in layer["matrix"])
        assert len(layer["bias"]) == len(layer["matrix"])
        outputs = []
        for row, bias in zip(layer["matrix"], layer["bias"], strict=True):
            z = F(bias)
            for weight, value in zip(row, x, strict=True):
                z = z + F(weight) * value
            outputs.append(activations[layer["activation"]](z))
        x = np.array(outputs, F)
    (score,) = x
    return F(score)
