"""Rankers are trained with the bias that moves tell, or learned together with it: near the truth, and never worse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.clicks.learning.click_training import bias_given_scores
from swaprank.clicks.logs.click_counts import count_rows
from swaprank.data.dense_features import DenseFeatures
from tests.clicks.click_worlds import judged

pytestmark = pytest.mark.slow

METRIC = "dcg@10(gain=linear)"


@pytest.fixture(scope="module")
def train_data() -> sr.Dataset:
    return judged(150, seed=1)


def found_bias(log: sr.clicks.ClickLog, scores: Floats) -> Floats:
    counts, _ = count_rows(log.document, log.position, log.click, log.session, log.n_sessions)
    squares = np.bincount(log.document, log.click**2).astype(np.float64)
    return bias_given_scores(counts, squares, scores, np.ones(10))


@pytest.mark.parametrize("moves", [0.0, 0.5])
def test_scores_that_know_relevance_tell_the_position_bias(train_data: sr.Dataset, moves: float) -> None:
    log, truth = sr.datasets.clicks(train_data, train_data.column("match"), 60_000, moves=moves, random_state=0)
    found = found_bias(log, truth.relevance)
    np.testing.assert_allclose(found, truth.propensities.examination, rtol=0.1)


def test_documents_that_move_tell_it_whatever_the_scores(train_data: sr.Dataset) -> None:
    log, truth = sr.datasets.clicks(train_data, train_data.column("match"), 200_000, moves=1.0, random_state=0)
    nonsense = np.random.default_rng(0).random(log.n_pairs)
    found = found_bias(log, nonsense)
    np.testing.assert_allclose(found, truth.propensities.examination, rtol=0.1)


@pytest.mark.parametrize("moves", [0.0, 0.5])
def test_one_call_finds_the_bias_and_trains(train_data: sr.Dataset, moves: float) -> None:
    log, truth = sr.datasets.clicks(train_data, train_data.column("match"), 60_000, moves=moves, random_state=0)
    test = judged(100, seed=2)

    def quality(ranker: sr.Ranker) -> float:
        return sr.evaluate(test, ranker.predict(test), "ndcg@10")["ndcg@10"].mean

    settings: dict[str, Any] = {"n_trees": 40, "n_leaves": 15, "n_threads": 1}
    naive = sr.LambdaMART(METRIC, **settings).fit(sr.clicks.unbiased(log, sr.clicks.Propensities(np.ones(10))))
    known = sr.clicks.train(sr.LambdaMART(METRIC, **settings), log, truth.propensities).ranker
    joint = sr.clicks.train(sr.LambdaMART(METRIC, **settings), log)
    assert quality(joint.ranker) > quality(naive) + 0.6 * (quality(known) - quality(naive))
    ratio = joint.propensities.examination / truth.propensities.examination
    assert 0.8 < ratio.min() <= ratio.max() < 1.35
    how = "together with LambdaMART" if moves == 0 else "documents that changed places, shrunk toward no bias"
    assert how in str(joint.propensities)


@pytest.mark.parametrize("make", [sr.LambdaRank, sr.SmoothRank, sr.LinearRegressionRanker, sr.RankNet])
def test_all_kinds_of_rankers_learn_from_clicks(train_data: sr.Dataset, make: Callable[..., sr.Ranker]) -> None:
    log, truth = sr.datasets.clicks(train_data, train_data.column("match"), 5000, moves=0.5, random_state=0)
    ranker: Any = make(metric=METRIC)
    for name, value in (("n_epochs", 3), ("n_threads", 1)):
        if name in ranker.get_params():
            ranker.set_params(**{name: value})
    sr.clicks.train(ranker, log, truth.propensities)
    better = sr.clicks.compare(
        log, {"shown": train_data.column("spam"), "learned": ranker.predict(train_data)}, data=train_data
    )
    assert better.differences[0].difference > 0


def test_early_stopping_watches_held_out_sessions(train_data: sr.Dataset) -> None:
    log, truth = sr.datasets.clicks(train_data, train_data.column("match"), 5000, moves=0.5, random_state=0)
    learn, hold = log.split((0.7, 0.3), random_state=0, by="queries")
    ranker = sr.LambdaMART(METRIC, n_trees=100, early_stopping_rounds=5)
    sr.clicks.train(ranker, learn, truth.propensities, valid=hold)
    watched = ranker.history_["valid"][METRIC]
    assert ranker.best_round_ == 1 + int(np.argmax(watched))
    assert ranker.n_rounds_ < 100
    # What is watched is the offline estimate of the same metric, but for the cut at 0 and 1, and weights of queries.
    estimate = sr.clicks.evaluate(hold, ranker, METRIC, propensities=truth.propensities)[METRIC]
    assert estimate.mean == pytest.approx(max(watched), rel=0.25)


def test_rounds_share_bins_and_give_the_models_of_values(
    train_data: sr.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, _ = sr.datasets.clicks(train_data, train_data.column("match"), 5_000, moves=0, random_state=0)
    ranker = sr.LambdaMART(METRIC, n_trees=5, n_leaves=7, max_bins=31, n_threads=1)
    first = sr.clicks.train(ranker, log, n_rounds=1).propensities
    second = sr.clicks.train(ranker, log, sr.clicks.Propensities(first.examination)).ranker.predict(train_data)
    times, find_cuts = [0], DenseFeatures.find_cuts

    def counted(*arguments: Any) -> Any:
        times[0] += 1
        return find_cuts(*arguments)

    monkeypatch.setattr(DenseFeatures, "find_cuts", counted)
    np.testing.assert_array_equal(sr.clicks.train(ranker, log, n_rounds=2).ranker.predict(train_data), second)
    assert times == [1]


def test_rounds_may_start_from_trees_with_other_cuts(train_data: sr.Dataset) -> None:
    log, _ = sr.datasets.clicks(train_data, train_data.column("match"), 2_000, moves=0, random_state=0)
    base = sr.MART(n_trees=3).fit(judged(20, seed=3))
    trained = sr.clicks.train(sr.LambdaMART(METRIC, n_trees=2, base_ranker=base), log, n_rounds=2)
    assert trained.ranker.model_.describe() == "5 trees"


@pytest.mark.parametrize("metric", ["ndcg@10", "map", "err@5", "p@5"])
def test_metrics_that_do_not_add_up_relevance_are_refused(train_data: sr.Dataset, metric: str) -> None:
    log, truth = sr.datasets.clicks(train_data, train_data.column("match"), 50, random_state=0)
    with pytest.raises(sr.errors.MetricError, match=r"write metric='dcg.*\(gain=linear\)'"):
        sr.clicks.train(sr.LambdaMART(metric), log, truth.propensities)


def test_bad_rounds_are_refused(train_data: sr.Dataset) -> None:
    log, _ = sr.datasets.clicks(train_data, train_data.column("match"), 50, random_state=0)
    with pytest.raises(sr.errors.ParameterError, match="n_rounds"):
        sr.clicks.train(sr.LambdaMART(METRIC), log, n_rounds=0)
