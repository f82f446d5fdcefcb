"""Refitted leaf values equal those of training, and those of a plain loop over documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from tests.models.random_forests import random_documents, random_forest, walk

OLD, NEW = sr.datasets.random_net((60, 30), n_features=5, n_documents=20, levels=4, random_state=3)
SMALL: dict[str, Any] = {"n_trees": 6, "n_leaves": 8}


def scattered(data: sr.Dataset, **columns: Any) -> sr.Dataset:
    """The same documents in another order of rows, in which the queries first appear in the same order."""
    lengths = np.diff(data.indptr)
    order = np.arange(len(data)).reshape(-1, lengths[0]).T.ravel()
    columns = {name: values[order] for name, values in columns.items()}
    return sr.Dataset(data.features[order], data.labels[order], qid=np.repeat(data.qids, lengths)[order], **columns)


@pytest.mark.parametrize(
    "ranker",
    [
        sr.LambdaMART("ndcg@10", **SMALL),
        sr.LambdaMART("map", **SMALL, l2=3.0, normalize=False, learning_rate=(0.3, 0.2, 0.05)),
        sr.LambdaMART("ndcg@10", **SMALL, feature_fraction=0.6, document_fraction=0.4, random_state=5),
        sr.LambdaMART("ndcg@10", n_trees=6, n_leaves=(9, 7), split="least_squares", hessian_floor=0.0),
        sr.MART(objective="logistic", **SMALL),
    ],
    ids=["lambda", "not normalized", "sampled splits", "paper", "pointwise"],
)
@pytest.mark.parametrize("given", [OLD, scattered(OLD)], ids=["grouped", "scattered"])
def test_on_the_training_data_leaf_values_do_not_change(ranker: Any, given: sr.Dataset) -> None:
    """Sampling changes only the splits, not the leaf values, unless whole queries are left out."""
    ranker.fit(given)
    again = ranker.refit(given, decay_rate=0.0)
    assert again.model_.leaf_value.tolist() == ranker.model_.leaf_value.tolist()
    assert len(set(again.model_.leaf_value.tolist())) > 20


def test_continued_training_and_base_scores_start_where_training_started() -> None:
    base = np.random.default_rng(0).normal(size=len(OLD))
    data = sr.Dataset(OLD.features, OLD.labels, qid=np.repeat(OLD.qids, np.diff(OLD.indptr)), base_score=base)
    first = sr.MART(**SMALL, learning_rate=0.5).fit(OLD)
    ranker = sr.LambdaMART(**SMALL, base_ranker=first).fit(data)
    assert ranker.n_trees_ == 12
    assert ranker.refit(data, decay_rate=0.0).model_.leaf_value.tolist() == ranker.model_.leaf_value.tolist()
    n_first = len(first.model_.leaf_value)
    elsewhere = ranker.refit(NEW).model_.leaf_value
    assert elsewhere[:n_first].tolist() == first.model_.leaf_value.tolist()
    assert (elsewhere[n_first:] != ranker.model_.leaf_value[n_first:]).mean() > 0.9


def naive_refit(ranker: Any, data: sr.Dataset, weights: Floats, decay: float) -> list[float]:
    """Leaf values for squared errors, whose Newton step is the weighted mean of what is left of the labels."""
    forest, found = ranker.model_, []
    scores = np.zeros(len(data))
    for tree in range(forest.n_trees):
        leaf_of = np.array([walk(forest, tree, x) for x in data.features])
        first, last = forest.tree_leaves[tree : tree + 2]
        for leaf, old in enumerate(forest.leaf_value[first:last]):
            inside = leaf_of == leaf
            rest = weights[inside] @ (data.labels - scores)[inside]
            new = ranker.learning_rate * rest / (weights[inside].sum() + ranker.l2) if inside.any() else old
            found.append(decay * old + (1 - decay) * new)
        scores = scores + np.array(found[first:last])[leaf_of]
    return found


@pytest.mark.parametrize("decay", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("rows", [slice(None), slice(0, 40)], ids=["all leaves", "empty leaves"])
def test_new_values_equal_a_loop_over_documents(decay: float, rows: slice) -> None:
    ranker = sr.MART(**SMALL, l2=0.5).fit(OLD)
    qid = np.repeat(NEW.qids, np.diff(NEW.indptr))[rows]
    weights = np.random.default_rng(1).integers(1, 4, len(qid)).astype(np.float64)
    data = sr.Dataset(NEW.features[rows], NEW.labels[rows], qid=qid, sample_weight=weights)
    again = ranker.refit(data, decay_rate=decay)
    expected = naive_refit(ranker, data, weights, decay)
    if rows.stop:
        assert len(np.unique(ranker.apply(data) + 100 * np.arange(6))) < len(expected)
    np.testing.assert_allclose(again.model_.leaf_value, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(ranker.refit(data.features, data.labels, qid=qid, sample_weight=weights,
                                               decay_rate=decay).predict(OLD), again.predict(OLD))  # fmt: skip


def test_trees_with_sets_of_categories() -> None:
    rng = np.random.default_rng(6)
    ranker = sr.MART(**SMALL, l2=0.5).fit(OLD)
    ranker.learned_ = replace(ranker.learned_, model=replace(random_forest(rng, [8] * 6), base_score=0.0))
    X = random_documents(rng, len(NEW))
    X[np.isinf(X)] = np.nan
    data = sr.Dataset(X, NEW.labels, qid=np.repeat(NEW.qids, np.diff(NEW.indptr)))
    assert ranker.apply(data).tolist() == [[walk(ranker.model_, tree, x) for tree in range(6)] for x in X]
    again = ranker.refit(data, decay_rate=0.3)
    expected = naive_refit(ranker, data, np.ones(len(X)), 0.3)
    np.testing.assert_allclose(again.model_.leaf_value, expected, rtol=1e-12, atol=1e-14)
    assert again.score(data) > ranker.score(data)


def test_only_the_values_of_a_new_ranker_change(tmp_path: Path) -> None:
    ranker = sr.LambdaMART(**SMALL, horizon=10, score_noise=0.0, leaf_smoothing=0.0).fit(OLD, valid=NEW)
    before = ranker.predict(OLD)
    again = ranker.refit(NEW, decay_rate=0.2)
    assert (ranker.predict(OLD) == before).all()
    assert again.get_params() == ranker.get_params()
    for name, array in ranker.model_.to_parts().arrays.items():
        assert (name == "leaf_value") != np.array_equal(again.model_.to_parts().arrays[name], array)
    assert again.score(NEW) > ranker.score(NEW)
    assert (ranker.history_ != {}, again.history_) == (True, {})
    again.save(tmp_path / "again.swaprank")
    np.testing.assert_array_equal(sr.load(tmp_path / "again.swaprank").predict(OLD), again.predict(OLD))
    loaded = sr.load(tmp_path / "again.swaprank").refit(OLD)
    np.testing.assert_array_equal(loaded.predict(NEW), again.refit(OLD).predict(NEW))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_values_do_not_depend_on_threads(n_threads: int) -> None:
    (large,) = sr.datasets.random_net((400,), n_features=5, n_documents=50, levels=4, random_state=4)
    ranker = sr.LambdaMART(**SMALL, n_threads=2).fit(OLD)
    expected = ranker.refit(large).model_.leaf_value
    assert ranker.set_params(n_threads=n_threads).refit(large).model_.leaf_value.tolist() == expected.tolist()


def test_wrong_arguments() -> None:
    ranker = sr.MART(**SMALL)
    with pytest.raises(Exception, match="has not been fitted"):
        ranker.refit(OLD)
    ranker.fit(OLD)
    with pytest.raises(sr.errors.ParameterError, match=r"decay_rate must be a number from 0 to 1; found 1\.5"):
        ranker.refit(OLD, decay_rate=1.5)
    with pytest.raises(sr.errors.DataError, match="5 features"):
        ranker.refit(sr.Dataset(OLD.features[:, :3], OLD.labels, qid=np.repeat(OLD.qids, np.diff(OLD.indptr))))
    with pytest.raises(sr.errors.DataError, match="one query id"):
        ranker.refit(OLD.features, OLD.labels)
