"""No prediction breaks a monotone constraint, whatever the data and the other parameters are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.models.forest import Forest
from swaprank.trees.constraints import bounded_values, broken_feature


def random_data(seed: int, n_queries: int = 30, n_features: int = 4) -> sr.Dataset:
    """Labels that rise and fall with the features, with noise and missing values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10 * n_queries, n_features)).astype(np.float32)
    if seed % 2:
        X = np.round(X, 1)
    slopes = rng.normal(size=n_features)
    signal = (X * slopes).sum(axis=1) + np.sin(3 * X[:, 0]) * X[:, 1] + rng.normal(size=len(X))
    X[rng.random(X.shape) < 0.05] = np.nan
    return sr.Dataset(X, np.digitize(signal, [0, 1, 2]), qid=np.arange(len(X)) // 10)


def check(ranker: Any, directions: list[int], seed: int) -> None:
    """Predictions along each constrained feature, for random values of the others, some of them missing."""
    rng = np.random.default_rng(seed)
    grid = np.sort(np.concatenate((np.linspace(-4, 4, 121), rng.normal(size=80)))).astype(np.float32)
    for feature, direction in enumerate(directions):
        if direction == 0:
            continue
        others = rng.normal(size=(12, len(directions))).astype(np.float32)
        others[rng.random(others.shape) < 0.1] = np.nan
        X = np.repeat(others, len(grid), axis=0)
        X[:, feature] = np.tile(grid, 12)
        scores = ranker.predict(X).reshape(12, -1)
        assert (direction * np.diff(scores, axis=1) >= 0).all()
    assert broken_feature(ranker.model_, np.array(directions)) is None


@pytest.mark.slow
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    directions=st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4).filter(any),
    kind=st.sampled_from([sr.LambdaMART, sr.MART]),
    parameters=st.fixed_dictionaries(
        {
            "n_trees": st.integers(1, 12),
            "n_leaves": st.sampled_from([2, 5, 31]),
            "learning_rate": st.sampled_from([0.1, 1.0, (0.5, 0.01)]),
            "min_docs_in_leaf": st.sampled_from([1, 5, 20]),
            "l2": st.sampled_from([0.0, 1.0]),
            "max_bins": st.sampled_from([5, 255]),
            "max_depth": st.sampled_from([None, 2]),
            "feature_fraction": st.sampled_from([0.5, 1.0]),
            "query_fraction": st.sampled_from([0.4, 1.0]),
            "document_fraction": st.sampled_from([0.3, 1.0]),
        }
    ),
    then=st.sampled_from(["", "continue", "refit", "continue and refit"]),
)
def test_no_prediction_breaks_a_constraint(
    seed: int, directions: list[int], kind: Any, parameters: dict[str, Any], then: str
) -> None:
    data, other = random_data(seed), random_data(seed + 1)
    by_name = {data.feature_names[f]: direction for f, direction in enumerate(directions) if direction}
    ranker = kind(**parameters, monotone_constraints=directions, random_state=seed, n_threads=2).fit(data)
    if "continue" in then:
        ranker = sr.MART(**parameters, monotone_constraints=by_name, base_ranker=ranker).fit(other)
    if "refit" in then:
        ranker = ranker.refit(other, decay_rate=0.3)
    check(ranker, directions, seed)


def leaves_below(forest: Forest, child: int) -> list[int]:
    if child < 0:
        return [~child]
    return [leaf for side in (forest.left, forest.right) for leaf in leaves_below(forest, int(side[child]))]


@pytest.mark.parametrize("seed", range(20))
def test_bounded_values_are_on_their_side_of_every_node(seed: int) -> None:
    rng = np.random.default_rng(seed)
    forest = sr.MART(n_trees=1, n_leaves=12, min_docs_in_leaf=1).fit(random_data(seed)).model_
    direction, weights = rng.integers(-1, 2, len(forest.feature)), rng.random(12) * (rng.random(12) < 0.8)
    values = rng.normal(size=12)
    found = bounded_values(forest.left, forest.right, direction, values, weights)
    for node, sign in enumerate(direction):
        sides: list[Floats] = [found[leaves_below(forest, int(child[node]))] for child in (forest.left, forest.right)]
        if sign:
            below, above = sides if sign > 0 else sides[::-1]
            assert below.max() <= above.min()
    assert (bounded_values(forest.left, forest.right, 0 * direction, values, weights) == values).all()


def test_the_direction_is_learned_if_it_is_right_and_not_used_if_it_is_wrong() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2)).astype(np.float32)
    y, qid = np.digitize(X[:, 0] + 0.5 * rng.normal(size=2000), [0, 1]), np.arange(2000) // 20
    free = sr.LambdaMART(n_trees=20).fit(X, y, qid=qid)
    right = sr.LambdaMART(n_trees=20, monotone_constraints=[1, 0]).fit(X, y, qid=qid)
    wrong = sr.LambdaMART(n_trees=20, monotone_constraints=[-1, 0]).fit(X, y, qid=qid)
    assert right.score(X, y, qid=qid) > free.score(X, y, qid=qid) - 0.05 > wrong.score(X, y, qid=qid)
    assert wrong.importances()["1"] < 0.05 * right.importances()["1"]


def test_refitted_to_the_training_data_values_do_not_change() -> None:
    data = random_data(3)
    ranker = sr.LambdaMART(n_trees=8, n_leaves=8, monotone_constraints=[1, -1, 0, 1]).fit(data)
    assert ranker.refit(data, decay_rate=0.0).model_.leaf_value.tolist() == ranker.model_.leaf_value.tolist()


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_do_not_change_the_trees(n_threads: int) -> None:
    data = random_data(4, n_features=40)
    models = [
        sr.LambdaMART(n_trees=5, monotone_constraints={"1": 1, "3": -1}, n_threads=threads).fit(data).model_
        for threads in (1, n_threads)
    ]
    assert models[0].leaf_value.tolist() == models[1].leaf_value.tolist()
    assert models[0].threshold.tolist() == models[1].threshold.tolist()
