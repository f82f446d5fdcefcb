"""Tables of answers give the scores of a plain walk down the trees, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.models import forest_scoring
from swaprank.models.answer_tables import answer_tables, score_by_answers
from swaprank.models.forest import Forest
from swaprank.models.forest_scoring import score, staged_scores
from tests.models.random_forests import naive_scores, random_documents, random_forest


@settings(deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.lists(st.one_of(st.integers(1, 5), st.just(60)), max_size=9),
    n_documents=st.integers(5, 130),
)
def test_scores_equal_the_walk_down_the_trees(seed: int, n_leaves: list[int], n_documents: int) -> None:
    rng = np.random.default_rng(seed)
    # Two features, three thresholds and a side of missing values: large trees ask the same questions again and again.
    forest = random_forest(rng, n_leaves, n_features=2, n_values=2, set_share=0)
    X = random_documents(rng, n_documents, n_features=2, n_values=2)
    assert answer_tables(forest) is not None
    assert score(forest, X).tolist() == naive_scores(forest, X).tolist()


@pytest.mark.parametrize(
    ("forest", "has_tables"),
    [
        (random_forest(np.random.default_rng(0), [6] * 4, n_features=99, set_share=0), True),
        (random_forest(np.random.default_rng(0), [10] * 4, n_features=99, set_share=0), False),
        (random_forest(np.random.default_rng(0), [3, 40], n_features=99, set_share=0), False),
        (random_forest(np.random.default_rng(0), [3] * 4, set_share=1), False),
        (random_forest(np.random.default_rng(0), []), True),
    ],
)
def test_trees_that_ask_few_questions_have_tables(forest: Forest, has_tables: bool) -> None:
    tables = answer_tables(forest)
    assert (tables is not None) == has_tables
    X = random_documents(np.random.default_rng(1), 20, n_features=forest.n_features)
    assert score(forest, X).tolist() == naive_scores(forest, X).tolist()


def test_tables_are_not_much_larger_than_the_trees() -> None:
    rng = np.random.default_rng(2)
    tables = answer_tables(random_forest(rng, [6] * 9, n_features=500, set_share=0))
    assert tables is not None
    assert len(tables[1].values) == 9 * 2**5
    # Eight questions are few enough, but the answers have 256 values, for nine leaves.
    assert answer_tables(random_forest(rng, [9] * 9, n_features=500, set_share=0)) is None


def test_the_trees_that_we_grow_symmetric_have_tables() -> None:
    train, test = sr.datasets.random_search((40, 10), random_state=0)
    model = sr.MART(n_trees=8, grow_policy="symmetric").fit(train).model_
    assert isinstance(model, Forest)
    assert forest_scoring._layout_of(model).kernel is score_by_answers
    X = test.features[:90]
    assert score(model, X).tolist() == naive_scores(model, X).tolist()


@pytest.mark.parametrize("counts", [[0], [0, 1, 30], [3, 29], [30]])
def test_stages_are_scores_of_the_first_trees(counts: list[int]) -> None:
    rng = np.random.default_rng(3)
    forest, X = random_forest(rng, [4] * 30, set_share=0), random_documents(rng, 70)
    for n_trees, stage in zip(counts, staged_scores(forest, X, counts), strict=True):
        assert stage.tolist() == naive_scores(forest, X, n_trees).tolist()


def test_scores_do_not_depend_on_threads_or_batches() -> None:
    rng = np.random.default_rng(4)
    forest, X = random_forest(rng, [5] * 300, set_share=0), random_documents(rng, 3000)
    assert answer_tables(forest) is not None
    scores = score(forest, X, n_threads=1)
    assert (score(forest, X, n_threads=3) == scores).all()
    assert (np.concatenate([score(forest, part) for part in np.array_split(X, 700)]) == scores).all()
