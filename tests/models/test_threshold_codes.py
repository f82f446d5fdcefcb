"""Codes answer every question of a node, whatever the number of a feature's thresholds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from swaprank.arrays import AnyArray, Features, Ints
from swaprank.kernels import kernel
from swaprank.models.forest import Forest
from swaprank.models.forest_scoring import score
from swaprank.models.leaf_bits import LANES
from swaprank.models.threshold_codes import Rulers, encode, make_rulers
from tests.models.random_forests import goes_left, naive_scores, random_forest


@kernel
def encode_group(
    feature: Ints, marks_of: Ints, rows: Ints, marks: Features, X: Features, n_lanes: int, codes: AnyArray
) -> None:
    rulers, values = Rulers(feature, marks_of, rows, marks), np.zeros(LANES, np.float32)
    encode(rulers, X, np.uint64(0), np.uint64(n_lanes), values, codes)


def forest_with(n_thresholds: int, missing: str) -> Forest:
    """One long tree of a single feature: the thresholds are the even numbers, twice each."""
    rng = np.random.default_rng(n_thresholds)
    forest = random_forest(rng, [2 * n_thresholds + 1], n_features=1, set_share=0)
    thresholds = rng.permutation(np.repeat(2 * np.arange(n_thresholds), 2)).astype(np.float32)
    sides = {"left": np.True_, "right": np.False_, "both": rng.random(2 * n_thresholds) < 0.5}
    return replace(forest, threshold=thresholds, missing_left=np.full(2 * n_thresholds, sides[missing]))


@pytest.mark.parametrize("missing", ["left", "right", "both"])
@pytest.mark.parametrize("n_thresholds", [1, 7, 8, 9, 35, 36, 37, 40, 41, 254, 255, 256, 300, 511])
def test_codes_are_above_a_threshold_where_the_document_goes_right(n_thresholds: int, missing: str) -> None:
    forest = forest_with(n_thresholds, missing)
    rulers, rows, limits = make_rulers(forest, np.arange(len(forest.feature)))
    values = np.append(np.arange(-1, 2 * n_thresholds + 1), [np.nan, np.inf, -np.inf]).astype(np.float32)
    for part in np.array_split(values, -(-len(values) // LANES)):
        codes = np.zeros((rulers.n_rows, LANES), np.int8)
        encode_group(*rulers, part[:, None], len(part), codes.reshape(-1))
        is_right = codes[rows, : len(part)] > limits[:, None]
        expected = [[not goes_left(forest, node, float(x)) for x in part] for node in range(len(rows))]
        assert is_right.tolist() == expected


@pytest.mark.parametrize("n_thresholds", [40, 300])
def test_scores_with_many_thresholds_of_a_feature(n_thresholds: int) -> None:
    forest = forest_with(n_thresholds, "both")
    X = np.append(np.arange(-1, 100), [np.nan, np.inf, -np.inf]).astype(np.float32)[:, None]
    assert score(forest, X).tolist() == naive_scores(forest, X).tolist()


def test_positive_and_negative_zero_are_one_threshold() -> None:
    forest = forest_with(2, "left")
    forest.threshold[:] = [0.0, -0.0, -0.0, 2.0]
    rulers, _, limits = make_rulers(forest, np.arange(4))
    assert limits.tolist() == [-128, -128, -128, -127]
    assert len(rulers.marks) == 2
