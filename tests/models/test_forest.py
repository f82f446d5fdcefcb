"""Forests: joined, truncated, counted and checked."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swaprank.errors import ModelFileError, SwaprankError
from swaprank.models.category_sets import MAX_WORDS
from swaprank.models.forest import ARRAYS, Forest, check_forest, join_forests, single_leaf, split_counts, split_gains
from swaprank.trees.tree import make_forest
from tests.models.random_forests import naive_scores, random_documents, random_forest


def test_arrays_names_every_array_of_a_forest() -> None:
    assert {field.name for field in fields(Forest)} == {"n_features", "base_score", *ARRAYS}


@given(seed=st.integers(0, 10**6), n_leaves=st.lists(st.integers(1, 90), max_size=6))
def test_random_forests_are_sound(seed: int, n_leaves: list[int]) -> None:
    forest = random_forest(np.random.default_rng(seed), n_leaves)
    assert check_forest(forest) is forest
    assert check_forest(join_forests(forest, forest)).n_trees == 2 * len(n_leaves)
    assert check_forest(forest.truncated(len(n_leaves) // 2)).n_trees == len(n_leaves) // 2


def test_joined_forests_score_as_the_sum_of_both() -> None:
    rng = np.random.default_rng(1)
    a, b, X = random_forest(rng, [5, 1, 9]), random_forest(rng, [3, 70]), random_documents(rng, 50)
    joined = join_forests(a, b)
    np.testing.assert_allclose(naive_scores(joined, X), naive_scores(a, X) + naive_scores(b, X) - b.base_score)
    assert joined.base_score == a.base_score


def test_joining_needs_the_same_features() -> None:
    with pytest.raises(SwaprankError, match="3 and 4 features"):
        join_forests(single_leaf(0.0, 3, 1), single_leaf(0.0, 4, 1))


def test_truncated_forests_are_views_of_the_first_trees() -> None:
    rng = np.random.default_rng(2)
    forest, X = random_forest(rng, [5, 1, 9]), random_documents(rng, 20)
    short = forest.truncated(2)
    assert np.shares_memory(short.feature, forest.feature)
    assert (naive_scores(short, X) == naive_scores(forest, X, n_trees=2)).all()
    with pytest.raises(SwaprankError, match="from 0 to 3; found 4"):
        forest.truncated(4)


def test_trees_are_joined_with_their_sets() -> None:
    forest = random_forest(np.random.default_rng(2), [5, 1, 9, 20])
    joined = make_forest([forest.part(tree, tree + 1) for tree in range(4)], 5)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(joined, name), getattr(forest, name))
        assert getattr(joined, name).dtype == getattr(forest, name).dtype


def test_importances_add_up_over_features() -> None:
    forest = random_forest(np.random.default_rng(3), [9, 30])
    assert split_counts(forest).tolist() == [(forest.feature == f).sum() for f in range(5)]
    np.testing.assert_allclose(split_gains(forest), [forest.gain[forest.feature == f].sum() for f in range(5)])


def test_moved_leaf_values_change_scores_by_the_leaves_that_a_walk_finds() -> None:
    rng = np.random.default_rng(5)
    forest, X = random_forest(rng, [9, 30]), random_documents(rng, 40)
    parameters = forest.perturb(X, np.arange(40), np.zeros(40))
    direction = rng.normal(size=39)
    ((_, _, scores),) = parameters.scores_along(0, 40, iter([(0, direction[None])]), (0.5,))
    np.testing.assert_allclose(scores, naive_scores(replace(forest, leaf_value=forest.leaf_value + direction / 2), X))


def edited(forest: Forest, name: str, at: int | list[int], value: Any) -> Forest:
    array = getattr(forest, name).copy()
    array[at] = value
    return replace(forest, **{name: array})


SOUND = random_forest(np.random.default_rng(4), [4, 1, 9])


@pytest.mark.parametrize(
    ("forest", "message"),
    [
        (replace(SOUND, n_features=0), "n_features"),
        (replace(SOUND, n_features=True), "n_features"),
        (replace(SOUND, base_score=float("inf")), "base_score"),
        (replace(SOUND, base_score=float("nan")), "base_score"),
        (replace(SOUND, feature=SOUND.feature.astype(np.int64)), "feature must be int32"),
        (replace(SOUND, gain=SOUND.gain[:, None]), "gain must be float64"),
        (replace(SOUND, gain=SOUND.gain[1:]), "gain has 10 values, not one per node"),
        (replace(SOUND, leaf_count=SOUND.leaf_count[1:]), "leaf_count has 13 values, not one per leaf"),
        (replace(SOUND, tree_nodes=SOUND.tree_nodes[:0]), "node numbers of"),
        (edited(SOUND, "tree_nodes", 1, 2), "not its number of nodes plus one"),
        (edited(SOUND, "tree_nodes", 1, 12), "node numbers of"),
        (edited(SOUND, "tree_leaves", 0, -1), "leaf numbers of"),
        (edited(SOUND, "tree_leaves", -1, 2**62), "not one per leaf"),
        (edited(SOUND, "feature", 3, 5), r"feature\[3\] is 5"),
        (edited(SOUND, "feature", 3, -1), r"feature\[3\] is -1"),
        (edited(SOUND, "threshold", 2, np.nan), r"threshold\[2\] is nan"),
        (edited(SOUND, "n_words", 5, -1), "not the sum of its n_words"),
        (edited(SOUND, "n_words", [2, 5], [3, -1]), r"n_words\[5\] is -1"),
        (edited(SOUND, "n_words", [0, 1, 2], [2**31 - 1, 2**31 - 1, 2]), "not the sum of its n_words"),
        (replace(SOUND, n_words=SOUND.n_words[1:]), "n_words has 10 values, not one per node"),
        (replace(SOUND, words=SOUND.words[1:]), "the forest has 2 words"),
        (replace(SOUND, words=SOUND.words.astype(np.int32)), "words must be uint32"),
        (
            replace(edited(SOUND, "n_words", 5, MAX_WORDS + 1), words=np.zeros(MAX_WORDS + 2, np.uint32)),
            r"n_words\[5\] is 524289",
        ),
        (edited(SOUND, "threshold", 5, 0.5), r"threshold\[5\] is 0\.5"),
        (edited(SOUND, "gain", 2, np.inf), r"gain\[2\] is inf"),
        (edited(SOUND, "leaf_value", 2, np.inf), r"leaf_value\[2\] is inf"),
        (edited(SOUND, "leaf_count", 2, 0), r"leaf_count\[2\] is 0"),
        (edited(SOUND, "node_count", 0, 1), r"node_count\[0\] is not the sum"),
        (edited(SOUND, "left", 1, 0), r"left\[1\] is 0: neither a later node nor a leaf"),
        (edited(SOUND, "left", 1, 1), r"left\[1\] is 1: neither a later node nor a leaf"),
        (edited(SOUND, "right", 0, 3), r"right\[0\] is 3"),
        (edited(SOUND, "right", 2, ~4), r"right\[2\] is -5"),
        (edited(SOUND, "right", 2, -(2**31)), r"right\[2\]"),
        (edited(SOUND, "left", 0, SOUND.right[0]), "no parent or with two parents"),
    ],
)
def test_unsound_forests_are_refused(forest: Forest, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        check_forest(forest)
