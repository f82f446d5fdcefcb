"""The attributes of ONNX's tree ensembles as trees; files are not trusted.

TreeEnsembleRegressor (ai.onnx.ml 1 and 3) lists nodes and leaves, each with the number of its tree and its own number.
TreeEnsemble (ai.onnx.ml 5) lists the nodes and the leaves of all trees, which are known by their positions.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bools, Floats, Ints
from swaprank.errors import ModelFileError
from swaprank.exchange.tree_building import MOST_WORDS, PeerTree, walk_tree
from swaprank.models.category_sets import MAX_WORDS, WORD_CATEGORIES, set_words, words_of_numbers

_MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER", "LEAF")
"""The first seven have their numbers in ai.onnx.ml 5."""
_LEQ, _LT, _GTE, _GT, _EQ, _NEQ, _MEMBER, _LEAF = range(len(_MODES))
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


class SetColumn(NamedTuple):
    """A column behind the features: 0 where a category goes left, and 1 where it goes right."""

    feature: int
    goes_left: Bools
    """One per category, and a last one for missing and unknown ones."""


class _Nodes(NamedTuple):
    """The nodes of all trees. Children and roots are positions of nodes, or ~position of a leaf."""

    feature: Ints
    mode: Ints
    split: Floats
    if_true: Ints
    if_false: Ints
    missing_true: Bools
    leaf_value: Floats
    roots: Ints


class _Splits(NamedTuple):
    """The nodes of all trees in our terms: x <= threshold goes left, or the categories of a set."""

    feature: Ints
    threshold: AnyArray
    missing_left: Bools
    left: Ints
    right: Ints
    sets: dict[int, AnyArray]


def peer_trees(
    attributes: Mapping[str, Any], n_features: int, columns: Sequence[SetColumn]
) -> tuple[list[PeerTree], float, int]:
    """The trees of an ensemble, its base score, and the number of features that it uses.

    >>> import numpy as np
    >>> from swaprank.exchange.onnx_ensembles import peer_trees
    >>> leaf = dict(leaf_weights=np.array([0.5]), leaf_targetids=np.array([0]), tree_roots=np.array([0]))
    >>> names = "featureids", "truenodeids", "falsenodeids"
    >>> node = {f"nodes_{name}": np.array([0]) for name in names} | {"nodes_modes": np.array([0], np.uint8)}
    >>> node |= dict(nodes_trueleafs=np.array([1]), nodes_falseleafs=np.array([1]), nodes_splits=np.array([0.0]))
    >>> trees, base_score, _ = peer_trees({"n_targets": 1} | leaf | node, n_features=2, columns=[])
    >>> trees[0].leaf_value, base_score
    ([0.5], 0.0)
    """
    is_average = _check_target(attributes)
    nodes = _nodes_by_position(attributes) if "tree_roots" in attributes else _nodes_by_number(attributes)
    if is_average:
        nodes = nodes._replace(leaf_value=nodes.leaf_value / max(1, len(nodes.roots)))
    base = _numbers(attributes, "base_values", 0)
    if len(base) > 1:
        raise ModelFileError(f"it has {len(base)} base values; a ranker has one.")
    splits = _splits(nodes, _sets(attributes, nodes), n_features, columns)
    trees = _trees(splits, nodes.leaf_value, nodes.roots)
    return trees, float(base[0]) if len(base) else 0.0, int(nodes.feature.max(initial=0)) + 1


def of_one_class(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a TreeEnsembleClassifier of two classes, which adds up a score for one of them, as a regressor.

    onnxmltools writes such a classifier for XGBoost's ranking objectives.

    >>> import numpy as np
    >>> from swaprank.exchange.onnx_ensembles import of_one_class
    >>> found = of_one_class({"class_ids": np.array([0, 0]), "classlabels_int64s": np.array([0, 1])})
    >>> found["target_ids"].tolist(), found["n_targets"]
    ([0, 0], 1)
    """
    labels = next(
        (attributes[name] for name in ("classlabels_int64s", "classlabels_strings") if name in attributes), ()
    )
    classes = _whole(attributes, "class_ids")
    if len(labels) != 2 or (classes != 0).any():  # onnxruntime adds no base value to the score of class 1
        raise ModelFileError(
            f"it is a classifier of {len(labels)} classes, with scores for class {classes.max(initial=0)}: a ranker "
            "has one score, that of class 0 of two."
        )
    others = {name.replace("class_", "target_", 1): value for name, value in attributes.items()}
    return others | {"target_ids": np.zeros_like(classes), "n_targets": 1}


def _check_target(attributes: Mapping[str, Any]) -> bool:
    """True if trees are averaged instead of summed."""

    def named(name: str, known: Sequence[str], default: str) -> str:
        found = attributes.get(name, default)
        return known[found] if isinstance(found, int) and 0 <= found < len(known) else str(found)

    if attributes.get("n_targets") != 1:
        raise ModelFileError(f"it has {attributes.get('n_targets', 0)} outputs for a document; a ranker has one score.")
    aggregate = named("aggregate_function", _AGGREGATES, "SUM")
    if aggregate not in ("SUM", "AVERAGE"):
        raise ModelFileError(f"its aggregate_function is {aggregate[:20]}; only SUM and AVERAGE can be read.")
    transform = named("post_transform", _TRANSFORMS, "NONE")
    if transform not in ("NONE", "LOGISTIC"):
        raise ModelFileError(f"its post_transform is {transform[:20]}; only NONE and LOGISTIC can be read.")
    return aggregate == "AVERAGE"


