"""RankProp: its targets, that right orders are left alone, and that labels count by their order only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swaprank as sr
from swaprank.objectives.pointwise import RankPropObjective, rankprop_targets

TRAIN, VALI, TEST = sr.datasets.random_net((60, 30, 30), n_features=6, n_documents=10, levels=4, random_state=0)
QID = np.repeat(np.arange(60), 10)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-9, 9)), min_size=1, max_size=30))
def test_targets_are_evenly_spaced_by_label_then_score(documents: list[tuple[int, float]]) -> None:
    labels, scores = (np.array(values, dtype=np.float64) for values in zip(*documents, strict=True))
    targets = rankprop_targets(labels, scores)
    n = len(targets)
    assert sorted(targets) == pytest.approx([k / (n - 1) - 0.5 for k in range(n)] if n > 1 else [-0.5])
    for i in range(n):
        # The number of documents that are certainly below, and of those that may be.
        below = sum(document < documents[i] for document in documents)
        ties = sum(document == documents[i] for document in documents)
        assert below - 0.5 < (targets[i] + 0.5) * (n - 1) < below + ties - 0.5


def test_a_net_that_ranks_right_is_not_pushed_to_another_order() -> None:
    # No gradient for scores that are the targets already; one that keeps the order for others in the right order.
    data = sr.Dataset(np.zeros((20, 1)), np.repeat([0, 1, 2, 3], 5), qid=np.arange(20) % 4)
    bound, grad, hess = RankPropObjective().bind(data, random_state=0, n_threads=1), np.empty(20), np.empty(20)
    labels, rng = np.array(data.by_query(data.labels)), np.random.default_rng(0)
    right = rankprop_targets(labels, rng.normal(size=20))
    bound.update(right, grad, hess)
    np.testing.assert_allclose(grad, 0, atol=1e-15)
    stretched = np.sign(right) * right**2
    bound.update(stretched, grad, hess)
    assert np.abs(grad).max() > 0.1
    np.testing.assert_array_equal(np.argsort(stretched - 0.9 * grad), np.argsort(stretched))
    # Regression on labels pulls the same right order of equal labels together.
    sr.objectives.PointwiseObjective().bind(data, random_state=0, n_threads=1).update(right, grad, hess)
    assert np.ptp(right[labels == 2]) > 0
    np.testing.assert_allclose((right - grad)[labels == 2], 2)


def test_targets_are_taken_anew_before_every_epoch() -> None:
    data = sr.Dataset(TRAIN.features, TRAIN.labels, qid=QID, base_score=np.random.default_rng(0).normal(size=600))
    bound = RankPropObjective().bind(data, random_state=0, n_threads=1)
    ranker = sr.baselines.RankProp(hidden=(), n_epochs=1, decay=1.0).fit(data)
    trainer = ranker._trainer(data, ranker.model_, 0, decays=False)
    trainer.bound.begin_epoch(trainer._current_scores)
    bound.begin_epoch(lambda n_threads: ranker.predict(data))
    np.testing.assert_array_equal(trainer.objective.labels, bound.kernel_arrays().labels)
    trainer.epoch(1)
    before = trainer.objective.labels.copy()
    trainer.epoch(2)
    assert (trainer.objective.labels != before).any()


def test_labels_count_by_their_order_only() -> None:
    cubed = sr.Dataset(TRAIN.features, TRAIN.labels**3 - 5, qid=QID)
    one, other = (sr.baselines.RankProp(hidden=(3,), n_epochs=3, decay=1.0).fit(data) for data in (TRAIN, cubed))
    np.testing.assert_array_equal(one.model_.weights, other.model_.weights)


def test_it_learns_the_order_of_labels_that_are_not_linear_where_regression_does_not() -> None:
    # The labels are 4^grade, and the grade says how large x + y is: the few highest ones dominate squared errors.
    rng = np.random.default_rng(0)
    X = rng.uniform(0, (3, 1), (2000, 2))
    total = X.sum(axis=1)
    grades = np.searchsorted(np.quantile(total, [0.3, 0.6, 0.8, 0.9, 0.97]), total)
    data = sr.Dataset(X, 4.0**grades, qid=np.arange(2000) // 20)
    moving = sr.baselines.RankProp(hidden=(), metric="pairwise", n_epochs=30).fit(data).score(data)
    regression = sr.LinearRegressionRanker(target="labels", metric="pairwise", regularization=0).fit(data).score(data)
    assert moving > 0.995
    assert regression < 0.98


def test_it_is_a_ranker_like_the_others(tmp_path: Path) -> None:
    ranker = sr.baselines.RankProp(hidden=(5,), n_epochs=30, learning_rate=0.01, n_threads=1).fit(TRAIN, valid=VALI)
    assert ranker.score(VALI) == max(ranker.history_["valid"]["ndcg@10"])
    assert ranker.score(TEST) > 0.8
    ranker.save(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(sr.load(tmp_path / "model.swaprank").predict(TEST), ranker.predict(TEST))
    again = sr.baselines.RankProp(hidden=(5,), n_epochs=30, learning_rate=0.01, n_threads=3).fit(TRAIN, valid=VALI)
    np.testing.assert_array_equal(again.predict(TEST), ranker.predict(TEST))
    more = sr.baselines.RankProp(hidden=(5,), n_epochs=2).fit(TRAIN, base_ranker=ranker.set_params(n_threads=None))
    assert more.n_rounds_ == 2
    ranker.partial_fit(TRAIN)
    assert ranker.n_rounds_ == 31
