"""LightGBM's model text, version v4.

LightGBM tests x <= threshold in double precision, which is our test exactly. The categories of a set go left, all
others, unknown ones and missing values go right.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.data.matching import numbered_names
from swaprank.errors import ExportError
from swaprank.exchange.exported import Export, refuse_kind, warn_of_export
from swaprank.exchange.feature_sets import RENAME, check_names
from swaprank.exchange.peer_categories import CategoryNumbers, category_numbers, sets_apart
from swaprank.exchange.plain_trees import base_in_leaves
from swaprank.models.category_sets import words_of_numbers
from swaprank.models.forest import Forest
from swaprank.models.served import Trees

_NAN_IS_MISSING, _DEFAULT_LEFT, _CATEGORICAL = 8, 2, 1
"""Bits of a node's decision_type; without the first, NaN is read as 0."""
_REFUSED = '",:[\\]{}'
"""LightGBM refuses the first seven in training, and puts names into JSON without escaping them."""
_LARGEST_COUNT = 2**31 - 1
_ZERO = float(np.float32(1e-35))
"""LightGBM reads values up to this one as 0."""


def content(export: Export) -> bytes:
    """The model as text."""
    if not isinstance(export.model, Trees):
        raise refuse_kind(export, "trees", "onnx or c")
    forest, categories = base_in_leaves(export.model.forest), category_numbers(export)
    _warn_about_tiny_thresholds(export, forest)
    sets = {node: words_of_numbers(numbers) for node, numbers in sets_apart(forest, categories.numbers)}
    trees = _trees(forest, sets)
    names = lightgbm_names(export)
    header = {
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": forest.n_features - 1,
        # An objective without a transformation of the scores.
        "objective": "lambdarank",
        "feature_names": " ".join(names),
        "feature_infos": " ".join(_feature_infos(forest, categories)),
        # The reader jumps from tree to tree by their numbers of bytes.
        "tree_sizes": _joined(len(tree) for tree in trees),
    }
    parameters = f"parameters:\n[categorical_feature: {','.join(map(str, categories.texts))}]\n\nend of parameters\n"
    # With an empty list, a data frame that has columns of pandas categories is refused by LightGBM: their codes are not
    # the numbers of the categories.
    end = f"pandas_categorical:{json.dumps(list(categories.texts.values()))}\n"
    lines = ("tree\n", _lines(header), "\n", *trees, "end of trees\n\nfeature_importances:\n\n", parameters, "\n", end)
    return "".join(lines).encode()


def lightgbm_names(export: Export) -> tuple[str, ...]:
    """The names of the features as LightGBM can hold them: it replaces spaces by underscores, and so do we.

    >>> from swaprank.exchange.exported import Export
    >>> from swaprank.models.served import Trees
    >>> from swaprank.exchange.to_lightgbm import lightgbm_names
    >>> from swaprank.models.forest import single_leaf
    >>> model = Trees(single_leaf(0.5, n_features=2, n_documents=10))
    >>> lightgbm_names(Export("lightgbm", model, ("title match", "age"), {}, "m", "refuse", False, None))
    ('title_match', 'age')
    """
    if export.feature_names == numbered_names(len(export.feature_names)):
        return tuple(f"Column_{at}" for at in range(len(export.feature_names)))
    names = tuple(name.replace(" ", "_") for name in export.feature_names)
    check_names("LightGBM", names, export.feature_names, _REFUSED)
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ExportError(
            f"LightGBM knows no spaces in names, and two features would be called '{twice}'. Rename one (",
            RENAME,
            ").",
        )
    return names