def _whole(attributes: Mapping[str, Any], name: str, length: int | None = None) -> Ints:
    """An attribute of whole numbers."""
    return _checked(attributes, name, "iu", length).astype(np.int64)


def _numbers(attributes: Mapping[str, Any], name: str, length: int | None = None) -> Floats:
    """An attribute of numbers, in single or, with another name, in any precision. Length 0: it may be absent."""
    found = f"{name}_as_tensor" if f"{name}_as_tensor" in attributes else name
    if length == 0:
        return _checked({found: np.zeros(0), **attributes}, found, "f", None).astype(np.float64)
    return _checked(attributes, found, "f", length).astype(np.float64)


def _checked(attributes: Mapping[str, Any], name: str, kinds: str, length: int | None) -> AnyArray:
    found = attributes.get(name)
    if not isinstance(found, np.ndarray) or found.dtype.kind not in kinds or length not in (None, len(found)):
        expected = "" if length is None else f"{length:,} "
        raise ModelFileError(f"its trees have no {name}, or not {expected}numbers of the right type.")
    return found


def _missing_true(attributes: Mapping[str, Any], n_nodes: int) -> Bools:
    name = "nodes_missing_value_tracks_true"
    given = attributes.get(name, np.zeros(0, np.int64))
    return np.zeros(n_nodes, np.bool_) if len(given) == 0 else _whole(attributes, name, n_nodes) == 1


def _nodes_by_number(attributes: Mapping[str, Any]) -> _Nodes:
    """The nodes of TreeEnsembleRegressor: each part is a node or a leaf, and the first one of a tree is its root."""
    tree = _whole(attributes, "nodes_treeids")
    n = len(tree)
    number, yes, no = (_whole(attributes, f"nodes_{name}ids", n) for name in ("node", "truenode", "falsenode"))
    modes = attributes.get("nodes_modes")
    if not isinstance(modes, list) or len(modes) != n:
        raise ModelFileError("its trees have no nodes_modes, or not one per node.")
    known = {f"BRANCH_{name}": at for at, name in enumerate(_MODES)} | {"LEAF": _LEAF}
    unknown = next((mode for mode in modes if mode not in known), None)
    if unknown is not None:
        raise ModelFileError(f"a node has the mode {unknown[:20]!r}, which is not known.")
    mode = np.array([known[each] for each in modes], np.int64)
    at = {part: position for position, part in enumerate(zip(tree.tolist(), number.tolist(), strict=True))}
    if len(at) < n:
        raise ModelFileError("two nodes of a tree have the same number.")

    def positions(trees: Ints, numbers: Ints) -> Ints:
        return np.array([at.get(part, n) for part in zip(trees.tolist(), numbers.tolist(), strict=True)], np.int64)

    is_node = mode != _LEAF
    children = [np.where(is_node, positions(tree, each), 0) for each in (yes, no)]
    if any((each == n).any() for each in children):
        raise ModelFileError("a node has a child that does not exist.")
    coded = np.where(is_node, np.arange(n), ~np.arange(n))
    roots = coded[np.flatnonzero(np.diff(tree, prepend=tree[:1] - 1))]
    if len(roots) != len(set(tree.tolist())):
        raise ModelFileError("the nodes of a tree do not stand together.")
    feature = np.where(is_node, _whole(attributes, "nodes_featureids", n), 0)
    split = np.where(is_node, _numbers(attributes, "nodes_values", n), 0.0)
    if_true, if_false = (coded[each] for each in children)
    values = _leaf_values(attributes, positions, is_node)
    return _Nodes(feature, mode, split, if_true, if_false, _missing_true(attributes, n), values, roots)


def _leaf_values(attributes: Mapping[str, Any], positions: Any, is_node: Bools) -> Floats:
    """The value of each leaf; 0 for those without one, and for nodes."""
    tree = _whole(attributes, "target_treeids")
    number, target = (_whole(attributes, f"target_{name}", len(tree)) for name in ("nodeids", "ids"))
    weights = _numbers(attributes, "target_weights", len(tree))
    at = positions(tree, number)
    if (target != 0).any() or (at == len(is_node)).any() or len(np.unique(at)) < len(at):
        raise ModelFileError("a leaf has two values, or a value belongs to no leaf or to a second score.")
    values = np.zeros(len(is_node))
    values[at] = weights
    return np.where(is_node, 0.0, values)


