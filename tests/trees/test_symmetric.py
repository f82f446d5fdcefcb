"""Symmetric trees compared with plain Python: every cut is tried in all leaves of a level together."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Bools, Features, Floats
from swaprank.models.forest import Forest
from tests.trees.test_growing import grown, leaf_numbers, random_problem


def gain(grad: Floats, hess: Floats, left: Bools, l2: float) -> float:
    if not 0 < left.sum() < len(left):
        return 0.0
    sides = sum(grad[side].sum() ** 2 / (hess[side].sum() + l2) for side in (left, ~left))
    return max(float(sides - grad.sum() ** 2 / (hess.sum() + l2)), 0.0)


def naive_cuts(X: Features) -> list[Bools]:
    """What goes left, for all cuts of all features."""
    cuts: list[Bools] = []
    for f in range(X.shape[1]):
        known = np.unique(X[~np.isnan(X[:, f]), f])
        middles = [*((a + b) / 2 for a, b in pairwise(known)), np.inf]
        cuts += [np.where(np.isnan(X[:, f]), side, X[:, f] <= cut) for side in (False, True) for cut in middles]
    return cuts


def naive_leaves(X: Features, grad: Floats, hess: Floats, depth: int, l2: float) -> list[set[int]]:
    """The documents of each leaf of a symmetric tree."""
    leaves, cuts = [np.arange(len(X))], naive_cuts(X)
    for _ in range(depth):
        gains = [[gain(grad[leaf], hess[leaf], left[leaf], l2) for leaf in leaves] for left in cuts]
        best = int(np.argmax([sum(of_leaves) for of_leaves in gains]))
        left, parts = cuts[best], list[Any]()
        for leaf, gained in zip(leaves, gains[best], strict=True):
            parts += [leaf[left[leaf]], leaf[~left[leaf]]] if gained > 0 else [leaf]
        leaves = parts
    return [set(leaf.tolist()) for leaf in leaves]


def found_leaves(tree: Forest, X: Features) -> list[set[int]]:
    numbers = np.array(leaf_numbers(tree, X))
    return [set(np.flatnonzero(numbers == leaf).tolist()) for leaf in np.unique(numbers)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("depth", "l2"), [(1, 0.0), (2, 0.0), (3, 5.0)])
def test_a_level_is_split_by_the_cut_that_is_best_for_all_its_leaves(seed: int, depth: int, l2: float) -> None:
    X, grad, hess = random_problem(seed)
    options: dict[str, Any] = {"grow_policy": "symmetric", "max_depth": depth, "n_leaves": 64, "l2": l2}
    found = found_leaves(grown(X, grad, hess, **options), X)
    assert sorted(map(sorted, found)) == sorted(map(sorted, naive_leaves(X, grad, hess, depth, l2)))


@pytest.mark.parametrize("n_leaves", [2, 3, 4, 5, 8, 11, 31])
def test_a_tree_has_as_many_leaves_as_it_may(n_leaves: int) -> None:
    rng = np.random.default_rng(0)
    X, hess = rng.random((2000, 8)).astype(np.float32), np.ones(2000)
    grad = X.sum(axis=1) - 4 + rng.normal(size=2000)
    options: dict[str, Any] = {"grow_policy": "symmetric", "n_leaves": n_leaves}
    tree = grown(X, grad, hess, **options)
    assert len(tree.leaf_value) == n_leaves
    features_of_level: dict[int, set[tuple[int, float]]] = {}
    level = {0: 0}
    for node in range(len(tree.feature)):
        for child in (int(tree.left[node]), int(tree.right[node])):
            if child >= 0:
                level[child] = level[node] + 1
        features_of_level.setdefault(level[node], set()).add((int(tree.feature[node]), float(tree.threshold[node])))
    assert all(len(cuts) == 1 for cuts in features_of_level.values())
    assert max(level.values()) == int(np.ceil(np.log2(n_leaves))) - 1


def test_no_leaf_has_too_few_documents() -> None:
    X, grad, hess = random_problem(1)
    options: dict[str, Any] = {"grow_policy": "symmetric", "n_leaves": 32, "min_docs_in_leaf": 30}
    assert min(len(leaf) for leaf in found_leaves(grown(X, grad, hess, **options), X)) >= 30


@pytest.mark.parametrize("policy", ["symmetric", "leafwise"])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_any_number_of_threads_grows_the_same_tree(policy: str, noise: float) -> None:
    X, grad, hess = random_problem(2, n=60_000, d=20)
    options: dict[str, Any] = {"grow_policy": policy, "n_leaves": 31, "split_noise": noise}
    one, two = (grown(X, grad, hess, n_threads=threads, **options) for threads in (1, 3))
    for name in ("feature", "threshold", "left", "right", "leaf_value"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("policy", ["symmetric", "leafwise"])
def test_noise_moves_splits_that_mean_nothing_and_keeps_those_that_mean_something(policy: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((3000, 10)).astype(np.float32)
    signal, hess = np.sign(X[:, 3] - 0.5), np.ones(3000)
    options: dict[str, Any] = {"grow_policy": policy, "n_leaves": 8}

    def features(grad: Floats, noise: float) -> list[int]:
        return [int(f) for f in grown(X, grad, hess, split_noise=noise, **options).feature]

    assert features(signal + rng.normal(size=3000), 1.0)[0] == 3
    nothing = rng.normal(size=3000)
    assert features(nothing, 0.0) != features(nothing, 1.0)


def test_symmetric_trees_refuse_what_they_cannot_do() -> None:
    (data,) = sr.datasets.random_net(20, n_features=4, random_state=0)
    ranker = sr.LambdaMART(n_trees=2, grow_policy="symmetric", monotone_constraints=[1, 0, 0, 0])
    with pytest.raises(sr.errors.ParameterError, match="grow_policy='symmetric' takes neither"):
        ranker.fit(data)
