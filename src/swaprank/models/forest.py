"""A forest of binary trees as flat arrays.

The arrays of the trees are concatenated. Children are numbered within their tree: internal nodes from 0, and leaves by
the complement ~ of their number::

    tree 0:        node 0              left  = [1, ~0]        right = [~2, ~1]
                  /      \
              node 1     leaf 2
              /    \
          leaf 0  leaf 1

A document goes left if x <= threshold, or if x is missing (NaN) and the node sends missing values left.

A node of a categorical feature has a set of categories instead of a threshold: x is the number of a category, and the
document goes left if this bit of the node's words is set. A category beyond the words was not known in training, and
goes where missing values go. The threshold of such a node is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Bools, Features, Floats, Ints, read_only
from swaprank.data.dataset import Dataset
from swaprank.data.row_values import LARGEST_SCORE
from swaprank.errors import ModelFileError, ParameterError, SwaprankError
from swaprank.kernels import kernel
from swaprank.models.category_sets import MAX_WORDS
from swaprank.models.contributions import contributions
from swaprank.models.forest_scoring import prepared, score, staged_scores
from swaprank.models.model import Importances, Model, ModelParts
from swaprank.models.perturbation import LinearPerturbation
from swaprank.models.served import Trees
from swaprank.models.tree_walk import find_leaves


@final
@dataclass(frozen=True, eq=False)
class Forest(Model):
    """Trees; the score of a document is the sum of its leaf values, added tree by tree.

    >>> import numpy as np
    >>> from swaprank.models.forest import single_leaf
    >>> forest = single_leaf(0.5, n_features=3, n_documents=10)
    >>> forest.n_trees, forest.leaf_value.tolist()
    (1, [0.5])
    """

    kind: ClassVar[str] = "forest"
    n_features: int
    base_score: float
    """Added to every score."""
    tree_nodes: Ints
    """Tree t has the internal nodes `tree_nodes[t]` to `tree_nodes[t + 1]`."""
    tree_leaves: Ints
    """Tree t has the leaves `tree_leaves[t]` to `tree_leaves[t + 1]`, one more than it has nodes."""
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    missing_left: Bools
    left: NDArray[np.int32]
    """A node of the same tree, always after its parent, or ~leaf."""
    right: NDArray[np.int32]
    gain: Floats
    """The gain of the split in training."""
    node_count: Ints
    """Training documents at the node."""
    leaf_value: Floats
    leaf_count: Ints
    n_words: NDArray[np.int32]
    """The number of words of the node's set of categories; 0 if the node has a threshold."""
    words: NDArray[np.uint32]
    """The sets of all nodes: category c goes left if bit c % 32 of the node's word c // 32 is set."""

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.tree_nodes) - 1

    @property
    def n_stages(self) -> int:
        """See `Model`: one per tree."""
        return self.n_trees

    def score(self, features: Features, n_threads: int | None = None) -> Floats:
        """See `Model`."""
        return score(self, features, n_threads)

    def prepared(self, limits: Features) -> Callable[[Features, Floats], int]:
        """See `Model`."""
        return prepared(self, limits)

    def by_rows(self, data: Dataset, compute: Callable[[Features], AnyArray], n_threads: int | None) -> AnyArray:
        """See `Model`; bins are decoded block by block, which is exact if all thresholds are cuts of the bins.

        >>> import swaprank as sr
        >>> (data,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
        >>> model = sr.MART(n_trees=2).fit(data).model_
        >>> bool((model.by_rows(data.binned(), model.score, 1) == model.score(data.features)).all())
        True
        """
        data.stored.check_thresholds(self.feature, self.threshold, self.n_words)
        return data.stored.map_rows(compute, n_threads)

    def staged_scores(self, features: Features, stages: Sequence[int] | Ints, n_threads: int | None = None) -> Floats:
        """See `Model`."""
        return staged_scores(self, features, stages, n_threads)

    def describe(self) -> str:
        """See `Model`."""
        return f"{self.n_trees:,} trees"

    def importances(self, features: Features | None = None) -> Importances:
        """See `Model`."""
        gains = split_gains(self)
        meaning = "How much the splits on the feature reduced the training loss."
        return Importances(gains / (gains.sum() or 1.0), "share of gain", meaning)

    @property
    def has_contributions(self) -> bool:
        """See `Model`."""
        return True

    def contributions(self, features: Features, n_threads: int | None = None) -> Floats:
        """See `Model`: exact TreeSHAP."""
        return contributions(self, features, n_threads)

    def perturb(self, features: Features, rows: Ints, base: Floats) -> LinearPerturbation:
        """See `Model`; the parameters are the leaf values, and the splits do not change."""
        if len(self.leaf_value) == 0:
            raise ParameterError("the model has no trees, and so no leaf values to perturb.")

        def slopes(first: int, last: int) -> Callable[[Floats], AnyArray]:
            leaves = find_leaves(self, read_only(features[rows[first:last]]), n_threads=1)

            def totals(directions: Floats) -> AnyArray:
                added = np.empty((len(leaves), len(directions)))
                add_leaf_values(leaves, np.ascontiguousarray(directions.T), added)
                return added

            return totals

        return LinearPerturbation(
            f"{len(self.leaf_value):,} leaf values of {self.n_trees:,} trees; the splits do not change",
            len(self.leaf_value),
            self.score(features)[rows] + base,
            move=lambda change: replace(self, leaf_value=self.leaf_value + change),
            slopes=slopes,
        )

    def for_export(self) -> Trees:
        """See `Model`."""
        return Trees(self)

    def to_parts(self) -> ModelParts:
        """See `Model`."""
        meta = {"kind": self.kind, "n_features": self.n_features, "base_score": float(self.base_score)}
        without = () if len(self.words) else SET_ARRAYS
        return ModelParts(meta, {name: getattr(self, name) for name in ARRAYS if name not in without})

    @classmethod
    def from_parts(cls, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """See `Model`."""
        if not any(name in arrays for name in SET_ARRAYS) and isinstance(arrays.get("feature"), np.ndarray):
            arrays = {**arrays, "n_words": np.zeros(arrays["feature"].size, np.int32), "words": np.empty(0, np.uint32)}
        for name, found in (("n_features", meta), ("base_score", meta), *((name, arrays) for name in ARRAYS)):
            if name not in found:
                raise ModelFileError(f"the forest has no {name}.")
        parts: dict[str, Any] = {name: arrays[name] for name in ARRAYS}
        return check_forest(cls(n_features=meta["n_features"], base_score=meta["base_score"], **parts))

    def truncated(self, n_trees: int) -> Forest:
        """A forest of the first trees; its arrays are views.

        >>> from swaprank.models.forest import single_leaf
        >>> single_leaf(0.5, n_features=3, n_documents=10).truncated(0).n_trees
        0
        """
        return self.part(0, n_trees)

    def part(self, first: int, last: int) -> Forest:
        """A forest of the trees from first to last, without the last; its arrays are views.

        >>> from swaprank.models.forest import join_forests, single_leaf
        >>> join_forests(single_leaf(0.5, 3, 10), single_leaf(-0.25, 3, 10)).part(1, 2).leaf_value.tolist()
        [-0.25]
        """
        if not 0 <= first <= last <= self.n_trees:
            raise SwaprankError(f"n_trees must be from {first} to {self.n_trees}; found {last}.")
        if last - first == self.n_trees:
            return self
        nodes, leaves = self.tree_nodes[first : last + 1], self.tree_leaves[first : last + 1]
        n_before, n_until = (int(self.n_words[:end].sum()) for end in (nodes[0], nodes[-1]))
        within = {
            "node": slice(nodes[0], nodes[-1]),
            "leaf": slice(leaves[0], leaves[-1]),
            "word": slice(n_before, n_until),
        }
        parts = {name: getattr(self, name)[within[whose]] for name, (_, whose) in ARRAYS.items() if whose in within}
        return replace(self, tree_nodes=nodes - nodes[0], tree_leaves=leaves - leaves[0], **parts)


ARRAYS: dict[str, tuple[type[np.generic], str]] = {
    "tree_nodes": (np.int64, "tree"),
    "tree_leaves": (np.int64, "tree"),
    "feature": (np.int32, "node"),
    "threshold": (np.float32, "node"),
    "missing_left": (np.bool_, "node"),
    "left": (np.int32, "node"),
    "right": (np.int32, "node"),
    "gain": (np.float64, "node"),
    "node_count": (np.int64, "node"),
    "leaf_value": (np.float64, "leaf"),
    "leaf_count": (np.int64, "leaf"),
    "n_words": (np.int32, "node"),
    "words": (np.uint32, "word"),
}
"""The dtype of each array, and what it has one value per."""

SET_ARRAYS = ("n_words", "words")
"""Not in the files of models without categorical features."""


def single_leaf(value: float, n_features: int, n_documents: int) -> Forest:
    """A forest of one tree that gives every document the same score.

    >>> from swaprank.models.forest import single_leaf
    >>> single_leaf(0.5, n_features=3, n_documents=10).tree_leaves.tolist()
    [0, 1]
    """
    arrays: dict[str, AnyArray] = {name: np.zeros(0, dtype) for name, (dtype, _) in ARRAYS.items()}
    arrays |= {"tree_nodes": np.zeros(2, np.int64), "tree_leaves": np.arange(2)}
    arrays |= {"leaf_value": np.array([value], np.float64), "leaf_count": np.array([n_documents])}
    return Forest(n_features=n_features, base_score=0.0, **arrays)


def join_forests(first: Forest, second: Forest) -> Forest:
    """The trees of both forests, with the base score of the first.

    >>> from swaprank.models.forest import join_forests, single_leaf
    >>> a, b = single_leaf(0.5, 3, 10), single_leaf(-0.25, 3, 10)
    >>> join_forests(a, b).leaf_value.tolist()
    [0.5, -0.25]
    """
    if first.n_features != second.n_features:
        raise SwaprankError(
            f"the forests have {first.n_features} and {second.n_features} features: they must be the same."
        )
    joined: dict[str, Any] = {}
    for name, (_, whose) in ARRAYS.items():
        a, b = getattr(first, name), getattr(second, name)
        joined[name] = np.concatenate((a, a[-1] + b[1:]) if whose == "tree" else (a, b))
    return replace(first, **joined)


def split_counts(forest: Forest) -> Ints:
    """The number of splits on each feature.

    >>> from swaprank.models.forest import single_leaf, split_counts
    >>> split_counts(single_leaf(0.5, n_features=3, n_documents=10)).tolist()
    [0, 0, 0]
    """
    return np.bincount(forest.feature, minlength=forest.n_features).astype(np.int64)


def split_gains(forest: Forest) -> Floats:
    """The sum of the gains of the splits on each feature.

    >>> from swaprank.models.forest import single_leaf, split_gains
    >>> split_gains(single_leaf(0.5, n_features=3, n_documents=10)).tolist()
    [0.0, 0.0, 0.0]
    """
    return np.bincount(forest.feature, weights=forest.gain, minlength=forest.n_features).astype(np.float64)


@kernel
def add_leaf_values(leaves: AnyArray, values: Floats, totals: Floats) -> None:
    """totals[i, d] = the sum of values[leaf, d] over the leaves of document i; one row of values per leaf."""
    for i in range(len(leaves)):
        total = totals[i]
        total[:] = 0.0
        for tree in range(leaves.shape[1]):
            row = values[leaves[i, tree]]
            for d in range(len(total)):
                total[d] += row[d]


ForestType = TypeVar("ForestType", bound=Forest)


def check_forest(forest: ForestType) -> ForestType:
    """Check all values of a forest from a model file, because scoring does not check its indices; return the forest.

    >>> from dataclasses import replace
    >>> from swaprank.models.forest import check_forest, single_leaf
    >>> check_forest(replace(single_leaf(0.5, 3, 10), leaf_value=[float("nan")]))
    Traceback (most recent call last):
    ...
    swaprank.errors.ModelFileError: the forest's leaf_value must be float64, one per leaf; found list.
    """
    if type(forest.n_features) is not int or forest.n_features < 1:
        raise ModelFileError(f"the forest's n_features must be a whole number from 1; found {forest.n_features!r}.")
    if not isinstance(forest.base_score, float) or not math.isfinite(forest.base_score):
        raise ModelFileError(f"the forest's base_score must be a finite number; found {forest.base_score!r}.")
    _check_arrays(forest)
    _check_values(forest)
    _check_shape(forest)
    _check_sums(forest)
    return forest


def _check_arrays(forest: Forest) -> None:
    for name, (dtype, whose) in ARRAYS.items():
        array = getattr(forest, name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            found = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            expected = np.dtype(dtype).name
            raise ModelFileError(f"the forest's {name} must be {expected}, one per {whose}; found {found}.")
    for offsets, whose in ((forest.tree_nodes, "node"), (forest.tree_leaves, "leaf")):
        if len(offsets) == 0 or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
            raise ModelFileError(f"the {whose} numbers of the forest's trees do not start at 0 or do not ascend.")
        for name in (name for name, (_, owner) in ARRAYS.items() if owner == whose):
            if len(getattr(forest, name)) != offsets[-1]:
                n_values = len(getattr(forest, name))
                raise ModelFileError(f"the forest's {name} has {n_values:,} values, not one per {whose}.")
    same_trees = len(forest.tree_nodes) == len(forest.tree_leaves)
    if not same_trees or (np.diff(forest.tree_leaves) != np.diff(forest.tree_nodes) + 1).any():
        raise ModelFileError("the forest has a tree whose number of leaves is not its number of nodes plus one.")
    if np.sum(forest.n_words, dtype=np.int64) != len(forest.words):
        raise ModelFileError(f"the forest has {len(forest.words):,} words, which is not the sum of its n_words.")


def _check_values(forest: Forest) -> None:
    wrong = {
        "feature": (forest.feature < 0) | (forest.feature >= forest.n_features),
        "n_words": (forest.n_words < 0) | (forest.n_words > MAX_WORDS),
        "threshold": ~np.isfinite(forest.threshold) | ((forest.n_words != 0) & (forest.threshold != 0)),
        "gain": ~np.isfinite(forest.gain),
        "node_count": forest.node_count < 1,
        "leaf_value": ~np.isfinite(forest.leaf_value),
        "leaf_count": forest.leaf_count < 1,
    }
    for name, bad in wrong.items():
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise ModelFileError(f"the forest's {name}[{at}] is {getattr(forest, name)[at]}, which is out of range.")


def _check_sums(forest: Forest) -> None:
    """Check that no score, contribution or importance overflows, whichever leaves a document reaches."""
    with np.errstate(over="ignore"):
        largest = np.maximum.reduceat(np.abs(forest.leaf_value), forest.tree_leaves[:-1]) if forest.n_trees else 0.0
        for what, total in (
            ("leaf values", abs(forest.base_score) + np.sum(largest)),
            ("gains", np.sum(np.abs(forest.gain))),
        ):
            if not abs(total) <= LARGEST_SCORE:
                raise ModelFileError(
                    f"the {what} of the forest are too large: their sum might be above {LARGEST_SCORE:g}."
                )


def _check_shape(forest: Forest) -> None:
    """Check that every node and leaf except the root has exactly one parent, and that parents come first: no cycles."""
    n_nodes = np.diff(forest.tree_nodes)
    first_node, first_leaf = (np.repeat(start[:-1], n_nodes) for start in (forest.tree_nodes, forest.tree_leaves))
    n_below = np.repeat(n_nodes, n_nodes)
    within = np.arange(len(first_node)) - first_node
    count = np.zeros_like(forest.node_count)
    node_parents = np.zeros(len(first_node), np.int64)
    node_parents[forest.tree_nodes[:-1][n_nodes > 0]] = 1
    leaf_parents = np.zeros(len(forest.leaf_value), np.int64)
    leaf_parents[forest.tree_leaves[:-1][n_nodes == 0]] = 1
    for name, child in (("left", forest.left.astype(np.int64)), ("right", forest.right.astype(np.int64))):
        bad = np.where(child >= 0, (child <= within) | (child >= n_below), ~child > n_below)
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise ModelFileError(f"the forest's {name}[{at}] is {child[at]}: neither a later node nor a leaf.")
        inner, leaf = child >= 0, child < 0
        node_parents += np.bincount((first_node + child)[inner], minlength=len(node_parents))
        leaf_parents += np.bincount((first_leaf + ~child)[leaf], minlength=len(leaf_parents))
        count[inner] += forest.node_count[(first_node + child)[inner]]
        count[leaf] += forest.leaf_count[(first_leaf + ~child)[leaf]]
    if (node_parents != 1).any() or (leaf_parents != 1).any():
        raise ModelFileError("the forest has a node or leaf with no parent or with two parents.")
    if (count != forest.node_count).any():
        at = int(np.flatnonzero(count != forest.node_count)[0])
        raise ModelFileError(f"the forest's node_count[{at}] is not the sum of its children's counts.")