def _nodes_by_position(attributes: Mapping[str, Any]) -> _Nodes:
    """The nodes of TreeEnsemble; a node with the same leaf on both sides is a tree of one leaf if it is a root."""
    feature = _whole(attributes, "nodes_featureids")
    n = len(feature)
    mode = _whole(attributes, "nodes_modes", n)
    if (mode < 0).any() or (mode >= _LEAF).any():
        raise ModelFileError("a node has a mode that is not known.")
    values = _numbers(attributes, "leaf_weights")
    if (_whole(attributes, "leaf_targetids", len(values)) != 0).any():
        raise ModelFileError("a leaf belongs to a second score.")
    children = []
    for side in ("true", "false"):
        child, is_leaf = (_whole(attributes, f"nodes_{side}{what}", n) for what in ("nodeids", "leafs"))
        if (child < 0).any() or (child >= np.where(is_leaf != 0, len(values), n)).any():
            raise ModelFileError("a node has a child that does not exist.")
        children.append(np.where(is_leaf != 0, ~child, child))
    yes, no = children
    roots = _whole(attributes, "tree_roots")
    if (roots < 0).any() or (roots >= n).any():
        raise ModelFileError("a tree has a root that does not exist.")
    roots = np.where((yes == no)[roots] & (yes[roots] < 0), yes[roots], roots)
    split = _numbers(attributes, "nodes_splits", n)
    return _Nodes(feature, mode, split, yes, no, _missing_true(attributes, n), values, roots)


def _sets(attributes: Mapping[str, Any], nodes: _Nodes) -> dict[int, AnyArray]:
    """The words of the sets of BRANCH_MEMBER by node; the file has them one after the other, with NaN between."""
    members = np.flatnonzero(nodes.mode == _MEMBER)
    if len(members) == 0:
        return {}
    values = _numbers(attributes, "membership_values")
    known = values[~np.isnan(values)]
    largest = WORD_CATEGORIES * MAX_WORDS
    if not ((known >= 0) & (known < largest)).all() or (known != np.floor(known)).any():
        raise ModelFileError(f"a set has a category that is not a whole number from 0 to {largest:,}.")
    if nodes.missing_true[members].any():
        raise ModelFileError("a set sends missing values, but not unknown categories, to its members.")
    stops = np.flatnonzero(np.isnan(np.append(values, np.nan)))
    if len(stops) < len(members):
        raise ModelFileError(f"it has {len(stops)} sets of categories for {len(members)} nodes.")
    sets, n_words, start = {}, 0, 0
    for node, stop in zip(members.tolist(), stops.tolist(), strict=False):
        sets[node] = words_of_numbers(values[start:stop].astype(np.int64))
        start = stop + 1
        _check_size(n_words := n_words + len(sets[node]))
    return sets


def _check_size(n_words: int) -> None:
    if n_words > MOST_WORDS:
        raise ModelFileError("its sets of categories are too many to be a model.")


def _splits(nodes: _Nodes, sets: dict[int, AnyArray], n_features: int, columns: Sequence[SetColumn]) -> _Splits:
    """All nodes in our terms."""
    if (refused := np.isin(nodes.mode, (_EQ, _NEQ))).any():
        mode = _MODES[nodes.mode[refused][0]]
        raise ModelFileError(f"a node has the mode BRANCH_{mode}; only LEQ, LT, GTE, GT and MEMBER can be read.")
    # x > t and x >= t are x <= t and x < t with the sides swapped.
    is_swapped = np.isin(nodes.mode, (_GT, _GTE))
    threshold = np.where(np.isin(nodes.mode, (_LEQ, _GT)), nodes.split, np.nextafter(nodes.split, -np.inf))
    missing_left = nodes.missing_true != is_swapped
    feature, n_words = nodes.feature.copy(), 0
    for node in np.flatnonzero(feature >= n_features).tolist() if columns else ():
        at = int(feature[node]) - n_features
        if at >= len(columns) or nodes.mode[node] != _LEQ or not 0 <= nodes.split[node] < 1:
            raise ModelFileError("a node does not split a set of categories, as it should, or the set does not exist.")
        feature[node], goes_left = columns[at]
        known, missing_left[node] = goes_left[:-1], goes_left[-1]
        sets[node] = set_words(known if len(known) else goes_left, others=bool(missing_left[node]))
        _check_size(n_words := n_words + len(sets[node]))
    left = np.where(is_swapped, nodes.if_false, nodes.if_true)
    right = np.where(is_swapped, nodes.if_true, nodes.if_false)
    return _Splits(feature, threshold, missing_left, left, right, sets)


def _trees(splits: _Splits, leaf_value: Floats, roots: Ints) -> list[PeerTree]:
    """Each tree with its own nodes; a leaf that has two parents becomes two."""
    used = set()

    def children(node: int) -> tuple[int, int]:
        if node in used:
            raise ModelFileError(f"node {node} has two parents, or is in two trees.")
        used.add(node)
        return int(splits.left[node]), int(splits.right[node])

    trees = []
    for root in roots.tolist():
        # Nodes are known by position, and leaves as ~position.
        nodes, leaves, left, right = walk_tree(root, lambda part: part < 0, children)
        feature, threshold, missing_left = (each[nodes].tolist() for each in splits[:3])
        sets = {own: splits.sets[node] for own, node in enumerate(nodes) if node in splits.sets}
        values = leaf_value[~np.array(leaves)].tolist()
        trees.append(PeerTree(feature, threshold, missing_left, left, right, values, sets=sets))
    return trees
