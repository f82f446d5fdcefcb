"""LightGBM's JSON as Vespa's importer reads it, or a rank profile that uses it.

Vespa makes an expression of each tree. `if (x < threshold, left, right)`, although LightGBM means <=, so thresholds are
the next number above ours; and `!(x >= threshold)` if missing values (NaN) go left. Vespa's fast evaluation of forests
takes thresholds and leaf values in single precision, and adds in double precision.

A set of categories becomes `x in ["nike", "puma"]`. All else goes right there, also missing values and new categories.
So a node sends those categories left that do not go where missing values go.
"""

import json
import re
from string import Template
from typing import Any

import numpy as np

from swaprank.errors import ExportError, Hint
from swaprank.exchange.exported import Export, refuse_kind
from swaprank.exchange.feature_sets import RENAME
from swaprank.exchange.peer_categories import category_numbers, sets_apart
from swaprank.exchange.plain_trees import base_in_leaves, fold_tree, refuse_deep, strict
from swaprank.models.forest import Forest
from swaprank.models.served import Trees

_DEEPEST = 200
"""Vespa parses nested expressions by recursion."""
_FUNCTION = r"[A-Za-z_][A-Za-z0-9_]*"
_RANK_FEATURE = re.compile(
    rf'{_FUNCTION}(?:\((?:[A-Za-z0-9_.,/@$ -]|"[^"\\\x00-\x1f]*")*\))?(?:\.[A-Za-z0-9_]+)*', re.ASCII
)
_PROFILE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_UNQUOTABLE = re.compile(r'["\\\x00-\x1f]')

_RANK_PROFILE = Template("""\
rank-profile $name inherits default {
$needed    second-phase {
        expression: lightgbm("$name.json")
        rerank-count: 100
    }
    match-features {
$listed    }
}
""")


def content(export: Export) -> bytes:
    """The trees as LightGBM's JSON; for a request, the rank profile that evaluates them."""
    if not isinstance(export.model, Trees):
        raise refuse_kind(export, "trees", "onnx, which Vespa evaluates too")
    forest = base_in_leaves(export.model.forest)
    refuse_deep(export, forest, _DEEPEST)
    names = [export.feature_names[feature] for feature in np.unique(forest.feature)]
    for name in names:
        if not _RANK_FEATURE.fullmatch(name):
            raise ExportError(
                "vespa reads a feature's name as a rank feature, such as bm25(title), or as a function of the rank "
                f"profile, but '{name}' can be neither. Rename it (",
                RENAME,
                "), or name all features with ",
                Hint("features"),
                ".",
            )
    if export.request:
        return _rank_profile(export.name, names).encode()
    return (json.dumps(_model(export, forest)) + "\n").encode()


def _model(export: Export, forest: Forest) -> dict[str, Any]:
    numbers, texts = category_numbers(export)
    for category in (each for found in texts.values() for each in found):
        if _UNQUOTABLE.search(category):
            raise ExportError(f"vespa cannot quote the category {category!r}: use no quotation marks and backslashes.")
    places = {feature: np.arange(len(found)) for feature, found in numbers.items()}
    apart = {node: found.tolist() for node, found in sets_apart(forest, places)}
    categories: dict[int, Any] = {}
    for feature in sorted({int(forest.feature[node]) for node, found in apart.items() if found}):
        largest = max(max(found, default=0) for node, found in apart.items() if forest.feature[node] == feature)
        categories[feature] = list(texts.get(feature, numbers.get(feature, np.arange(largest + 1)).tolist()))
    missing_left = forest.threshold >= 0 if export.missing == "zero" else forest.missing_left

    def leaf(leaf: int) -> dict[str, Any]:
        return {"leaf_value": float(forest.leaf_value[leaf])}

    def node(node: int, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        split: dict[str, Any] = {"split_feature": int(forest.feature[node]), "missing_type": "NaN"}
        if node not in apart:
            threshold, is_left = strict(float(forest.threshold[node])), bool(missing_left[node])
            split |= {"threshold": threshold, "decision_type": "<=", "default_left": is_left}
            return {**split, "left_child": left, "right_child": right}
        chosen, others = (right, left) if forest.missing_left[node] else (left, right)
        if not apart[node]:
            return others
        members = "||".join(map(str, apart[node]))
        split |= {"threshold": members, "decision_type": "==", "default_left": False}
        return {**split, "left_child": chosen, "right_child": others}

    roots = [fold_tree(forest, tree, leaf, node) for tree in range(forest.n_trees)]
    values = {export.feature_names[at]: {"values": list(range(len(found)))} for at, found in categories.items()}
    return {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "objective": "lambdarank",
        "feature_names": list(export.feature_names),
        # The importer takes the categories of the features with values here, in this order.
        "feature_infos": values,
        "pandas_categorical": list(categories.values()),
        "tree_info": [{"tree_index": at, "tree_structure": root} for at, root in enumerate(roots)],
    }


def _rank_profile(name: str, features: list[str]) -> str:
    """A rank profile that evaluates the model for the best documents, and returns the features that it saw."""
    if not _PROFILE.fullmatch(name):
        raise ExportError(f"'{name}' cannot be the name of a rank profile: choose another one with ", Hint("name"), ".")
    functions = [feature for feature in features if re.fullmatch(_FUNCTION, feature, re.ASCII)]
    needed = f"    # Define these functions: {', '.join(functions)}\n" if functions else ""
    listed = "".join(f"        {feature}\n" for feature in features)
    return _RANK_PROFILE.substitute(name=name, needed=needed, listed=listed)
