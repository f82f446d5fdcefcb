"""XGBoost's model JSON.

XGBoost tests x < threshold in single precision. The categories of a set go right, all others and unknown ones go left.
Nodes and leaves are numbered together, and a right child comes after the left one: with our numbers of nodes, in which
parents come first, node n has the children 2n + 1 and 2n + 2.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.data.matching import numbered_names
from swaprank.errors import ExportError
from swaprank.exchange.exported import Export, refuse_kind
from swaprank.exchange.feature_sets import check_names
from swaprank.exchange.peer_categories import CategoryNumbers, category_numbers, sets_apart
from swaprank.exchange.plain_trees import base_in_leaves, single_precision
from swaprank.models.forest import Forest
from swaprank.models.served import Trees

_NO_PARENT = 2**31 - 1
_LARGEST = np.finfo(np.float32).max
_WHOLE_NUMBERS = 15
"""XGBoost's number for the type of categories that are numbers."""


def content(export: Export) -> bytes:
    """The model as JSON."""
    if not isinstance(export.model, Trees):
        raise refuse_kind(export, "trees", "onnx or c")
    forest = single_precision(export, base_in_leaves(export.model.forest))
    categories = category_numbers(export)
    sets = dict(sets_apart(forest, categories.numbers))
    model = {
        "cats": _data_frame_categories(export, categories),
        "gbtree_model_param": _text({"num_parallel_tree": "1", "num_trees": str(forest.n_trees)}),
        "iteration_indptr": _text(list(range(forest.n_trees + 1))),
        "tree_info": _text([0] * forest.n_trees),
        "trees": f"[{','.join(_tree(forest, tree, sets) for tree in range(forest.n_trees))}]",
    }
    has_names = export.feature_names != numbered_names(forest.n_features)
    if has_names:
        check_names("XGBoost", export.feature_names, export.feature_names, "[]<")
    types = ["c" if feature in categories.numbers else "float" for feature in range(forest.n_features)]
    state = {"base_score": "0E0", "boost_from_average": "0", "num_class": "0", "num_target": "1"}
    learner = {
        "attributes": "{}",
        # With names, XGBoost takes only data that has them.
        "feature_names": _text(export.feature_names if has_names else []),
        "feature_types": _text(types if has_names or categories.numbers else []),
        "gradient_booster": _object({"model": _object(model), "name": _text("gbtree")}),
        "learner_model_param": _text({**state, "num_feature": str(forest.n_features)}),
        # An objective without a transformation of the scores.
        "objective": _text({"name": "rank:ndcg", "lambdarank_param": {}}),
    }
    return _object({"learner": _object(learner), "version": _text([2, 1, 0])}).encode()


def _tree(forest: Forest, tree: int, sets: Mapping[int, Ints]) -> str:
    first, last = int(forest.tree_nodes[tree]), int(forest.tree_nodes[tree + 1])
    nodes, leaves = slice(first, last), slice(forest.tree_leaves[tree], forest.tree_leaves[tree + 1])
    missing_left, has_set = forest.missing_left[nodes], forest.n_words[nodes] > 0
    # What is not in a set goes left, and so do missing values: the sets are those of the other side, which is right.
    swapped = has_set & ~missing_left
    left, right = forest.left[nodes], forest.right[nodes]
    node_at, leaf_at = _places(np.where(swapped, right, left), np.where(swapped, left, right))
    own = {int(node_at[node - first]): sets[node] for node in range(first, last) if node in sets and len(sets[node])}
    with np.errstate(over="ignore", under="ignore"):
        # After the largest number is infinity. A set without categories becomes this threshold: all of them go left.
        threshold = np.nextafter(np.where(has_set, _LARGEST, forest.threshold[nodes]), np.float32(np.inf))

    def placed(of_nodes: Any, of_leaves: Any) -> AnyArray:
        whole = np.empty(len(node_at) + len(leaf_at), np.result_type(of_nodes, of_leaves))
        whole[node_at], whole[leaf_at] = of_nodes, of_leaves
        return whole

    number, value = np.arange(last - first), forest.leaf_value[leaves]
    size = {"num_nodes": str(len(node_at) + len(leaf_at)), "num_deleted": "0", "size_leaf_vector": "1"}
    return _object(
        {
            "base_weights": _floats(placed(0.0, value)),
            **_sets(own),
            "default_left": _ints(placed(has_set | missing_left, False)),
            "id": str(tree),
            "left_children": _ints(placed(2 * number + 1, -1)),
            "loss_changes": _floats(placed(np.clip(forest.gain[nodes], -_LARGEST, _LARGEST), 0.0)),
            "parents": _ints(np.append(_NO_PARENT, np.repeat(node_at, 2))),
            "right_children": _ints(placed(2 * number + 2, -1)),
            "split_conditions": _floats(placed(threshold, value)),
            "split_indices": _ints(placed(forest.feature[nodes], 0)),
            "split_type": _ints(np.isin(np.arange(len(node_at) + len(leaf_at)), list(own))),
            "sum_hessian": _floats(placed(forest.node_count[nodes], forest.leaf_count[leaves])),
            "tree_param": _text({**size, "num_feature": str(forest.n_features)}),
        }
    )


