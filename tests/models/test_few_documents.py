"""The walk for few documents, at any number of documents, equals a plain walk down the trees, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swaprank.arrays import read_only
from swaprank.models import forest_scoring
from swaprank.models.forest import Forest
from swaprank.models.tree_walk import pack, walk_trees
from swaprank.models.value_limits import UNLIMITED, first_outside
from tests.models.random_forests import naive_scores, random_documents, random_forest


def walked(forest: Forest, X: np.ndarray) -> list[float]:
    scores = np.full(len(X), np.nan)
    assert walk_trees(*pack(forest), UNLIMITED, read_only(X), scores) == -1
    return scores.tolist()


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.lists(st.one_of(st.just(1), st.integers(1, 80), st.just(300)), max_size=19),
    n_documents=st.integers(0, 9),
    set_share=st.sampled_from([0, 0.3, 1]),
)
def test_scores_equal_the_walk_down_the_trees(
    seed: int, n_leaves: list[int], n_documents: int, set_share: float
) -> None:
    rng = np.random.default_rng(seed)
    forest, X = random_forest(rng, n_leaves, set_share=set_share), random_documents(rng, n_documents)
    assert walked(forest, X) == naive_scores(forest, X).tolist()


@pytest.mark.parametrize("chain", ["left", "right"])
def test_a_long_chain_among_small_trees(chain: str) -> None:
    rng = np.random.default_rng(0)
    forest = random_forest(rng, [3, 201, 1])
    deeper, leaves = np.append(np.arange(1, 200), ~200), ~np.arange(200)
    nodes = slice(2, 202)
    forest.left[nodes], forest.right[nodes] = (deeper, leaves) if chain == "left" else (leaves, deeper)
    X = random_documents(rng, 40)
    assert walked(forest, X) == naive_scores(forest, X).tolist()


def test_a_sum_of_zero_keeps_its_sign() -> None:
    forest = random_forest(np.random.default_rng(0), [1])
    forest.leaf_value[:] = -0.0
    forest = Forest(**{**vars(forest), "base_score": -0.0})
    assert np.signbit(walked(forest, np.zeros((1, 5), np.float32))[0])


@pytest.mark.parametrize("n_few", [0, 100])
def test_few_and_many_documents_have_the_same_scores(n_few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    forest, X = random_forest(rng, [31] * 20), random_documents(rng, 40)
    monkeypatch.setattr(forest_scoring, "FEW_DOCUMENTS", n_few)
    scores = np.empty(40)
    assert forest.prepared(UNLIMITED)(read_only(X), scores) == -1
    assert scores.tolist() == naive_scores(forest, X).tolist()


@pytest.mark.parametrize("n_documents", [1, 10, 11, 70])
def test_a_value_beyond_its_limits_is_found_and_nothing_is_written(n_documents: int) -> None:
    rng = np.random.default_rng(2)
    forest, X = random_forest(rng, [31] * 20), np.full((n_documents, 5), np.nan, np.float32)
    limits = np.array([[-1.0] * 5, [9.0] * 5], np.float32)
    score, scores = forest.prepared(limits), np.full(n_documents, 7.0)
    for value in (9.0, -1.0, np.inf, -np.inf):
        X[-1, 3] = value
        assert first_outside(X, limits) == score(read_only(X), scores) == 5 * n_documents - 2
        assert scores.tolist() == [7.0] * n_documents
    X[-1, 3] = 8.5
    assert score(read_only(X), scores) == -1
    assert scores.tolist() == naive_scores(forest, X).tolist()
