"""The share of given pairs in the right order: against a loop over the pairs, and as the watched metric."""

import pickle
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.collective import Collective
from swaprank.metrics.metric import bind_metric
from swaprank.objectives import RankNetObjective
from tests.workers import run_workers


def share_in_order(pairs: Any, scores: Floats) -> float | None:
    """Pair by pair, as it is said; None if no pair counts."""
    right = total = 0.0
    for i, j, p, weight in pairs:
        if p == 0.5 or weight == 0:
            continue
        total += weight
        if scores[i] == scores[j]:
            right += weight / 2
        elif (scores[i] > scores[j]) == (p > 0.5):
            right += weight
    return right / total if total else None


def random_pairs(seed: int, n_queries: int = 8, **options: Any) -> sr.Dataset:
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(n_queries), rng.integers(2, 9, n_queries)))
    pairs = [
        (
            *rng.choice(np.flatnonzero(qid == query), 2, replace=False),
            rng.choice([0, 0.2, 0.5, 0.9, 1]),
            rng.integers(4),
        )
        for query in range(1, n_queries)  # query 0 has none
        for _ in range(rng.integers(1, 12))
    ]
    X = rng.normal(size=(len(qid), 3))
    return sr.Dataset(X, np.zeros(len(qid)), qid=qid, pairs=pairs, **options)


@pytest.mark.parametrize("seed", range(20))
def test_the_share_equals_a_loop_over_the_pairs(seed: int) -> None:
    data = random_pairs(seed)
    scores = np.random.default_rng(seed).integers(0, 4, len(data)).astype(float)  # with ties
    scores[0] = np.inf
    found = sr.evaluate(data, scores, ["pairs", "ndcg@10"])["pairs"]
    assert data.pairs is not None
    table = list(zip(*data.pairs, strict=True))
    for query, value in enumerate(found.per_query.tolist()):
        rows = set(data.rows(query).tolist())
        expected = share_in_order([pair for pair in table if pair[0] in rows], scores)
        assert np.isnan(value) if expected is None else value == pytest.approx(expected, abs=1e-12)
    bound = pickle.loads(pickle.dumps(bind_metric(sr.metric("pairs"), data)))
    assert bound.mean(data.by_query(scores)) == pytest.approx(found.mean, abs=1e-12)


def test_a_query_without_pairs_can_count_too() -> None:
    data = sr.Dataset([[1]] * 4, [0] * 4, qid=[1, 1, 2, 2], pairs=[(0, 1)])
    values = [
        sr.evaluate(data, [2, 1, 0, 0], name).results[0] for name in ("pairs", "pairs(empty=0)", "pairs(empty=1)")
    ]
    assert [each.mean for each in values] == [1.0, 0.5, 1.0]
    assert [each.n_without_relevant for each in values] == [1, 1, 1]
    assert str(sr.metric("pairs", "trec")) == "pairs"  # there are no other ways to treat ties


def test_data_without_pairs_is_an_error() -> None:
    data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    with pytest.raises(sr.errors.DataError, match=r"pairs compares scores with given pairs, .*, and here are none"):
        sr.evaluate(data, [1, 2], "pairs")
    with pytest.raises(sr.errors.MetricError, match="pairs has no swap gains: it compares given pairs, not labels"):
        sr.metric("pairs").swap_gains([1, 0])


def test_nothing_but_ranknet_learns_from_given_pairs() -> None:
    data = random_pairs(0)
    with pytest.raises(sr.errors.ParameterError, match="pairs has no swap gains: given pairs are learned with RankNet"):
        sr.LambdaMART(metric="pairs", n_trees=1).fit(data)
    with pytest.raises(sr.errors.MetricError, match="pairs has no sweep over the orders"):
        sr.baselines.CoordinateAscent(metric="pairs").fit(data)
    with pytest.raises(sr.errors.MetricError, match="pairs cannot be smoothed: it is not made of gains at ranks"):
        sr.SmoothRank("pairs").fit(data)
    with pytest.raises(sr.errors.MetricError, match=r"SoftRank takes sums of discounted gains, .*; found pairs"):
        sr.baselines.SoftRank("pairs", n_epochs=1).fit(data)
    with pytest.raises(sr.errors.MetricError, match="pairs has no gains of documents: choose a metric of labels, or t"):
        sr.LinearRegressionRanker("pairs").fit(data)
    ranker = sr.LinearRegressionRanker("pairs", target="labels", regularization=1.0).fit(data)
    assert np.isfinite(ranker.predict(data)).all()


@pytest.mark.parametrize("ranker", [sr.RankNet(n_epochs=1), sr.baselines.KernelRankNet(regularization=0.1)])
def test_pairs_that_weigh_nothing_teach_nothing(ranker: Any) -> None:
    data = sr.Dataset([[1], [2], [3], [4]], [0, 1, 0, 1], qid=[1, 1, 2, 2], pairs=[(1, 0, 1, 0), (3, 2, 1, 1)])
    ranker.fit(data)
    for nothing in (data.subset([0]), data.replace(pairs=[(1, 0, 1, 0)]), data.replace(pairs=[])):
        with pytest.raises(sr.errors.DataError, match="no given pair has a weight above 0: there is nothing to learn"):
            ranker.fit(nothing)
    trees = sr.LambdaMART(objective=sr.objectives.RankNetObjective(), n_trees=1)
    with pytest.raises(sr.errors.DataError, match="there is nothing to learn from"):
        trees.fit(data.subset([0]))
    assert np.isnan(sr.evaluate(data.subset([0]), [1, 2], "pairs").results[0].mean)


