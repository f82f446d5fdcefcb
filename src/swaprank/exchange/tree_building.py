"""A forest from the trees of a file that somebody else wrote: everything is checked, whatever the file says.

A reader gives each tree as a `PeerTree`, with the nodes in the file's order. Here they are numbered anew, parents
first, and the documents of a node are the sum of those of its leaves.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, final

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.data.categories import Categories
from swaprank.errors import ModelFileError
from swaprank.models.forest import ARRAYS, Forest, check_forest
from swaprank.models.linear import LinearModel

Made = TypeVar("Made")
Part = TypeVar("Part")

MOST_FEATURES = 1_000_000
"""A small file could ask for any number of features, each of which gets a name."""
MOST_WORDS = 2**24
"""The same for the words of all sets of categories: 64 MB."""
_MOST_TREES = 10_000_000


@final
@dataclass
class PeerTree:
    """One tree: the root is node 0, or leaf 0 if there are no nodes. Children are nodes from 0, or ~leaf."""

    feature: Sequence[int] = ()
    threshold: Sequence[float] | AnyArray = ()
    """A document goes left if x <= threshold, see `at_most` and `below`. Ignored for a node with a set."""
    missing_left: Sequence[bool] = ()
    left: Sequence[int] = ()
    right: Sequence[int] = ()
    leaf_value: Sequence[float] = (0.0,)
    leaf_weight: Sequence[float] | AnyArray | None = None
    """The training documents of each leaf, or a sum of hessians; None if the file does not say."""
    gain: Sequence[float] | AnyArray | None = None
    sets: dict[int, AnyArray] = field(default_factory=dict)
    """Words of the categories that go left (models/forest.py), by node; categories beyond go where missing ones go."""


class DoubleThresholds(NamedTuple):
    """The thresholds of a forest before they were rounded (double_thresholds.py)."""

    exact: Floats
    """One per node."""
    ranges: Sequence[tuple[float, float]] | None = None
    """The smallest and the largest value of each feature in training, infinite if unknown."""


class PeerModel(NamedTuple):
    """A model of another library in our terms."""

    library: str
    """As it is written: "LightGBM"."""
    model: Forest | LinearModel
    feature_names: tuple[str, ...] | None
    """None if the features have no names."""
    categories: Mapping[int, Categories]
    """The categories of each categorical feature, by its position; their positions are the codes in the model."""
    objective: str | None
    """The loss that it was trained for, in the words of the library; None if the file does not say."""
    doubles: DoubleThresholds | None = None
    """Thresholds in double precision; None if the library compares in single precision, as we do."""
    notes: tuple[str, ...] = ()
    """What to know about the model that nobody can see in it, as sentences."""


def linear_model(weights: Mapping[int, float], n_features: int, bias: float) -> LinearModel:
    """A weighted sum of the features, in which missing values are 0, checked as a model of a file.

    >>> from swaprank.exchange.tree_building import linear_model
    >>> linear_model({1: 2.0}, n_features=2, bias=0.5).feature_weights().tolist()
    [0.0, 2.0]
    """
    if not 1 <= n_features <= MOST_FEATURES:
        raise ModelFileError(f"it has {n_features:,} features; a model has from 1 to {MOST_FEATURES:,}.")
    found = np.zeros(n_features)
    found[list(weights)] = list(weights.values())
    arrays: dict[str, AnyArray] = {"weights": found, "missing": np.zeros(n_features, np.float32)}
    return LinearModel.from_parts({"bias": float(bias)}, arrays)


def at_most(threshold: Any) -> AnyArray:
    """The float32 thresholds for x <= threshold with a threshold in double precision: the largest ones not above it.

    A float32 number is at most t if it is at most the next float32 number below t. The test is then exactly the same.
    All numbers are at most infinity, and at most the largest number.

    >>> from swaprank.exchange.tree_building import at_most
    >>> at_most([0.5, 0.1]).tolist()
    [0.5, 0.09999999403953552]
    """
    exact = np.asarray(threshold, np.float64)
    with np.errstate(over="ignore"):
        rounded = exact.astype(np.float32)
    return np.where((rounded > exact) | (rounded == np.inf), _next_below(rounded), rounded)


def below(threshold: Any) -> AnyArray:
    """The float32 thresholds for x < threshold: the largest numbers below it.

    >>> from swaprank.exchange.tree_building import below
    >>> below([0.5]).tolist()
    [0.4999999701976776]
    """
    exact = np.asarray(threshold, np.float64)
    rounded = at_most(exact)
    return np.where(rounded >= exact, _next_below(rounded), rounded)


def _next_below(numbers: AnyArray) -> AnyArray:
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(numbers, np.float32(-np.inf))


def tree_by_tree(read: Callable[[int, Any], Made], trees: Iterable[Any]) -> Iterator[Made]:
    """The results of `read` for the number of each tree and the tree; an error says which tree it is about."""
    for number, tree in enumerate(trees):
        try:
            made = read(number, tree)
        except ModelFileError as error:
            raise ModelFileError(f"tree {number}: ", error) from None
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            damage = (
                f"there is no {error}" if isinstance(error, KeyError) else f"damaged ({type(error).__name__}: {error})"
            )
            raise ModelFileError(f"tree {number}: {damage}.") from None
        yield made


def walk_tree(
    root: Part, is_leaf: Callable[[Part], bool], children: Callable[[Part], tuple[Part, Part]]
) -> tuple[list[Part], list[Part], list[int], list[int]]:
    """The nodes and the leaves of a tree, parents first, and the left and right children as `PeerTree` has them.

    Both functions are called once for each part of the tree.

    >>> from swaprank.exchange.tree_building import walk_tree
    >>> walk_tree(("a", "b"), lambda part: isinstance(part, str), lambda part: part)
    ([('a', 'b')], ['a', 'b'], [-1], [-2])
    """
    nodes: list[Part] = []
    leaves: list[Part] = []

    def placed(part: Part) -> int:
        ends = is_leaf(part)
        (leaves if ends else nodes).append(part)
        return -len(leaves) if ends else len(nodes) - 1

    placed(root)
    sides: tuple[list[int], list[int]] = ([], [])
    for node in nodes:  # It grows while it is walked.
        for side, child in zip(sides, children(node), strict=True):
            side.append(placed(child))
    return nodes, leaves, *sides


def build_forest(trees: Iterable[PeerTree], n_features: int, base_score: float = 0.0) -> Forest:
    """A forest of these trees; ModelFileError if something is wrong with them.

    Weights of leaves are made whole numbers: as they are if all of them are, otherwise in units of a share of the sum
    that is small enough for exact contributions (TreeSHAP).

    >>> from swaprank.exchange.tree_building import PeerTree, build_forest
    >>> stump = PeerTree([0], [0.5], [True], [~0], [~1], leaf_value=[-1.0, 1.0], leaf_weight=[3, 1])
    >>> forest = build_forest([stump], n_features=2)
    >>> forest.node_count.tolist(), forest.leaf_value.tolist()
    ([4], [-1.0, 1.0])
    """
    return forest_and_thresholds(trees, n_features, base_score)[0]


def forest_and_thresholds(trees: Iterable[PeerTree], n_features: int, base_score: float = 0.0) -> tuple[Forest, Floats]:
    """The forest of `build_forest`, and the thresholds of its nodes as they were given, in double precision.

    >>> from swaprank.exchange.tree_building import PeerTree, forest_and_thresholds
    >>> stump = PeerTree([0], [0.1], [True], [~0], [~1], leaf_value=[-1.0, 1.0])
    >>> forest, exact = forest_and_thresholds([stump], n_features=1)
    >>> forest.threshold.tolist(), exact.tolist()
    ([0.09999999403953552], [0.1])
    """
    if not 1 <= n_features <= MOST_FEATURES:
        raise ModelFileError(f"it has {n_features:,} features; a model has from 1 to {MOST_FEATURES:,}.")
    columns: dict[str, list[AnyArray]] = {name: [np.zeros(0, dtype)] for name, (dtype, _) in ARRAYS.items()}
    tree_nodes, tree_leaves, n_words = [0], [0], 0
    for arrays in tree_by_tree(lambda _, tree: _numbered(tree, n_features), trees):
        for name, array in arrays.items():
            columns[name].append(array)
        tree_nodes.append(tree_nodes[-1] + len(arrays["left"]))
        tree_leaves.append(tree_leaves[-1] + len(arrays["leaf_value"]))
        n_words += len(arrays["words"])
        if n_words > MOST_WORDS or len(tree_nodes) > _MOST_TREES:
            raise ModelFileError("its trees, or their sets of categories, are too many to be a model.")
    exact = np.concatenate(columns["threshold"]).astype(np.float64)
    columns |= {"tree_nodes": [np.array(tree_nodes)], "tree_leaves": [np.array(tree_leaves)]}
    columns["threshold"] = [at_most(exact)]
    made = {name: np.concatenate(columns[name]).astype(dtype) for name, (dtype, _) in ARRAYS.items()}
    return check_forest(Forest(n_features=n_features, base_score=float(base_score), **made)), exact


def _numbered(tree: PeerTree, n_features: int) -> dict[str, AnyArray]:
    """The arrays of one tree, its nodes and leaves numbered in the order in which a walk from the root finds them."""
    n_nodes, n_leaves = len(tree.left), len(tree.leaf_value)
    lengths = {len(each) for each in (tree.feature, tree.threshold, tree.missing_left, tree.right)}
    if lengths != {n_nodes} or n_leaves != n_nodes + 1:
        raise ModelFileError(f"it has {n_nodes:,} nodes and {n_leaves:,} leaves, or values of a node are missing.")
    seen = {0}

    def children(node: int) -> tuple[int, int]:
        both = (tree.left[node], tree.right[node])
        for child in both:
            if not -n_leaves <= child < n_nodes or child in seen:
                raise ModelFileError(f"node {node} has the child {child}, which does not exist or has two parents.")
            seen.add(child)
        return both

    nodes, ends, left, right = walk_tree(0 if n_nodes else ~0, lambda part: part < 0, children)
    leaves = [~end for end in ends]
    if len(nodes) != n_nodes:
        raise ModelFileError(f"only {len(nodes):,} of its {n_nodes:,} nodes can be reached from the root.")
    feature = np.asarray(tree.feature, np.int64)[nodes]
    if len(feature) and not (feature.min() >= 0 and feature.max() < n_features):
        raise ModelFileError(f"it splits on a feature that is not one of the {n_features:,} of the model.")
    leaf_count = _counts(tree.leaf_weight, n_leaves)[leaves]
    node_count = np.zeros(n_nodes, np.int64)
    for node in range(n_nodes - 1, -1, -1):
        for child in (left[node], right[node]):
            node_count[node] += node_count[child] if child >= 0 else leaf_count[~child]
    sets = [tree.sets.get(node, _NO_WORDS) for node in nodes]
    has_set = np.array([len(words) > 0 for words in sets], np.bool_)
    gain = np.zeros(n_nodes) if tree.gain is None else np.asarray(tree.gain, np.float64)[nodes]
    return {
        "feature": feature,
        "threshold": np.where(has_set, 0.0, np.asarray(tree.threshold, np.float64)[nodes]),
        "missing_left": np.asarray(tree.missing_left, np.bool_)[nodes],
        "left": np.array(left, np.int64),
        "right": np.array(right, np.int64),
        "gain": gain,
        "node_count": node_count,
        "leaf_value": np.asarray(tree.leaf_value, np.float64)[leaves],
        "leaf_count": leaf_count,
        "n_words": np.array([len(words) for words in sets], np.int64),
        "words": np.concatenate([_NO_WORDS, *sets]),
    }


_NO_WORDS = np.zeros(0, np.uint32)
_UNITS = 2.0**32
"""The sum of the weights of a tree's leaves in whole numbers: fine enough for contributions, far from overflow."""


def _counts(weights: Sequence[float] | Floats | None, n_leaves: int) -> AnyArray:
    """At least 1 for each leaf."""
    if weights is None:
        return np.ones(n_leaves, np.int64)
    given = np.asarray(weights, np.float64)
    if given.shape != (n_leaves,) or not np.isfinite(given).all() or (given < 0).any():
        raise ModelFileError("the weights or counts of its leaves are not numbers from 0.")
    total = float(given.sum())
    if total == 0:
        return np.ones(n_leaves, np.int64)
    is_whole = (given == np.round(given)).all() and (given >= 1).all() and total < _UNITS
    scaled = given if is_whole else given * (_UNITS / total)
    return np.maximum(np.round(scaled), 1).astype(np.int64)