def _trees(forest: Forest, sets: Mapping[int, AnyArray]) -> list[str]:
    has_set = forest.n_words > 0
    # LightGBM's sets go left, and missing values right.
    swapped = has_set & forest.missing_left
    left, right = np.where(swapped, (forest.right, forest.left), (forest.left, forest.right))
    decision = np.where(has_set, _CATEGORICAL, _NAN_IS_MISSING + _DEFAULT_LEFT * forest.missing_left)
    node_count, leaf_count = _counts(forest)
    values = _node_values(forest)
    trees = []
    for tree in range(forest.n_trees):
        first, last = int(forest.tree_nodes[tree]), int(forest.tree_nodes[tree + 1])
        nodes, leaves = slice(first, last), slice(forest.tree_leaves[tree], forest.tree_leaves[tree + 1])
        own = [sets[node] for node in range(first, last) if node in sets]
        threshold = forest.threshold[nodes].astype(np.float64)
        threshold[has_set[nodes]] = np.arange(len(own))
        entries: dict[str, Any] = {
            "num_leaves": last - first + 1,
            "num_cat": len(own),
            "split_feature": _joined(forest.feature[nodes]),
            "split_gain": _joined(_single(forest.gain[nodes])),
            "threshold": _joined(threshold),
            "decision_type": _joined(decision[nodes]),
            "left_child": _joined(left[nodes]),
            "right_child": _joined(right[nodes]),
            "leaf_value": _joined(forest.leaf_value[leaves]),
            "leaf_weight": _joined(leaf_count[leaves]),
            "leaf_count": _joined(leaf_count[leaves]),
            "internal_value": _joined(values[nodes]),
            "internal_weight": _joined(node_count[nodes]),
            "internal_count": _joined(node_count[nodes]),
        }
        if own:
            entries["cat_boundaries"] = _joined(np.cumsum([0, *map(len, own)]))
            entries["cat_threshold"] = _joined(np.concatenate(own))
        entries |= {"is_linear": 0, "shrinkage": 1}
        trees.append(f"Tree={tree}\n{_lines(entries)}\n\n")
    return trees


def _counts(forest: Forest) -> tuple[Ints, Ints]:
    """The documents of nodes and leaves; fewer in proportion if LightGBM's integers could not hold them."""
    counts = (forest.node_count, forest.leaf_count)
    largest = max(int(each.max(initial=1)) for each in counts)
    if largest <= _LARGEST_COUNT:
        return counts
    node_count, leaf_count = (
        np.maximum(np.round(each * (_LARGEST_COUNT / largest)), 1).astype(np.int64) for each in counts
    )
    return node_count, leaf_count


def _node_values(forest: Forest) -> Floats:
    """The mean of the leaf values below each node, which tools show."""
    totals = np.zeros(len(forest.left))
    at_leaf = forest.leaf_value * forest.leaf_count
    for tree in range(forest.n_trees):
        first, first_leaf = int(forest.tree_nodes[tree]), int(forest.tree_leaves[tree])
        # Children come after their parents.
        for node in range(int(forest.tree_nodes[tree + 1]) - 1, first - 1, -1):
            for child in (int(forest.left[node]), int(forest.right[node])):
                totals[node] += totals[first + child] if child >= 0 else at_leaf[first_leaf + ~child]
    return totals / forest.node_count


def _single(gain: Floats) -> AnyArray:
    """Gains in the range of single precision; Treelite refuses numbers below its smallest normal one."""
    limits = np.finfo(np.float32)
    return np.where(np.abs(gain) < limits.tiny, 0.0, np.clip(gain, -limits.max, limits.max))


def _feature_infos(forest: Forest, categories: CategoryNumbers) -> Iterable[str]:
    """The categories, or the range of the thresholds in place of the range of the training data."""
    has_threshold = forest.n_words == 0
    feature, threshold = forest.feature[has_threshold], forest.threshold[has_threshold].astype(np.float64)
    lowest, highest = np.full(forest.n_features, np.inf), np.full(forest.n_features, -np.inf)
    np.minimum.at(lowest, feature, threshold)
    np.maximum.at(highest, feature, threshold)
    for at, (low, high) in enumerate(zip(lowest.tolist(), highest.tolist(), strict=True)):
        if at in categories.numbers:
            yield ":".join(map(str, categories.numbers[at].tolist())) or "none"
        else:
            yield f"[{low!r}:{high!r}]" if low <= high else "none"


def _warn_about_tiny_thresholds(export: Export, forest: Forest) -> None:
    # At 1e-35 itself, all that is read as 0 goes left as it should. x <= 0 and x < 0 are common, tiny numbers are not.
    near = (forest.threshold > -_ZERO) & (forest.threshold < _ZERO)
    tiny = near & (np.abs(forest.threshold) > np.finfo(np.float32).smallest_subnormal) & (forest.n_words == 0)
    if tiny.any():
        name = export.feature_names[int(forest.feature[tiny][0])]
        warn_of_export(
            f"LightGBM reads values from -1e-35 to 1e-35 as 0, but '{name}' has a threshold of "
            f"{forest.threshold[tiny][0]}: multiply such a feature by a power of 10 before training."
        )


def _joined(values: Iterable[Any]) -> str:
    # Plain numbers: their texts are the shortest that are read as the same numbers.
    return " ".join(map(repr, values.tolist() if isinstance(values, np.ndarray) else values))


def _lines(entries: Mapping[str, Any]) -> str:
    return "".join(f"{key}={value}\n" for key, value in entries.items())
