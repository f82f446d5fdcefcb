"""XGBoost's JSON dump, which Elasticsearch LTR and OpenSearch LTR read as model/xgboost+json.

The readers compare x < split_condition in single precision, so thresholds are the next number above ours. They add leaf
values in single precision. A feature without a value goes to the node `missing`, in the versions that have this:
Elasticsearch LTR from 1.5.9 on, OpenSearch LTR from 3.8 on. Older ones read it as 0, except OpenSearch LTR from 3.2 on,
which sends it to `no`.
"""

import json

import numpy as np

from swaprank.exchange.exported import MISSING_AS_ZERO, Export, ltr_content, refuse_kind, warn_of_export
from swaprank.exchange.plain_trees import fold_tree, node_depths, plain_trees, strict
from swaprank.models.forest import Forest
from swaprank.models.served import Trees

_DEEPEST = 490
"""The readers' JSON library stops at 1,000 levels, and a node takes two."""


def content(export: Export) -> bytes:
    """The trees as a JSON array, or the body of the request that creates the model."""
    if not isinstance(export.model, Trees):
        raise refuse_kind(export, "trees", "ranklib for a linear model, or solr, onnx or c")
    forest = plain_trees(export, export.model.forest, _DEEPEST)
    _warn_of_versions(export)
    missing_left = forest.threshold >= 0 if export.missing == "zero" else forest.missing_left
    names = [json.dumps(name) for name in export.feature_names]
    trees = ",\n".join(_tree(forest, tree, missing_left.tolist(), names) for tree in range(forest.n_trees))
    return ltr_content(export, "model/xgboost+json", f"[{trees}]\n")


def _tree(forest: Forest, tree: int, missing_left: list[bool], names: list[str]) -> str:
    """One tree: its nodes have their numbers in the forest's arrays, and leaves come after the nodes."""
    first_node, first_leaf = int(forest.tree_nodes[tree]), int(forest.tree_leaves[tree])
    n_nodes = int(forest.tree_nodes[tree + 1]) - first_node
    depths = list(node_depths(forest, tree))

    def number(child: int) -> int:
        return child if child >= 0 else n_nodes + ~child

    def leaf(leaf: int) -> str:
        value = float(np.float32(forest.leaf_value[leaf]))
        return f'{{"nodeid": {n_nodes + leaf - first_leaf}, "leaf": {value!r}}}'

    def node(node: int, left: str, right: str) -> str:
        yes, no = number(int(forest.left[node])), number(int(forest.right[node]))
        return (
            f'{{"nodeid": {node - first_node}, "depth": {depths[node - first_node]}, '
            f'"split": {names[forest.feature[node]]}, "split_condition": {strict(float(forest.threshold[node]))!r}, '
            f'"yes": {yes}, "no": {no}, "missing": {yes if missing_left[node] else no}, "children": [{left}, {right}]}}'
        )

    return fold_tree(forest, tree, leaf, node)


def _warn_of_versions(export: Export) -> None:
    """Warn if a version of the target might matter: if the model does not take a missing value for 0."""
    learned, assumed = export.unlike_zero()
    if export.missing == "refuse" and (learned | assumed).any():
        warn_of_export(
            f"the model does not take a missing value of {export.named(learned | assumed)} for 0. "
            "Elasticsearch LTR before 1.5.9 and OpenSearch LTR before 3.8 do not send missing values where the "
            "model does. If 0 stood for them in training, ",
            MISSING_AS_ZERO,
            " writes the model for that, and for all versions but OpenSearch LTR 3.2 to 3.7.",
        )
