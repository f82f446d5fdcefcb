"""Small valid files of ONNX and CatBoost for the fuzzer, and ONNX ensembles as other tools write them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from swaprank.exchange.exported import Export
from swaprank.exchange.to_onnx import content
from swaprank.models.category_sets import set_members
from swaprank.models.forest import Forest
from swaprank.models.served import Trees
from tests.models.random_forests import random_forest

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")


def graph_of(*nodes: Any, n_features: int | str = 5, elem_type: int = TensorProto.FLOAT) -> Any:
    """A model of these operators from "X" to "Y"."""
    inputs = [helper.make_tensor_value_info("X", elem_type, [None, n_features])]
    outputs = [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [None, 1])]
    version = 5 if any(node.op_type == "TreeEnsemble" for node in nodes) else 3
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), opset_imports=opsets, ir_version=8)


def regressor(n_trees: int = 2, source: str = "X", target: str = "Y", **changed: Any) -> Any:
    """Stumps as a TreeEnsembleRegressor of ai.onnx.ml 1: x <= 0.5 on feature t gives t - 1.5, all others t + 0.25."""
    trees = range(n_trees)
    attributes: dict[str, Any] = {
        "n_targets": 1,
        "nodes_treeids": [t for t in trees for _ in range(3)],
        "nodes_nodeids": [0, 1, 2] * n_trees,
        "nodes_featureids": [f for t in trees for f in (t, 0, 0)],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * n_trees,
        "nodes_values": [0.5, 0.0, 0.0] * n_trees,
        "nodes_truenodeids": [1, 0, 0] * n_trees,
        "nodes_falsenodeids": [2, 0, 0] * n_trees,
        "target_treeids": [t for t in trees for _ in range(2)],
        "target_nodeids": [1, 2] * n_trees,
        "target_ids": [0] * (2 * n_trees),
        "target_weights": [value for t in trees for value in (t - 1.5, t + 0.25)],
    }
    return helper.make_node(
        "TreeEnsembleRegressor", [source], [target], domain="ai.onnx.ml", **{**attributes, **changed}
    )


def ensemble(forest: Forest, dtype: type = np.float32, source: str = "X", target: str = "Y", **changed: Any) -> Any:
    """A forest of nodes as a TreeEnsemble of ai.onnx.ml 5. A set that missing values go to is complemented."""
    stops = np.cumsum(forest.n_words)
    of_tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.tree_nodes))
    left, right, missing = forest.left.copy(), forest.right.copy(), forest.missing_left.astype(np.int64)
    members: list[float] = []
    for node in np.flatnonzero(forest.n_words):
        is_left = set_members(forest.words[stops[node] - forest.n_words[node] : stops[node]])
        if missing[node]:
            is_left, left[node], right[node], missing[node] = ~is_left, right[node], left[node], 0
        members += [*np.flatnonzero(is_left).tolist(), np.nan]

    def position(child: Any) -> list[int]:
        return np.where(child >= 0, forest.tree_nodes[of_tree] + child, forest.tree_leaves[of_tree] + ~child).tolist()  # type: ignore[no-any-return]

    attributes: dict[str, Any] = {
        "n_targets": 1,
        "tree_roots": forest.tree_nodes[:-1].tolist(),
        "nodes_featureids": forest.feature.tolist(),
        "nodes_modes": numpy_helper.from_array(np.where(forest.n_words > 0, 6, 0).astype(np.uint8)),
        "nodes_splits": numpy_helper.from_array(forest.threshold.astype(dtype)),
        "nodes_missing_value_tracks_true": missing.tolist(),
        "nodes_truenodeids": position(left),
        "nodes_trueleafs": (left < 0).astype(int).tolist(),
        "nodes_falsenodeids": position(right),
        "nodes_falseleafs": (right < 0).astype(int).tolist(),
        "leaf_targetids": [0] * len(forest.leaf_value),
        "leaf_weights": numpy_helper.from_array(forest.leaf_value.astype(dtype)),
    }
    if members:
        attributes["membership_values"] = numpy_helper.from_array(np.array(members, dtype))
    return helper.make_node("TreeEnsemble", [source], [target], domain="ai.onnx.ml", **{**attributes, **changed})


def exported(forest: Forest) -> bytes:
    """The ONNX file that our export writes."""
    names = tuple(f"f{at}" for at in range(forest.n_features))
    return content(Export("onnx", Trees(forest), names, {}, "m", "refuse", False, None))


def onnx_seeds() -> list[bytes]:
    """Our own export without and with sets of categories, and both operators as others write them."""
    rng = np.random.default_rng(0)
    plain, with_sets = (random_forest(rng, [3, 5, 1], set_share=share) for share in (0.0, 0.6))
    cast = helper.make_node("Cast", ["Z"], ["Y"], to=TensorProto.FLOAT)
    others = [
        graph_of(regressor(3, nodes_missing_value_tracks_true=[1, 0, 0] * 3, base_values=[0.5])),
        graph_of(ensemble(random_forest(rng, [4, 3]), np.float64, target="Z"), cast, elem_type=TensorProto.DOUBLE),
    ]
    return [exported(plain), exported(with_sets), *(each.SerializeToString() for each in others)]


def catboost_json(trees: list[Any], *, nested: bool = False, **changed: Any) -> dict[str, Any]:
    """A model of three features: missing values of the first are below, of the others above all numbers."""
    features = [
        {"feature_index": at, "flat_feature_index": at, "feature_id": name, "nan_value_treatment": treatment}
        for at, (name, treatment) in enumerate((("bm25", "AsFalse"), ("age", "AsTrue"), ("price", "AsTrue")))
    ]
    model: dict[str, Any] = {
        "features_info": {"float_features": features},
        "model_info": {"params": {"loss_function": {"type": "YetiRank"}}},
        "trees" if nested else "oblivious_trees": trees,
        "scale_and_bias": [1, [0.25]],
    }
    return model | changed


def catboost_split(feature: int, border: float) -> dict[str, Any]:
    """A split on a number."""
    return {"float_feature_index": feature, "border": border, "split_index": 0, "split_type": "FloatFeature"}


def catboost_seeds() -> list[bytes]:
    """Symmetric trees, and a tree of nodes with children."""
    symmetric = [
        {
            "splits": [catboost_split(0, 0.5), catboost_split(1, -1.5)],
            "leaf_values": [0.5, -1, 2.25, 1e-3],
            "leaf_weights": [10, 0, 3, 7],
        },
        {"splits": [catboost_split(2, 3.5)], "leaf_values": [1, -1]},
        {"splits": [], "leaf_values": [0.125], "leaf_weights": [20]},
    ]
    leaf = {"value": 0.5, "weight": 4}
    node = {"split": catboost_split(1, 2.5), "left": leaf, "right": {"value": -3, "weight": 0}}
    root = {"split": catboost_split(0, -0.5), "left": node, "right": leaf}
    models = [catboost_json(symmetric), catboost_json([root, leaf], nested=True, scale_and_bias=[0.5, [1.0]])]
    return [json.dumps(model).encode() for model in models]


def load(content: bytes) -> Any:
    """An ONNX model, to be changed."""
    return onnx.load_from_string(content)
