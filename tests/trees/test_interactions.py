"""Every path from a root to a leaf has features of one group only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.models.forest import Forest
from tests.trees.categorical_data import categorical


def paths(forest: Forest) -> Iterator[set[int]]:
    """The features on each path."""
    for tree in range(forest.n_trees):
        start, end = forest.tree_nodes[tree : tree + 2]
        open_ends: list[tuple[int, set[int]]] = [(0, set())] if end > start else []
        while open_ends:
            node, before = open_ends.pop()
            after = before | {int(forest.feature[start + node])}
            for child in (int(forest.left[start + node]), int(forest.right[start + node])):
                if child >= 0:
                    open_ends.append((child, after))
                else:
                    yield after


def data(n_features: int = 6, n_categories: int = 0) -> sr.Dataset:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, n_features)).astype(np.float32)
    signal = X.sum(axis=1) + X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + rng.normal(size=3000)
    if n_categories:
        X[:, 1] = rng.integers(0, n_categories, 3000)
        signal += rng.normal(size=n_categories)[X[:, 1].astype(int)]
    y, qid = np.digitize(signal, [0, 1, 2]), np.arange(3000) // 20
    return categorical(X, y, qid, {1: n_categories} if n_categories else {})


@pytest.mark.parametrize("n_categories", [0, 100])
@pytest.mark.parametrize("more", [{}, {"feature_fraction": 0.5}, {"monotone_constraints": {"1": 1, "4": -1}}], ids=str)
@pytest.mark.parametrize(
    ("given", "groups"),
    [
        ([["1", "2"], [2, 3]], [{0, 1}, {2, 3}, {4}, {5}]),
        ([(0, 1, 2), (2, 3)], [{0, 1, 2}, {2, 3}, {4}, {5}]),
        ([[0, 1, 2, 3, 4, 5]], [{0, 1, 2, 3, 4, 5}]),
        ([[0]], [{0}, {1}, {2}, {3}, {4}, {5}]),
    ],
)
def test_a_path_stays_in_one_group(
    given: Sequence[Sequence[str | int]], groups: list[set[int]], more: dict[str, Any], n_categories: int
) -> None:
    ranker = sr.LambdaMART(
        n_trees=12, n_leaves=15, interaction_constraints=given, score_noise=0.0, leaf_smoothing=0.0, **more
    )
    found = list(paths(ranker.fit(data(n_categories=n_categories)).model_))
    assert all(any(path <= group for group in groups) for path in found)
    assert len(set.union(*found)) > 3
    assert max(map(len, found)) > (1 if max(map(len, groups)) > 1 else 0)


def test_without_constraints_features_mix() -> None:
    assert max(map(len, paths(sr.LambdaMART(n_trees=12, n_leaves=15).fit(data()).model_))) > 3


def test_threads_do_not_change_the_trees() -> None:
    models = [
        sr.MART(n_trees=5, interaction_constraints=[[0, 1], [1, 30]], n_threads=threads).fit(data(40, 50)).model_
        for threads in (1, 3)
    ]
    assert models[0].leaf_value.tolist() == models[1].leaf_value.tolist()
