"""Read CatBoost's model JSON; its binary files (cbm) and live models become JSON through the package.

A document goes right if x > border, in single precision. A symmetric tree has one split per level, and the leaf of a
document is the sum of 2^level over the splits that sent it right.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swaprank.errors import ModelFileError, ParameterError, import_extra
from swaprank.exchange.tree_building import MOST_FEATURES, PeerModel, PeerTree, build_forest, tree_by_tree, walk_tree

_ADVICE = "train on numbers alone: encode such columns before training, in the same way as in serving."
_PACKAGE = "binary files of CatBoost need its package: pip install catboost; or save the model with format='json'."
_OTHERS = f"it has categorical, text or embedding features, which only CatBoost computes: {_ADVICE}"
_OTHER_FEATURES = ("categorical_features", "ctrs", "text_features", "embedding_features")


class _Column(NamedTuple):
    """A feature of numbers, which splits know by its place among those."""

    column: int
    missing_left: bool


def content_of(model: Any) -> Any:
    """The parsed JSON of a fitted model."""
    if not hasattr(model, "save_model") or not model.is_fitted():
        raise ParameterError(f"a model of CatBoost must be fitted before it is read; found {type(model).__name__}.")
    if model.get_cat_feature_indices() or model.get_text_feature_indices() or model.get_embedding_feature_indices():
        raise ModelFileError(_OTHERS)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        model.save_model(str(file), format="json")
        return json.loads(file.read_bytes())


def read(content: bytes | Mapping[str, Any]) -> PeerModel:
    """The model in a binary file, or in JSON that was parsed."""
    found = _json_of_binary(content) if isinstance(content, bytes) else content
    features, names, n_features = _features(found["features_info"])
    scale, bias = found.get("scale_and_bias", [1.0, [0.0]])
    if len(bias) > 1:
        raise ModelFileError(f"it has {len(bias)} scores for a document, as of several classes; a ranker has one.")
    symmetric, others = (found.get(key) or [] for key in ("oblivious_trees", "trees"))

    def read_tree(number: int, tree: Mapping[str, Any]) -> PeerTree:
        made = _symmetric_tree(tree, features) if number < len(symmetric) else _nested_tree(tree, features)
        made.leaf_value = [value * float(scale) for value in made.leaf_value]
        return made

    trees = tree_by_tree(read_tree, [*symmetric, *others])
    forest = build_forest(trees, n_features, float(bias[0]) if bias else 0.0)
    return PeerModel("CatBoost", forest, names, {}, _objective(found.get("model_info")))


_CHILD = """
import sys
import catboost

model = catboost.CatBoost()
try:
    {}
except catboost.CatBoostError as error:
    sys.exit(str(error))
"""
_TO_JSON = """
model.load_model(sys.argv[1])
if model.get_cat_feature_indices() or model.get_text_feature_indices() or model.get_embedding_feature_indices():
    sys.exit(3)
