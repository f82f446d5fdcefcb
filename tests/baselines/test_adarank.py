"""AdaRank: the choice of features by brute force, the weights of queries, and the published bound, round by round."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.metrics.metric import bind_metric
from tests.rankers.smoothrank_data import TEST, TRAIN, VALI, qid_of

DATA = TRAIN.subset(range(25))
ROUNDS = 6


def values(metric: str, scores: Floats, data: sr.Dataset = DATA) -> Floats:
    return bind_metric(sr.metric(metric), data).per_query(scores)


def weak_rankers(data: sr.Dataset) -> Floats:
    """All features up and down, standardized."""
    X = data.features.astype(float)
    X = X / X.std(axis=0)
    return np.concatenate((X, -X), axis=1).T


@pytest.mark.parametrize("metric", ["ndcg@5", "map", "err", "pairwise"])
def test_every_round_is_the_published_one_and_the_bound_holds(metric: str) -> None:
    candidates = weak_rankers(DATA)
    alone = np.array([values(metric, each) for each in candidates])
    f, E, bound = np.zeros(len(DATA)), np.zeros(DATA.n_queries), 1.0
    last = -np.inf
    for t in range(1, ROUNDS + 1):
        ranker = sr.baselines.AdaRank(metric, n_rounds=t).fit(DATA)
        P = np.exp(-E) / np.exp(-E).sum()
        phi = alone @ P
        # The best weak ranker that raises the metric, by brute force.
        order = np.argsort(-phi, kind="stable")
        after = {
            k: values(metric, f + 0.5 * np.log((P @ (1 + alone[k])) / (P @ (1 - alone[k]))) * candidates[k])
            for k in order
        }
        chosen = next((k for k in order if after[k].mean() > last + 1e-9), None)
        if chosen is None:
            assert ranker.n_rounds_ == t - 1
            break
        assert ranker.n_rounds_ == t
        alpha = 0.5 * np.log((1 + phi[chosen]) / (1 - phi[chosen]))
        f = f + alpha * candidates[chosen]
        scores = ranker.predict(DATA)
        np.testing.assert_allclose(scores - scores.mean(), f - f.mean(), atol=1e-4)
        # Theorem 1: mean E >= 1 - product of exp(-least delta) sqrt(1 - phi²).
        delta = after[chosen] - E - alpha * alone[chosen]
        bound *= np.exp(-delta.min()) * np.sqrt(1 - phi[chosen] ** 2)
        E = after[chosen]
        assert E.mean() >= 1 - bound - 1e-12
        assert E.mean() > last
        last = float(E.mean())


def test_training_ends_when_nothing_raises_the_metric() -> None:
    ranker = sr.baselines.AdaRank("map", n_rounds=10_000).fit(DATA, valid={"train": DATA, "vali": VALI})
    history = ranker.history_["train"]["map"]
    assert 1 < ranker.n_rounds_ == len(history) < 1000
    assert (np.diff(history) > 0).all()
    assert ranker.best_round_ == int(np.argmax(ranker.history_["vali"]["map"])) + 1


def test_a_feature_that_is_perfect_is_enough() -> None:
    X = np.column_stack([TRAIN.labels, np.random.default_rng(0).normal(size=len(TRAIN))])
    ranker = sr.baselines.AdaRank("ndcg").fit(X, TRAIN.labels, qid=qid_of(TRAIN))
    assert ranker.n_rounds_ == 1
    assert ranker.coef_[1] == 0
    down = sr.baselines.AdaRank("ndcg").fit(-X, TRAIN.labels, qid=qid_of(TRAIN))
    np.testing.assert_allclose(down.coef_, -ranker.coef_)


def test_the_weight_of_a_query_is_how_often_it_is_there() -> None:
    part = DATA.subset(range(6))
    rows = np.concatenate([np.arange(len(part)), part.rows(1)])
    qid = np.concatenate([qid_of(part), np.full(len(part.rows(1)), 99)])
    weighted = sr.Dataset(part.features, part.labels, qid=qid_of(part), query_weight=[1, 2, 1, 1, 1, 1])
    ranker = sr.baselines.AdaRank("map", standardize=False)
    repeated = ranker.fit(part.features[rows], part.labels[rows], qid=qid).coef_
    np.testing.assert_allclose(ranker.fit(weighted).coef_, repeated, rtol=1e-9, atol=1e-12)


def test_a_base_ranker_is_where_it_begins_and_models_are_saved(tmp_path: Path) -> None:
    ranker = sr.baselines.AdaRank("map").fit(TRAIN)
    again = sr.baselines.AdaRank("map").fit(TRAIN, base_ranker=ranker)
    assert again.n_rounds_ == 0
    np.testing.assert_allclose(again.coef_, ranker.coef_)
    base = sr.baselines.RankSVM().fit(TRAIN)
    better = sr.baselines.AdaRank("map").fit(TRAIN, base_ranker=base)
    assert better.score(TRAIN) >= base.set_params(metric="map").score(TRAIN)
    ranker.save(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(sr.load(tmp_path / "model.swaprank").predict(TEST), ranker.predict(TEST))
    assert len({sr.baselines.AdaRank("map", n_threads=n).fit(TRAIN).coef_.tobytes() for n in (1, 2)}) == 1


def test_unusual_data_and_metrics() -> None:
    X = np.array([[1.0, 5.0, np.nan], [2.0, 5.0, 0.5], [3.0, 5.0, np.nan], [4.0, 5.0, 0.1]])
    with pytest.raises(sr.errors.DataError, match="nothing to learn"):
        sr.baselines.AdaRank().fit(X, [0, 0, 0, 0], qid=[1, 1, 2, 2])
    real = sr.baselines.AdaRank("ndcg").fit(X, [0.5, 0.75, 0.76, 3.0], qid=[1, 1, 1, 1])
    assert (np.diff(real.predict(X)) > 0).all()
    skipped = sr.baselines.AdaRank("map(empty=skip)").fit(X, [0, 0, 0, 1], qid=[1, 1, 2, 2])
    assert skipped.n_rounds_ == 1
    with pytest.raises(
        sr.errors.ParameterError, match=r"AdaRank needs a metric from 0 to 1, such as ndcg or map; found"
    ):
        sr.baselines.AdaRank("dcg").fit(TRAIN)