def _places(left: AnyArray, right: AnyArray) -> tuple[Ints, Ints]:
    """The number of each node and of each leaf of a tree in XGBoost; the root is 0."""
    n_nodes = len(left)
    node_at, leaf_at = np.zeros(n_nodes, np.int64), np.zeros(n_nodes + 1, np.int64)
    for side, child in enumerate((left, right)):
        place = 2 * np.arange(n_nodes) + 1 + side
        is_node = child >= 0
        node_at[child[is_node]], leaf_at[~child[~is_node]] = place[is_node], place[~is_node]
    return node_at, leaf_at


def _sets(own: Mapping[int, Ints]) -> dict[str, str]:
    """The sets of a tree by the number of their node."""
    nodes = sorted(own)
    sizes = np.array([len(own[node]) for node in nodes], np.int64)
    return {
        "categories": _ints(np.concatenate([np.zeros(0, np.int64), *(own[node] for node in nodes)])),
        "categories_nodes": _ints(np.array(nodes, np.int64)),
        "categories_segments": _ints(np.cumsum(sizes) - sizes),
        "categories_sizes": _ints(sizes),
    }


def _data_frame_categories(export: Export, categories: CategoryNumbers) -> str:
    """The table in which XGBoost finds the numbers of a data frame's categories, from version 3.1 on.

    Categories that are numbers are all numbers up to the largest, so that their places are the numbers themselves.
    """
    columns: list[dict[str, Any]] = [{"offsets": [], "values": []}] * len(export.feature_names)
    sizes, places = np.zeros(len(columns) + 1, np.int64), []
    for feature, numbers in categories.numbers.items():
        names = categories.texts.get(feature)
        if names is None:
            values = list(range(int(numbers.max(initial=0)) + 1))
            columns[feature], order = {"type": _WHOLE_NUMBERS, "values": values}, values
        else:
            if not all(name.isascii() and name.isprintable() for name in names):
                raise ExportError(
                    f"XGBoost cuts names of categories that are not ASCII, such as of '{export.feature_names[feature]}'"
                    ". Train with other names, or use lightgbm, onnx or c."
                )
            offsets = np.cumsum([0, *map(len, names)]).tolist()
            columns[feature] = {"offsets": offsets, "values": list("".join(names).encode())}
            order = sorted(range(len(names)), key=names.__getitem__)
        sizes[feature + 1] = len(order)
        places += order
    if not categories.numbers:
        columns, sizes = [], sizes[:0]
    return _text({"enc": columns, "feature_segments": np.cumsum(sizes).tolist(), "sorted_idx": places})


def _floats(values: Floats) -> str:
    """Shortest texts in scientific notation: XGBoost's reader fails at numbers of more than nine digits."""
    texts: Iterable[str] = map(_float, values.astype(np.float32))
    return f"[{','.join(texts)}]"


def _float(value: np.float32) -> str:
    if np.isinf(value):
        return "Infinity"
    return np.format_float_scientific(value, trim="-", exp_digits=1)


def _ints(values: AnyArray) -> str:
    return _text(values.astype(np.int64).tolist())


def _object(entries: Mapping[str, str]) -> str:
    return f"{{{','.join(f'{_text(key)}:{text}' for key, text in entries.items())}}}"


def _text(value: Any) -> str:
    # XGBoost does not read escapes of characters that are not ASCII.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
