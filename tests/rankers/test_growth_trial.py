"""The data chooses how trees grow, in the same way for any threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import swaprank as sr


def interactions(n_queries: int, seed: int) -> sr.Dataset:
    """Documents near one of 500 points have its label: each point has its own cuts, and no cut is good for all."""
    points = np.random.default_rng(0)
    centers, grades = points.normal(size=(500, 30)), points.integers(0, 5, 500)
    rng = np.random.default_rng(seed)
    near = rng.integers(0, 500, 40 * n_queries)
    X = (centers[near] + rng.normal(size=(len(near), 30), scale=0.3)).astype(np.float32)
    return sr.Dataset(X, grades[near], group=[40] * n_queries)


def noisy(n_queries: int, seed: int) -> sr.Dataset:
    """Four features count a little, and the rest of a label is chance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20 * n_queries, 20)).astype(np.float32)
    labels = np.digitize(X[:, :4].sum(axis=1) + rng.normal(size=len(X), scale=4), [2, 5])
    return sr.Dataset(X, labels, group=[20] * n_queries)


@pytest.mark.parametrize("seed", range(2))
def test_many_interactions_are_learned_leafwise_and_noisy_data_by_symmetric_trees(seed: int) -> None:
    ranker = sr.LambdaMART(n_trees=50, random_state=seed)
    assert ranker.fit(interactions(300, seed)).chosen_["grow_policy"] == "leafwise"
    assert ranker.fit(noisy(50, seed)).chosen_["grow_policy"] == "symmetric"


def test_the_choice_is_the_better_one_and_only_a_choice() -> None:
    train, test = interactions(300, 0), interactions(80, 1)
    options: dict[str, Any] = {"n_trees": 50}
    chosen = sr.LambdaMART(**options).fit(train)
    given = {policy: sr.LambdaMART(grow_policy=policy, **options).fit(train) for policy in ("leafwise", "symmetric")}
    np.testing.assert_array_equal(chosen.predict(test), given["leafwise"].predict(test))
    assert given["leafwise"].score(test) > given["symmetric"].score(test)
    assert "grow_policy" not in given["leafwise"].chosen_


def test_the_choice_does_not_depend_on_threads_or_the_order_of_queries() -> None:
    data = interactions(300, 3)
    turned = data.subset(np.arange(data.n_queries)[::-1])
    models = [
        sr.LambdaMART(n_trees=50, n_threads=threads).fit(each).predict(data)
        for threads, each in ((1, data), (2, data), (2, turned))
    ]
    np.testing.assert_array_equal(models[0], models[1])
    assert sr.LambdaMART(n_trees=50).fit(turned).chosen_["grow_policy"] == "leafwise"


def test_training_that_is_continued_grows_as_before() -> None:
    data = interactions(300, 0)
    base = sr.LambdaMART(n_trees=50).fit(data)
    rest = sr.LambdaMART(n_trees=5, base_ranker=base).fit(data)
    assert base.chosen_["grow_policy"] == rest.chosen_["grow_policy"] == "leafwise"


def test_what_symmetric_trees_cannot_do_is_not_tried() -> None:
    data = interactions(30, 0)
    assert sr.LambdaMART(n_trees=3, monotone_constraints={"1": 1}).fit(data).chosen_["grow_policy"] == ("leafwise")
    assert "grow_policy" not in sr.MART(n_trees=3).fit(data).chosen_


def test_ties_by_document_id_need_no_ids() -> None:
    ranker = sr.LambdaMART("ndcg@10(ties=docid)", n_trees=20).fit(noisy(30, 0))
    assert ranker.chosen_["grow_policy"] in ("leafwise", "symmetric")


@pytest.mark.parametrize("n_queries", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_few_queries_are_enough(n_queries: int, seed: int) -> None:
    data = noisy(n_queries, seed)
    assert np.isfinite(sr.LambdaMART(n_trees=50, random_state=seed).fit(data).predict(data)).all()
