"""What Elasticsearch LTR and OpenSearch LTR accept, and how they score model/xgboost+json. Written from their parsers.

Parsers reject keys that they do not know, and values of another type.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from swaprank.arrays import Features, Floats

Missing = Literal["by node", "zero", "no"]
"""Elasticsearch LTR from 1.5.9, OpenSearch LTR from 3.8: by node. OpenSearch LTR 3.2 to 3.7: no."""

KEYS = {
    "nodeid": int,
    "depth": int,
    "split": str,
    "split_condition": float,
    "yes": int,
    "no": int,
    "missing": int,
    "leaf": float,
    "children": list,
}


def scores(definition: str, names: Sequence[str], X: Features, missing: Missing = "by node") -> Floats:
    """Scores of documents whose features have these names."""
    trees = json.loads(definition)
    assert isinstance(trees, list)
    assert trees
    for tree in trees:
        check_node(tree, names)
    place = {name: at for at, name in enumerate(names)}
    rows = np.where(np.isnan(X), np.float32(0), X) if missing == "zero" else X
    found = []
    for x in rows:
        total = np.float32(0)
        for tree in trees:
            total = total + _leaf(tree, place, x, missing)
        found.append(float(total))
    return np.array(found)


def check_node(node: dict[str, Any], names: Sequence[str]) -> None:
    """The checks of the parser, without recursion."""
    open_nodes = [node]
    while open_nodes:
        node = open_nodes.pop()
        for key, value in node.items():
            assert type(value) is KEYS[key]
        if "leaf" in node:
            assert "nodeid" in node
            continue
        assert node.keys() >= KEYS.keys() - {"leaf"}
        children = node["children"]
        assert [child["nodeid"] for child in children] == [node["yes"], node["no"]]
        assert node["missing"] in (node["yes"], node["no"])
        assert node["split"] in names
        open_nodes += children


def _leaf(node: dict[str, Any], place: dict[str, int], x: Features, missing: Missing) -> np.float32:
    while "leaf" not in node:
        value = x[place[node["split"]]]
        with np.errstate(over="ignore"):
            goes_left = np.float32(node["split_condition"]) > value
        if np.isnan(value):
            goes_left = missing == "by node" and node["missing"] == node["yes"]
        node = node["children"][0 if goes_left else 1]
    return np.float32(node["leaf"])


def created_model(body: bytes, model_type: str) -> tuple[str, str]:
    """The name and the definition of a model in the body of `_createmodel`."""
    request = json.loads(body)
    assert request.keys() == {"model"}
    assert request["model"].keys() == {"name", "model"}
    return request["model"]["name"], _definition(request["model"]["model"], model_type)


def put_model(body: bytes, model_type: str) -> tuple[str, dict[str, Any], str]:
    """The name, the feature set and the definition of a model in the body of `PUT _ltr/_model/<name>`."""
    request = json.loads(body)
    assert request.keys() == {"model"}
    model = request["model"]
    assert model.keys() == {"name", "feature_set", "model"}
    assert model["feature_set"].keys() == {"name", "features"}
    for feature in model["feature_set"]["features"]:
        assert feature.keys() <= {"name", "params", "template_language", "template"}
    return model["name"], model["feature_set"], _definition(model["model"], model_type)


def _definition(model: dict[str, Any], model_type: str) -> str:
    assert model.keys() == {"type", "definition"}
    assert model["type"] == model_type
    assert isinstance(model["definition"], str)
    return model["definition"]
