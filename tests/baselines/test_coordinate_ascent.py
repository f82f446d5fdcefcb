"""Coordinate ascent: every step is the best of all places between crossings, and the metric only rises."""

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.baselines import coordinate_ascent

TRAIN, VALI = sr.datasets.random_polynomial((8, 8), n_features=3, n_documents=6, levels=4, random_state=1)
METRICS = ["ndcg@5", "map(rel=2)", "err", "ndcg@5(ties=input)"]


def best_of_all(data: sr.Dataset, metric: str, scores: Floats, direction: Floats) -> float:
    """The highest metric of scores + t direction, with one t between any two crossings of documents, and two beyond."""
    pairs = [pair for a, b in pairwise(data.indptr) for pair in combinations(range(a, b), 2)]
    edges = np.unique(
        [(scores[i] - scores[j]) / (direction[j] - direction[i]) for i, j in pairs if direction[i] != direction[j]]
    )
    places = [edges[0] - 1.0, *(edges[:-1] + edges[1:]) / 2, edges[-1] + 1.0]
    bound = sr.metric(metric).bind(data.labels, data.indptr)
    return max(bound.mean(scores + t * direction) for t in places)


@pytest.mark.parametrize("metric", METRICS)
def test_every_step_is_the_best_of_all(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[float, float, float]] = []
    one_step = coordinate_ascent.best_weight

    def checked(problem: Any, bound: Any, weights: Floats, value: float, feature: int) -> tuple[Floats, float]:
        moved, after = one_step(problem, bound, weights, value, feature)
        scores = problem.score_function(weights)
        direction = (problem.score_function.features[:, feature] * problem.score_function.factor[feature]).astype(float)
        steps.append((value, after, best_of_all(TRAIN, metric, scores, direction)))
        assert after == pytest.approx(sr.metric(metric).mean(TRAIN.labels, problem.score_function(moved), TRAIN.indptr))
        assert np.count_nonzero(moved != weights) == (after > value)
        return moved, after

    monkeypatch.setattr(coordinate_ascent, "best_weight", checked)
    sr.baselines.CoordinateAscent(metric, n_restarts=2, n_passes=2).fit(TRAIN)
    assert len(steps) >= 6
    for before, after, best in steps:
        assert after == pytest.approx(max(before, best), abs=1e-10)
    assert sum(after > before for before, after, _ in steps) >= 3


def test_the_metric_rises_from_pass_to_pass_and_the_best_start_is_kept() -> None:
    ranker = sr.baselines.CoordinateAscent("ndcg@5", n_restarts=3, tolerance=1e-9).fit(
        TRAIN, valid={"t": TRAIN, "v": VALI}
    )
    values = ranker.history_["t"]["ndcg@5"]
    falls = [at for at in range(1, len(values)) if values[at] < values[at - 1] - 1e-12]
    assert len(falls) <= 2  # where a new start begins
    alone = sr.baselines.CoordinateAscent("ndcg@5", n_restarts=3, tolerance=1e-9).fit(TRAIN)
    assert alone.score(TRAIN) == pytest.approx(max(values))
    assert ranker.score(VALI) == pytest.approx(max(ranker.history_["v"]["ndcg@5"]))
    linear = sr.LinearRegressionRanker(metric="ndcg@5", regularization=0.01).fit(TRAIN)
    better = sr.baselines.CoordinateAscent("ndcg@5", n_restarts=1).fit(TRAIN, base_ranker=linear)
    assert better.score(TRAIN) > linear.score(TRAIN)


def test_it_is_a_ranker_like_the_others(tmp_path: Path) -> None:
    constant = sr.Dataset(
        np.column_stack((TRAIN.features, np.ones(len(TRAIN)))), TRAIN.labels, group=np.diff(TRAIN.indptr)
    )
    ranker = sr.baselines.CoordinateAscent("ndcg@5", n_restarts=2, n_threads=1).fit(constant)
    again = sr.baselines.CoordinateAscent("ndcg@5", n_restarts=2, n_threads=3).fit(constant)
    np.testing.assert_array_equal(ranker.coef_, again.coef_)
    ranker.save(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(sr.load(tmp_path / "model.swaprank").predict(constant), ranker.predict(constant))
    with pytest.raises(sr.errors.DataError, match="metrics have no weights"):
        sr.baselines.CoordinateAscent().fit(
            TRAIN.features, TRAIN.labels, group=np.diff(TRAIN.indptr), query_weight=np.ones(8)
        )
