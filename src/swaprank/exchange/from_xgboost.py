"""Read XGBoost's models, JSON or UBJ.

Its test is x < threshold in single precision. The categories of a set go right, all others and unknown ones go left.
Nodes and leaves are numbered together; a node without a left child is a leaf.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bools, Features, Ints
from swaprank.data.categories import OTHERS, Categories
from swaprank.errors import ModelFileError, ParameterError
from swaprank.exchange.peer_categories import named_categories, numbered_categories
from swaprank.exchange.tree_building import (
    MOST_WORDS,
    PeerModel,
    PeerTree,
    below,
    build_forest,
    linear_model,
    tree_by_tree,
    walk_tree,
)
from swaprank.exchange.ubjson import loads
from swaprank.models.category_sets import MAX_WORDS, WORD_CATEGORIES, set_words


class _Nodes(NamedTuple):
    """The arrays of a tree in the file."""

    left: Ints
    """-1 at a leaf."""
    right: Ints
    feature: Ints
    condition: Features
    """The threshold of a node, the value of a leaf."""
    missing_left: Bools
    gain: Features
    hessian: Features
    sets: dict[int, Ints]
    """The categories that go right, by node."""


_NOTE = (
    "An XGBRanker or another estimator has written the file, which does not say what its `missing` was. NaN is missing "
    "here: if it was another number, write NaN in place of it in the features."
)
_FEWEST_NUMBERS = 1024
"""So many numbers are known, although the largest ones may be in no set, for formats that know no other categories."""
_LOGIT = ("binary:logistic", "reg:logistic")
_LOG = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")
"""Objectives whose base_score is a probability, or a count: it is transformed before it is added."""


def content_of(model: Any) -> bytes:
    """A Booster with all its trees, or an XGBRanker with those that its predict uses, as UBJ."""
    booster = model
    if hasattr(model, "get_booster"):
        try:
            booster = model.get_booster()
        except ValueError:
            raise ParameterError(f"the {type(model).__name__} is not fitted.") from None
        if not np.isnan(missing := model.missing):
            raise ParameterError(
                f"its predict reads {missing} as a missing value, but here only NaN is one. Write NaN in place of "
                f"{missing} in the features, and set its missing to NaN before the model is read."
            )
        best = getattr(model, "best_iteration", None)
        # A booster without trees cannot be cut, and is refused when it is read.
        with suppress(ValueError):
            booster = booster if best is None else booster[: best + 1]
    if not hasattr(booster, "save_raw"):
        raise ParameterError(f"a model of XGBoost is a Booster or an XGBRanker; found {type(model).__name__}.")
    return bytes(booster.save_raw("ubj"))


def read(content: bytes | Mapping[str, Any]) -> PeerModel:
    """The model in UBJ, or in JSON that was parsed."""
    whole = loads(content) if isinstance(content, bytes) else content
    learner = whole["learner"]
    state, objective = learner["learner_model_param"], str(learner["objective"]["name"])
    for key in ("num_class", "num_target"):
        if int(state.get(key, 1)) > 1:
            raise ModelFileError(
                f"it has several scores per document ({key}={state[key]}): a ranker has one. Train with a ranking, "
                "regression or binary objective."
            )
    n_features, base = int(state["num_feature"]), _base_margin(state["base_score"], objective)
    names, types = (_texts(learner, key, n_features) for key in ("feature_names", "feature_types"))
    notes = (_NOTE,) if "scikit_learn" in (learner.get("attributes") or {}) else ()
    if learner["gradient_booster"]["name"] == "gblinear":
        given = np.asarray(learner["gradient_booster"]["model"]["weights"], np.float32)
        if given.shape != (n_features + 1,):
            raise ModelFileError(f"it has {n_features:,} features, but {given.size:,} weights, and not one more.")
        linear = linear_model(dict(enumerate(given[:-1].tolist())), n_features, float(given[-1]) + base)
        return PeerModel("XGBoost", linear, tuple(names) or None, {}, objective, notes=notes)
    model, weights = _model_and_weights(learner["gradient_booster"])
    used = model["trees"][: _n_used(learner.get("attributes") or {}, model)]
    nodes = list(tree_by_tree(lambda _, tree: _nodes(tree), used))
    declared = [at for at, kind in enumerate(types) if kind == "c"]
    sets = ((int(tree.feature[node]), right) for tree in nodes for node, right in tree.sets.items())
    categories = _known_categories(model.get("cats"), n_features, whole.get("version", ()), declared, sets)
    trees = tree_by_tree(lambda number, tree: _tree(tree, weights[number], categories), nodes)
    forest = build_forest(trees, n_features, base)
    return PeerModel("XGBoost", forest, tuple(names) or None, categories, objective, notes=notes)


def _model_and_weights(booster: Mapping[str, Any]) -> tuple[Mapping[str, Any], Features]:
    """The trees, and what the leaf values of each are multiplied by: dart has weights."""
    kind = booster["name"]
    if kind not in ("gbtree", "dart"):
        raise ModelFileError(f"its booster is {kind}; known are gbtree, dart and gblinear.")
    model = (booster["gbtree"] if kind == "dart" else booster)["model"]
    n_trees = len(model["trees"])
    # From XGBoost 3.4 on, they are in the model, and trees after the last weight have none.
    given = np.asarray(booster["weight_drop"] if kind == "dart" else model.get("weight_drop", []), np.float32)
    if given.ndim != 1 or len(given) > n_trees or (kind == "dart" and len(given) < n_trees):
        raise ModelFileError(f"it has {n_trees:,} trees, but {given.size:,} weights of them.")
    if _whole_numbers(model["tree_info"], n_trees, "tree_info").any():
        raise ModelFileError("it has trees of several classes: a ranker has one score.")
    return model, np.append(given, np.ones(n_trees - len(given), np.float32))


def _n_used(attributes: Mapping[str, str], model: Mapping[str, Any]) -> int | None:
    """The number of trees that predict uses; None for all. An XGBRanker that stopped early has further trees."""
    if not {"scikit_learn", "best_iteration"} <= attributes.keys():
        return None
    n_rounds = int(attributes["best_iteration"]) + 1
    if n_rounds < 1:
        raise ModelFileError(f"its best_iteration is {n_rounds - 1}, which is not a round from 0.")
    return n_rounds * int(model["gbtree_model_param"].get("num_parallel_tree", 1))


def _nodes(tree: Mapping[str, Any]) -> _Nodes:
    n_nodes = len(tree["left_children"])
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise ModelFileError("its leaves have several values: a ranker has one score per document.")

    def whole(key: str) -> Ints:
        return _whole_numbers(tree[key], n_nodes, key)

    def single(key: str) -> Features:
        found = np.asarray(tree[key], np.float32)
        if found.shape != (n_nodes,):
            raise ModelFileError(f"{key} has not one value for each node.")
        return found

    with np.errstate(over="ignore"):
        gain, hessian, condition = (single(key) for key in ("loss_changes", "sum_hessian", "split_conditions"))
    left, right, feature = (whole(key) for key in ("left_children", "right_children", "split_indices"))
    missing_left = whole("default_left") != 0
    return _Nodes(left, right, feature, condition, missing_left, gain, hessian, _node_sets(tree, n_nodes))


def _tree(nodes: _Nodes, weight: np.float32, categories: Mapping[int, Categories]) -> PeerTree:
    inner, leaves, left, right = _reached(nodes)
    missing_left = nodes.missing_left[inner].tolist()
    n_categories = [len(categories.get(feature, ())) for feature in nodes.feature[inner].tolist()]
    rights = {at: nodes.sets[node] for at, node in enumerate(inner) if node in nodes.sets}
    longest = (max(int(right.max(initial=0)), n_categories[at]) for at, right in rights.items())
    if sum(longest) > MOST_WORDS * WORD_CATEGORIES:
        raise ModelFileError("its sets of categories are too many to be a model.")
    return PeerTree(
        feature=nodes.feature[inner].tolist(),
        threshold=below(nodes.condition[inner]),
        missing_left=missing_left,
        left=left,
        right=right,
        leaf_value=(nodes.condition[leaves].astype(np.float64) * weight).tolist(),
        leaf_weight=nodes.hessian[leaves],
        gain=np.nan_to_num(nodes.gain[inner], posinf=0, neginf=0),
        sets={at: _left_words(right, missing_left[at], n_categories[at]) for at, right in rights.items()},
    )


def _reached(nodes: _Nodes) -> tuple[list[int], list[int], list[int], list[int]]:
    """The nodes and leaves that can be reached from the root, and the children; others were deleted in training."""
    left, right = nodes.left.tolist(), nodes.right.tolist()
    seen = set()

    def is_leaf(at: int) -> bool:
        if not 0 <= at < len(left) or at in seen:
            raise ModelFileError(f"there is no node {at}, or it has two parents.")
        seen.add(at)
        return bool(left[at] == -1)

    return walk_tree(0, is_leaf, lambda at: (left[at], right[at]))


def _base_margin(given: Any, objective: str) -> float:
    """The constant of every score: base_score as a number, "5E-1" or "[5E-1]", in the scale of the scores."""
    base = float(np.float32(str(given).strip("[] ")))
    if objective in _LOGIT:
        base = min(max(base, 1e-6), 1 - 1e-6)
        return math.log(base / (1 - base))
    return math.log(base) if objective in _LOG else base


def _texts(learner: Mapping[str, Any], key: str, n_features: int) -> Sequence[str]:
    found = learner.get(key) or []
    if len(found) not in (0, n_features) or not all(isinstance(each, str) for each in found):
        raise ModelFileError(f"it has {n_features:,} features, but {len(found):,} {key}, or they are not text.")
    return found


def _whole_numbers(values: Any, n_values: int | None, what: str) -> Ints:
    """A list or array as whole numbers; ModelFileError if it is something else."""
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "biuf" or n_values not in (None, len(found)):
        raise ModelFileError(f"{what} is not a list of numbers, or not one for each node.")
    if not (np.abs(found) < 2**53).all() or (found != np.round(found)).any():
        raise ModelFileError(f"{what} has a number that is not whole.")
    return found.astype(np.int64)


def _node_sets(tree: Mapping[str, Any], n_nodes: int) -> dict[int, Ints]:
    """The categories that go right, by node."""
    if "split_type" not in tree:
        return {}
    is_set = _whole_numbers(tree["split_type"], n_nodes, "split_type") == 1
    nodes = _whole_numbers(tree["categories_nodes"], None, "categories_nodes")
    starts, sizes = (_whole_numbers(tree[f"categories_{each}"], len(nodes), each) for each in ("segments", "sizes"))
    numbers = _whole_numbers(tree["categories"], None, "categories")
    # Sets that share their categories could be many more than the file has.
    if (sizes < 0).any() or sizes.sum() > len(numbers) or (starts < 0).any() or (starts + sizes > len(numbers)).any():
        raise ModelFileError("the sets of categories are not within its categories.")
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < MAX_WORDS * WORD_CATEGORIES):
        raise ModelFileError("the numbers of categories must be from 0 to 16,777,215.")
    given = zip(nodes.tolist(), starts.tolist(), sizes.tolist(), strict=True)
    found = {node: numbers[start : start + size] for node, start, size in given}
    return {node: found.get(node, numbers[:0]) for node in np.flatnonzero(is_set).tolist()}


def _left_words(right: Ints, missing_left: bool, n_categories: int) -> AnyArray:
    """The words of the categories that go left, which are those that do not go right.

    Unknown categories go left. Where missing values go there as well, the words need not be longer than the set.
    """
    members = np.ones(max(int(right.max(initial=0)) + 1, 0 if missing_left else n_categories), np.bool_)
    members[right] = False
    return set_words(members, others=True)


def _known_categories(
    saved: Any, n_features: int, version: Any, declared: Iterable[int], sets: Iterable[tuple[int, Ints]]
) -> dict[int, Categories]:
    """The categories of each categorical feature: their names, or the numbers as far as the sets go.

    Args:
        saved: The "cats" of the model, if it has them.
        n_features: The number of features.
        version: The version of XGBoost that wrote the model.
        declared: Features whose type is categorical.
        sets: The feature and the categories of each node that has a set.
    """
    largest = dict.fromkeys(declared, 0)
    for feature, numbers in sets:
        largest[feature] = max(largest.get(feature, 0), int(numbers.max(initial=0)))
    found = {
        feature: (*numbered_categories(max(last + 1, _FEWEST_NUMBERS)), OTHERS) for feature, last in largest.items()
    }
    columns = (saved or {}).get("enc") or []
    if len(columns) not in (0, n_features):
        raise ModelFileError(f"it has the categories of {len(columns):,} features, not of {n_features:,}.")
    named = {feature: _names(column, version) for feature, column in enumerate(columns)}
    return found | {feature: names for feature, names in named.items() if names}


def _names(column: Mapping[str, Any], version: Any) -> Categories:
    values = _whole_numbers(column["values"], None, "the categories of a feature")
    if "offsets" not in column:
        return named_categories(values.tolist())
    offsets = _whole_numbers(column["offsets"], None, "offsets")
    text = values.astype(np.uint8).tobytes()
    if len(offsets) and (offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any()):
        raise ModelFileError("the names of categories are not within their text.")
    if not text.isascii() and list(version) < [3, 4]:
        raise ModelFileError(
            "XGBoost before 3.4 cuts names of categories that are not ASCII, and this model has such names. Train with "
            "XGBoost 3.4, or with other names."
        )
    return named_categories([text[start:stop].decode() for start, stop in zip(offsets, offsets[1:], strict=False)])
