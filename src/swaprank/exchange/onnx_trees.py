"""The trees of ONNX: the attributes of TreeEnsembleRegressor, and sets of categories as further features.

ai.onnx.ml 3 has no sets, and onnxruntime 1.21.1 and 1.23.2 score some sets of ai.onnx.ml 5 wrongly. So each set
becomes a feature of the trees, which is 0 where a category goes left and 1 where it goes right, looked up in a table::

    features ─► code of the category, or the last row if it is missing or unknown ─► row of the table ─► 0 1 1 0 …
"""

from dataclasses import replace
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.exchange.other_columns import set_members
from swaprank.models.category_sets import WORD_CATEGORIES
from swaprank.models.forest import Forest, join_forests, single_leaf


def tree_attributes(forest: Forest) -> dict[str, AnyArray]:
    """The attributes of TreeEnsembleRegressor; the leaves of a tree are numbered after its nodes.

    >>> from swaprank.exchange.onnx_trees import tree_attributes
    >>> from swaprank.models.forest import single_leaf
    >>> tree_attributes(single_leaf(0.5, 3, 10))["nodes_modes"].tolist()
    ['LEAF']
    """
    if forest.n_trees == 0:
        forest = join_forests(forest, single_leaf(0.0, forest.n_features, 1))
    n_nodes = np.diff(forest.tree_nodes)
    node_tree, leaf_tree = (np.repeat(np.arange(forest.n_trees), n) for n in (n_nodes, n_nodes + 1))
    node_id = np.arange(len(node_tree)) - forest.tree_nodes[node_tree]
    leaf_id = n_nodes[leaf_tree] + np.arange(len(leaf_tree)) - forest.tree_leaves[leaf_tree]
    # The parts of one tree stand together.
    order = np.argsort(np.concatenate((node_tree, leaf_tree)), kind="stable")

    def of_parts(of_nodes: AnyArray, of_leaves: Any = 0) -> AnyArray:
        return np.concatenate((of_nodes, np.broadcast_to(of_leaves, len(leaf_tree)).astype(of_nodes.dtype)))[order]

    children = {
        side: np.where(child >= 0, child, n_nodes[node_tree] + ~child)
        for side, child in (("true", forest.left), ("false", forest.right))
    }
    return {
        "base_values_as_tensor": np.array([forest.base_score]),
        "nodes_treeids": of_parts(node_tree, leaf_tree),
        "nodes_nodeids": of_parts(node_id, leaf_id),
        "nodes_featureids": of_parts(forest.feature),
        "nodes_modes": of_parts(np.full(len(node_tree), "BRANCH_LEQ"), "LEAF"),
        "nodes_values_as_tensor": of_parts(forest.threshold.astype(np.float64)),
        "nodes_truenodeids": of_parts(children["true"]),
        "nodes_falsenodeids": of_parts(children["false"]),
        "nodes_missing_value_tracks_true": of_parts(forest.missing_left.astype(np.int64)),
        "target_treeids": leaf_tree,
        "target_nodeids": leaf_id,
        "target_ids": np.zeros_like(leaf_id),
        "target_weights_as_tensor": forest.leaf_value,
    }


def add_sets(graph: Any, forest: Forest, features: str) -> tuple[Forest, str]:
    """Add the operators that look up the sets; a forest without sets, and the name of its features."""
    tables, columns = _tables(forest)
    n_rows = graph.constant(np.array([len(table) - 1.0 for table in tables.values()]))
    codes = graph.add("Floor", graph.add("Gather", features, np.array(list(tables)), axis=1))
    is_known = graph.add(
        "And", graph.add("Not", graph.add("Less", codes, np.zeros(1))), graph.add("Less", codes, n_rows)
    )
    rows = graph.add("Cast", graph.add("Where", is_known, codes, n_rows), to=graph.onnx.TensorProto.INT64)
    parts = [features]
    for at, table in enumerate(tables.values()):
        row = graph.add("Gather", rows, np.array(at), axis=1)
        parts.append(graph.as_double(graph.add("Gather", table, row, axis=0)))
    is_set = forest.n_words > 0
    plain = replace(
        forest,
        n_features=forest.n_features + sum(table.shape[1] for table in tables.values()),
        feature=np.where(is_set, columns, forest.feature).astype(np.int32),
        threshold=np.where(is_set, np.float32(0.5), forest.threshold),
        n_words=np.zeros_like(forest.n_words),
        words=forest.words[:0],
    )
    return plain, graph.add("Concat", *parts, axis=1)


def _tables(forest: Forest) -> tuple[dict[int, AnyArray], AnyArray]:
    """By feature: categories and a last row for all others x sets, 0 where they go left. And the column of each node.

    Columns are numbered after the features, table by table.
    """
    stops = np.cumsum(forest.n_words, dtype=np.int64)
    nodes = np.flatnonzero(forest.n_words)
    tables, columns, n_columns = {}, np.zeros(len(forest.n_words), np.int64), forest.n_features
    for feature in np.unique(forest.feature[nodes]):
        own = nodes[forest.feature[nodes] == feature]
        n_categories = WORD_CATEGORIES * int(forest.n_words[own].max())
        found: dict[bytes, int] = {}
        for node in own:
            right = np.full(n_categories + 1, not forest.missing_left[node], np.uint8)
            members = set_members(forest.words[stops[node] - forest.n_words[node] : stops[node]])
            right[: len(members)] = ~members
            columns[node] = n_columns + found.setdefault(right.tobytes(), len(found))
        tables[int(feature)] = np.frombuffer(b"".join(found), np.uint8).reshape(len(found), -1).T.copy()
        n_columns += len(found)
    return tables, columns