model.save_model(sys.argv[2], format="json")
"""
_ENDS, _HAS_CATEGORIES = 1, 3


def _json_of_binary(content: bytes) -> Any:
    import_extra("catboost", _PACKAGE)
    with tempfile.TemporaryDirectory() as folder:
        binary, made = Path(folder) / "model.cbm", Path(folder) / "model.json"
        binary.write_bytes(content)
        run_catboost(_TO_JSON, folder, str(binary), str(made))
        return json.loads(made.read_bytes())


def run_catboost(code: str, folder: str, *arguments: str) -> None:
    """Run code with an empty `model` in a process of its own: some damaged files are the end of the process."""
    child = subprocess.run(  # noqa: S603  (this Python, with code of ours)
        [sys.executable, "-c", _CHILD.format(code.strip().replace("\n", "\n    ")), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))},
    )
    if child.returncode == _HAS_CATEGORIES:
        raise ModelFileError(_OTHERS)
    if child.returncode == _ENDS:
        said = child.stderr.decode(errors="replace").strip()
        raise ModelFileError(f"CatBoost cannot read it: {said[-200:]}")
    if child.returncode != 0:
        raise ModelFileError(f"it is damaged: CatBoost crashed while it read it (exit code {child.returncode}).")


def _features(info: Mapping[str, Any]) -> tuple[dict[int, _Column], tuple[str, ...] | None, int]:
    """The features that splits use, the names of all columns if they have names, and the number of columns."""
    for kind in _OTHER_FEATURES:
        if info.get(kind):
            raise ModelFileError(f"it has {kind}, which only CatBoost computes: {_ADVICE}")
    features, named = {}, {}
    for each in info.get("float_features") or []:
        column, treatment = each["flat_feature_index"], each.get("nan_value_treatment", "AsIs")
        if type(column) is not int or not 0 <= column < MOST_FEATURES or column in named:
            raise ModelFileError(f"a feature has the column {column!r}, which is not a number or there twice.")
        if treatment not in ("AsIs", "AsFalse", "AsTrue"):
            raise ModelFileError(f"feature {column} treats missing values {treatment!r}, which is not known.")
        # No border is below NaN, unless it is read as a number above all borders.
        features[each["feature_index"]] = _Column(column, treatment != "AsTrue")
        named[column] = str(each.get("feature_id", ""))
    n_features = max(named, default=-1) + 1
    names = tuple(named.get(column) or str(column) for column in range(n_features))
    has_names = names != tuple(map(str, range(n_features))) and len(set(names)) == n_features
    return features, names if has_names else None, n_features


def _split(split: Mapping[str, Any], features: Mapping[int, _Column]) -> tuple[_Column, float]:
    if split.get("split_type", "FloatFeature") != "FloatFeature":
        raise ModelFileError(f"it has a split of type {split['split_type']!r}, which only CatBoost computes: {_ADVICE}")
    place = split["float_feature_index"]
    if place not in features:
        raise ModelFileError(f"it splits on feature {place!r}, which is not in the file.")
    return features[place], float(split["border"])


def _tree(splits: Sequence[tuple[_Column, float]], **arrays: Any) -> PeerTree:
    columns = [column for column, _ in splits]
    with np.errstate(over="ignore"):
        borders = np.array([border for _, border in splits], np.float64).astype(np.float32)
    missing_left = [each.missing_left for each in columns]
    return PeerTree([each.column for each in columns], borders, missing_left, **arrays)


def _symmetric_tree(tree: Mapping[str, Any], features: Mapping[int, _Column]) -> PeerTree:
    """The last split is the root: then the leaves from left to right are those of the file.

    Nodes are numbered level by level: those below node i are 2i + 1 and 2i + 2, and leaves come after all nodes.
    """
    levels = [_split(split, features) for split in reversed(tree.get("splits") or [])]
    values, weights = tree["leaf_values"], tree.get("leaf_weights") or None
    n_leaves = 2 ** len(levels)
    if len(values) != n_leaves:
        raise ModelFileError(
            f"it has {len(values):,} leaf values for {len(levels)} splits, as a model of several classes would have; a "
            "ranker has one value per leaf."
        )
    below = np.arange(1, 2 * n_leaves - 1)
    children = np.where(below < n_leaves - 1, below, ~(below - (n_leaves - 1))).tolist()
    splits = [split for level, split in enumerate(levels) for _ in range(2**level)]
    return _tree(splits, left=children[::2], right=children[1::2], leaf_value=values, leaf_weight=weights)


def _nested_tree(root: Mapping[str, Any], features: Mapping[int, _Column]) -> PeerTree:
    """A tree that was grown depthwise or by loss: nodes have `left` and `right`, and leaves a value and a weight."""
    nodes, leaves, left, right = walk_tree(
        root, lambda part: "value" in part, lambda node: (node["left"], node["right"])
    )
    values = [leaf["value"] for leaf in leaves]
    if any(isinstance(value, list) for value in values):
        raise ModelFileError("it has several values per leaf, as of several classes; a ranker has one.")
    weights = [leaf["weight"] for leaf in leaves] if all("weight" in leaf for leaf in leaves) else None
    splits = [_split(node["split"], features) for node in nodes]
    return _tree(splits, left=left, right=right, leaf_value=values, leaf_weight=weights)


def _objective(info: Any) -> str | None:
    params = info.get("params") if isinstance(info, dict) else None
    loss = params.get("loss_function") if isinstance(params, dict) else None
    return str(loss["type"]) if isinstance(loss, dict) and "type" in loss else None
