"""Trees of untrusted files: thresholds keep their meaning, and whatever is wrong is an error."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swaprank as sr
from swaprank.exchange.plain_trees import fold_tree, tree_depth
from swaprank.exchange.tree_building import PeerTree, at_most, below, build_forest

LARGEST = float(np.finfo(np.float32).max)
SINGLE = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(SINGLE, st.floats(-LARGEST, LARGEST))
def test_float32_thresholds_mean_the_same_for_float32_values(x: float, threshold: float) -> None:
    assert (np.float32(x) <= at_most(threshold)) == (x <= threshold)
    assert (np.float32(x) <= below(threshold)) == (x < threshold)


@given(SINGLE.filter(lambda x: abs(x) < LARGEST))
def test_values_at_and_next_to_the_threshold(threshold: float) -> None:
    near = np.nextafter(np.float32(threshold), np.array([-LARGEST, threshold, LARGEST], np.float32))
    assert (near <= at_most(threshold)).tolist() == [True, True, False]
    assert (near <= below(threshold)).tolist() == [True, False, False]


def chain(n_nodes: int) -> PeerTree:
    """A tree as deep as it has nodes; the nodes are stored in a random order, the root first."""
    order = np.append(0, 1 + np.random.default_rng(0).permutation(n_nodes - 1)).tolist()
    left, right = [0] * n_nodes, [0] * n_nodes
    for depth, node in enumerate(order):
        left[node] = ~depth
        right[node] = order[depth + 1] if depth + 1 < n_nodes else ~n_nodes
    thresholds = [0.0] * n_nodes
    for depth, node in enumerate(order):
        thresholds[node] = float(depth)
    return PeerTree([0] * n_nodes, thresholds, [False] * n_nodes, left, right, list(range(n_nodes + 1)))


def test_a_very_deep_tree_is_built_folded_and_scored() -> None:
    forest = build_forest([chain(5000)], n_features=1)
    assert tree_depth(forest, 0) == 5000
    assert fold_tree(forest, 0, lambda leaf: 1, lambda node, left, right: left + right) == 5001
    X = np.array([[-1.0], [2499.5], [1e9]], np.float32)
    assert forest.score(X).tolist() == [0.0, 2500.0, 5000.0]


def test_weights_of_leaves_become_counts_in_the_same_proportion() -> None:
    def counts(*weights: float) -> list[int]:
        stump = PeerTree([0], [0.5], [True], [~0], [~1], [1.0, 2.0], leaf_weight=list(weights))
        return [int(count) for count in build_forest([stump], n_features=1).leaf_count]

    assert counts(3, 5) == [3, 5]
    assert counts(0, 0) == [1, 1]
    a, b = counts(0.25, 0.75)
    assert 3 * a == b
    a, b = counts(0, 7)
    assert 1 <= a < 1e-6 * b


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": [0]}, "node 0 has the child 0, which does not exist or has two parents"),
        ({"right": [~0]}, "has two parents"),
        ({"right": [7]}, "node 0 has the child 7, which does not exist"),
        ({"right": [~7]}, "does not exist"),
        ({"feature": [2]}, "splits on a feature that is not one of the 2"),
        ({"feature": [-1]}, "splits on a feature"),
        ({"feature": [2**32]}, "splits on a feature"),
        ({"threshold": [float("nan")]}, "threshold"),
        ({"threshold": []}, "values of a node are missing"),
        ({"leaf_value": [1.0]}, "1 nodes and 1 leaves"),
        ({"leaf_value": [1.0, float("inf")]}, "leaf_value"),
        ({"leaf_weight": [1.0, -1.0]}, "weights or counts of its leaves"),
        ({"gain": [float("nan")]}, "gain"),
    ],
)
def test_what_is_wrong_with_a_tree(change: dict[str, Any], message: str) -> None:
    tree = PeerTree([0], [0.5], [True], [~0], [~1], [1.0, 2.0])
    for name, value in change.items():
        setattr(tree, name, value)
    with pytest.raises(sr.errors.ModelFileError, match=message):
        build_forest([tree], n_features=2)


def test_nodes_that_cannot_be_reached() -> None:
    circle = PeerTree([0] * 3, [0.5] * 3, [True] * 3, [~0, 2, 1], [~1, ~2, ~3], [1.0] * 4)
    with pytest.raises(sr.errors.ModelFileError, match="only 1 of its 3 nodes can be reached"):
        build_forest([circle], n_features=1)


@pytest.mark.parametrize("n_features", [0, -1, 10**7])
def test_numbers_of_features(n_features: int) -> None:
    with pytest.raises(sr.errors.ModelFileError, match="features; a model has from 1"):
        build_forest([PeerTree()], n_features=n_features)
