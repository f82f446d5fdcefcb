"""What Vespa's importer makes of LightGBM's JSON, and how Vespa evaluates it. Written from their rules.

A node becomes if (x < threshold, left, right), or !(x >= threshold) if `default_left`; or x in [categories]. Fast
evaluation takes features, thresholds and leaves in float; expressions are evaluated in double. Both add in double.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from swaprank.arrays import Floats

Expression = tuple[str, Any, bool, Any, Any] | float


def scores(content: bytes, documents: Sequence[Mapping[str, Any]], is_fast: bool) -> Floats:
    """Scores of documents: a number, or text for a categorical feature, by the name of each feature; NaN is missing."""
    model = json.loads(content)
    assert model["objective"] == "lambdarank"
    names: list[str] = model["feature_names"]
    # The importer pairs the features that have values with the lists of categories, in the order of the features.
    categorical = [at for at, name in enumerate(names) if model["feature_infos"].get(name, {}).get("values")]
    categories = dict(zip(categorical, model["pandas_categorical"], strict=True))
    trees = [_expression(tree["tree_structure"], names, categories) for tree in model["tree_info"]]
    # From Python 3.12 on, `sum` compensates for rounding, which Vespa does not.
    return np.array(
        [reduce(operator.add, (_value(tree, document, is_fast) for tree in trees)) for document in documents]
    )


def _expression(node: dict[str, Any], names: list[str], categories: dict[int, list[Any]]) -> Expression:
    if "leaf_value" in node:
        return float(node["leaf_value"])
    assert type(node["default_left"]) is bool
    feature = node["split_feature"]
    left, right = (_expression(node[side], names, categories) for side in ("left_child", "right_child"))
    if node["decision_type"] == "<=":
        return names[feature], float(node["threshold"]), node["default_left"], left, right
    assert node["decision_type"] == "=="
    chosen = {categories[feature][int(place)] for place in node["threshold"].split("||")}
    return names[feature], chosen, node["default_left"], left, right


def _value(expression: Expression, document: Mapping[str, Any], is_fast: bool) -> float:
    as_read: Any = np.float32 if is_fast else np.float64
    while isinstance(expression, tuple):
        name, limit, default_left, left, right = expression
        value = document[name]
        with np.errstate(over="ignore"):
            if isinstance(limit, set):
                goes_left = value in limit
            elif default_left:
                goes_left = not as_read(value) >= as_read(limit)
            else:
                goes_left = as_read(value) < as_read(limit)
        expression = left if goes_left else right
    return float(as_read(expression))