def test_the_pairs_of_one_worker_may_weigh_nothing() -> None:
    data = sr.Dataset([[1], [2], [3], [4]], [0, 1, 0, 1], qid=[1, 1, 2, 2], pairs=[(1, 0, 1, 0), (3, 2, 1, 1)])

    def bind(collective: Collective) -> Any:
        share = data.subset([collective.rank])
        return RankNetObjective().bind_share(share, random_state=0, n_threads=1, collective=collective)

    assert len(run_workers(bind, 2)) == 2


def from_first_feature(n_queries: int, seed: int) -> sr.Dataset:
    """Pairs in the order of the first feature, with some noise; labels say nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10 * n_queries, 4)).astype(np.float32)
    above = rng.integers(0, 10, 20 * n_queries)
    below = (above + rng.integers(1, 10, len(above))) % 10
    start = 10 * np.repeat(np.arange(n_queries), 20)
    probability = 1 / (1 + np.exp(-3 * (X[start + above, 0] - X[start + below, 0]) + rng.normal(size=len(above))))
    pairs = np.column_stack((start + above, start + below, probability, rng.uniform(0.5, 2, len(above))))
    return sr.Dataset(X, np.ones(len(X)), qid=np.repeat(np.arange(n_queries), 10), pairs=pairs)


@pytest.mark.parametrize(
    "ranker",
    [
        sr.RankNet(hidden=(10,), n_epochs=12, learning_rate=0.3),
        sr.RankNet(hidden=(10,), n_epochs=6, learning_rate=0.1, training="pairs"),
        sr.LambdaMART(objective=sr.objectives.RankNetObjective(), n_trees=30, min_docs_in_leaf=5, learning_rate=0.5),
    ],
)
def test_the_best_round_on_the_pairs_of_a_validation_set_is_kept(ranker: Any) -> None:
    train, vali = from_first_feature(8, 0), from_first_feature(8, 1)
    ranker.fit(train, valid=vali)
    history = ranker.history_["valid"]
    assert list(history) == ["pairs", "ndcg@10"]
    assert ranker.best_round_ == 1 + int(np.argmax(history["pairs"]))
    kept = sr.evaluate(vali, ranker.predict(vali), "pairs").results[0].mean
    assert kept == pytest.approx(max(history["pairs"]), abs=1e-12)
    assert kept > 0.8
    assert len(set(history["ndcg@10"])) == 1
    early = type(ranker)(**{**ranker.get_params(), "early_stopping_rounds": 1}).fit(train, valid=vali)
    assert early.n_rounds_ <= ranker.n_rounds_


def test_labels_that_differ_are_watched_as_ever() -> None:
    train, vali = from_first_feature(5, 0), from_first_feature(5, 1)
    judged = vali.replace(labels=vali.features[:, 0] > 0)
    ranker = sr.RankNet(hidden=(), n_epochs=3).fit(train, valid=judged)
    assert list(ranker.history_["valid"]) == ["ndcg@10"]
    ranker = sr.RankNet("pairs", hidden=(), n_epochs=3).fit(train, valid=judged)
    assert list(ranker.history_["valid"]) == ["pairs"]
    assert ranker.score(vali) == pytest.approx(sr.evaluate(vali, ranker.predict(vali), "pairs").results[0].mean)


def test_pairs_with_options_of_their_own_are_watched_once() -> None:
    train, vali = from_first_feature(5, 0), from_first_feature(5, 1)
    ranker = sr.RankNet(hidden=(), n_epochs=3).fit(train, valid=vali, metrics=["ndcg@10", "pairs(empty=0)"])
    assert list(ranker.history_["valid"]) == ["pairs(empty=0)", "ndcg@10"]
    assert ranker.best_round_ == 1 + int(np.argmax(ranker.history_["valid"]["pairs(empty=0)"]))


def test_folds_and_a_watched_set_choose_by_one_metric() -> None:
    vali = from_first_feature(8, 1)
    train = from_first_feature(8, 0)
    train = train.replace(labels=train.features[:, 0] > 0, pairs=None)
    short: dict[str, Any] = {"regularization": (1.0, 0.01), "annealing": (4.0, 1.0), "max_iterations": 3}
    message = "the watched set is measured by pairs, the folds by ndcg@50: give average=False and no n_folds, or labels"
    with pytest.raises(sr.errors.DataError, match=message):
        sr.SmoothRank(**short).fit(train, valid=vali)
    ranker = sr.SmoothRank(**short, average=False).fit(train, valid=vali)
    assert max(ranker.candidates_.values()) == pytest.approx(ranker.history_["valid"]["pairs"][-1])
    assert sr.SmoothRank(**(short | {"regularization": 1.0})).fit(train, valid=vali).score(train) > 0.7
    with pytest.raises(sr.errors.DataError, match="by pairs, the folds by ndcg@10: give no n_folds, or labels to the"):
        sr.LinearRegressionRanker(n_folds=3).fit(train, valid=vali)
    regression = sr.LinearRegressionRanker().fit(train, valid=vali)
    assert max(regression.candidates_.values()) == pytest.approx(regression.history_["valid"]["pairs"][0])
