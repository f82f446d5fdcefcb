"""Scores equal, bit for bit, those of a plain walk down the trees."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swaprank.errors import DataError, SwaprankError
from swaprank.models import forest_scoring
from swaprank.models.category_sets import MAX_WORDS
from swaprank.models.forest import check_forest, single_leaf
from swaprank.models.forest_layout import ForestLayout
from swaprank.models.forest_scoring import score, score_documents, scores_by_stage, staged_scores
from swaprank.models.threshold_codes import Rulers
from tests.models.random_forests import naive_scores, random_documents, random_forest

_TREE_LEAVES = len(Rulers._fields) + ForestLayout._fields.index("tree_leaves")
"""Where `score_documents` takes the leaves of its trees."""


@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.lists(st.one_of(st.integers(1, 80), st.sampled_from([32, 33, 64, 65, 128, 129, 300])), max_size=6),
    n_documents=st.integers(0, 40),
    set_share=st.sampled_from([0, 0.3, 1]),
)
def test_scores_equal_the_walk_down_the_trees(
    seed: int, n_leaves: list[int], n_documents: int, set_share: float
) -> None:
    rng = np.random.default_rng(seed)
    forest, X = random_forest(rng, n_leaves, set_share=set_share), random_documents(rng, n_documents)
    assert score(forest, X).tolist() == naive_scores(forest, X).tolist()


@pytest.mark.parametrize("set_share", [0, 0.5])
@pytest.mark.parametrize("chain", ["left", "right"])
def test_trees_that_are_one_long_chain(chain: str, set_share: float) -> None:
    rng = np.random.default_rng(0)
    n_nodes = 200
    forest = random_forest(rng, [n_nodes + 1], set_share=set_share)
    deeper, leaves = np.arange(1, n_nodes + 1), ~np.arange(n_nodes)
    deeper[-1] = ~n_nodes
    forest.left[:], forest.right[:] = (deeper, leaves) if chain == "left" else (leaves, deeper)
    X = random_documents(rng, 40)
    assert score(forest, X).tolist() == naive_scores(forest, X).tolist()


@pytest.mark.parametrize("set_share", [0, 0.3, 1])
def test_many_blocks_of_trees_and_chunks_of_documents(set_share: float) -> None:
    rng = np.random.default_rng(5)
    forest = random_forest(rng, rng.integers(1, 12, 700).tolist(), set_share=set_share)
    X = random_documents(rng, 600)
    expected = naive_scores(forest, X[:40])
    scores = score(forest, X)
    assert scores[:40].tolist() == expected.tolist()
    assert scores.tolist() == np.concatenate([score(forest, X[i : i + 1]) for i in range(len(X))]).tolist()


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
def test_scores_do_not_depend_on_threads_or_batches(n_threads: int) -> None:
    rng = np.random.default_rng(6)
    forest, X = random_forest(rng, [64] * 300), random_documents(rng, 6000)
    scores = score(forest, X, n_threads=1)
    assert (score(forest, X, n_threads=n_threads) == scores).all()
    parts = [score(forest, part, n_threads=n_threads) for part in np.array_split(X, 7)]
    assert (np.concatenate(parts) == scores).all()


def test_several_threads_may_score_at_once() -> None:
    rng = np.random.default_rng(7)
    forest, X = random_forest(rng, [31] * 50), random_documents(rng, 500)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: score(forest, X, n_threads=2), range(24)))
    assert all((result == results[0]).all() for result in results)
    assert results[0][:20].tolist() == naive_scores(forest, X[:20]).tolist()


@pytest.mark.parametrize("set_share", [0, 0.3])
def test_stages_are_scores_of_the_first_trees(set_share: float) -> None:
    rng = np.random.default_rng(8)
    forest, X = random_forest(rng, [5] * 600, set_share=set_share), random_documents(rng, 30)
    counts = [0, 1, 2, 255, 256, 257, 599, 600]
    stages = staged_scores(forest, X, counts)
    for n_trees, stage in zip(counts, stages, strict=True):
        assert stage.tolist() == naive_scores(forest, X, n_trees).tolist()
        assert score(forest.truncated(n_trees), X).tolist() == stage.tolist()


@pytest.mark.parametrize("n_at_once", [1, 3, 700])
@pytest.mark.parametrize("every", [1, 7])
def test_stages_in_several_passes_visit_every_tree_once(
    monkeypatch: pytest.MonkeyPatch, n_at_once: int, every: int
) -> None:
    rng = np.random.default_rng(10)
    forest, X = random_forest(rng, [20] * 600), random_documents(rng, 30)
    counts = range(every, 601, every)
    visited: list[int] = []

    def counted(*arguments: Any) -> None:
        visited.append(len(arguments[_TREE_LEAVES]) - 1)
        score_documents(*arguments)

    monkeypatch.setattr(forest_scoring, "score_documents", counted)
    expected = staged_scores(forest, X, counts)
    visited.clear()
    for (n_trees, scores), count, stage in zip(
        scores_by_stage(forest, X, counts, n_at_once, 1), counts, expected, strict=True
    ):
        assert n_trees == count
        assert scores.tolist() == stage.tolist()
        scores[:] = np.nan
    assert sum(visited) == counts[-1]


@pytest.mark.parametrize("counts", [[], [-1], [4], [1, 1], [2, 1]])
def test_numbers_of_trees_must_rise_within_the_forest(counts: list[int]) -> None:
    forest = random_forest(np.random.default_rng(9), [5] * 3)
    with pytest.raises(SwaprankError, match="at most 3"):
        staged_scores(forest, np.zeros((2, 5), np.float32), counts)


@pytest.mark.slow
def test_sets_of_very_different_lengths_and_categories_up_to_the_largest_number() -> None:
    rng = np.random.default_rng(11)
    forest = random_forest(rng, [40] * 10, n_features=2, set_share=1)
    n_words = np.where(rng.random(390) < 0.02, MAX_WORDS, rng.integers(1, 40, 390)).astype(np.int32)
    words = rng.integers(2**32, size=n_words.sum(), dtype=np.uint32)
    forest = check_forest(replace(forest, n_words=n_words, words=words))
    codes = np.append(rng.integers(2**24, size=100), [0, 31, 32, 1247, 1248, 2**24 - 1, 2**24, 2**31])
    X = np.stack((codes, rng.permutation(codes)), axis=1).astype(np.float32)
    assert score(forest, X).tolist() == naive_scores(forest, X).tolist()


def test_documents_need_the_features_of_the_trees() -> None:
    with pytest.raises(DataError, match=r"3 features, but X has the shape \(2, 4\)"):
        score(single_leaf(0.5, 3, 1), np.zeros((2, 4), np.float32))


@pytest.mark.slow
def test_a_layout_lives_as_long_as_its_forest() -> None:
    forest = single_leaf(0.5, 3, 1)
    score(forest, np.zeros((1, 3), np.float32))
    assert forest in forest_scoring._layouts
    gc.collect()
    n_layouts = len(forest_scoring._layouts)
    del forest
    gc.collect()
    assert len(forest_scoring._layouts) == n_layouts - 1
