"""Scores are finite, or an error says why: with features, base scores and parameters at the limits of float."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import swaprank as sr

(DATA,) = sr.datasets.random_net((20,), n_features=3, n_documents=6, random_state=0)
LARGEST = np.finfo(np.float32).max
QID = np.repeat(DATA.qids, np.diff(DATA.indptr))
SIGNS = np.where(np.arange(len(DATA)) % 3, -1.0, 1.0)


def data(X: Any = DATA.features, **others: Any) -> sr.Dataset:
    return sr.Dataset(X, DATA.labels, qid=QID, **others)


EXTREMES = {
    "largest features": data(np.where(DATA.features > 0, LARGEST, -LARGEST)),
    "smallest features": data(DATA.features * np.float32(1e-44)),
    "one large feature": data(np.where(np.arange(len(DATA))[:, None] == 3, LARGEST, DATA.features)),
    "largest base scores": data(base_score=1e100 * SIGNS),
    "large weights": data(sample_weight=np.full(len(DATA), 1e300)),
    "small weights": data(sample_weight=np.full(len(DATA), 1e-300)),
    "large labels": sr.Dataset(DATA.features, DATA.labels * 1e300, qid=QID),
}
RANKERS: list[sr.Ranker] = [
    sr.LambdaMART(n_trees=3),
    sr.LambdaMART(n_trees=3, sigma=1e300),
    sr.LambdaMART(n_trees=3, learning_rate=1.7e308),
    sr.LambdaMART(n_trees=3, learning_rate=1e200),
    sr.MART(n_trees=3),
    sr.MART(objective="logistic", n_trees=3, sigma=1e200),
    sr.LambdaRank(n_epochs=2),
    sr.RankNet(n_epochs=2, learning_rate=1e300),
    sr.LinearRegressionRanker(),
    sr.LinearRegressionRanker(regularization=0.0, standardize=False),
    sr.SmoothRank(annealing=(4.0,), max_iterations=5),
    sr.SmoothRank(annealing=(4.0,), max_iterations=5, standardize=False),
    sr.baselines.PRank(n_epochs=2, standardize=False),
    sr.baselines.PRank(degree=2, n_epochs=2),
    sr.baselines.PRank(degree=2, n_epochs=2, standardize=False),
    sr.baselines.OAPBPM(n_learners=3, n_epochs=2),
    sr.baselines.RankProp(n_epochs=2),
    sr.baselines.RankSVM(),
    sr.baselines.RankSVM(loss="hinge", standardize=False),
    sr.baselines.KernelRankNet(n_landmarks=10),
    sr.baselines.KernelRankNet(n_landmarks=10, kernel="polynomial", standardize=False),
    sr.baselines.RankBoost(n_rounds=3),
    sr.baselines.FRank(n_rounds=3),
    sr.baselines.AdaRank(standardize=False),
    sr.baselines.ListNet(n_epochs=2),
    sr.LambdaMART(n_trees=3, objective=sr.objectives.ListNetObjective()),
    sr.baselines.SVMMAP(max_iterations=50),
    sr.baselines.SVMMAP(max_iterations=50, standardize=False),
    sr.baselines.SoftRank(n_epochs=2),
    sr.baselines.SoftRank(n_epochs=2, sigma=1e-300),
    sr.baselines.CoordinateAscent(n_restarts=2, n_passes=2),
    sr.baselines.CoordinateAscent(n_restarts=2, n_passes=2, standardize=False),
    sr.baselines.RandomForest(n_trees=3),
]


@pytest.mark.filterwarnings("ignore::swaprank.errors.LabelWarning")
@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_scores_are_finite_or_there_is_an_error(ranker: sr.Ranker, name: str) -> None:
    try:
        fitted = ranker.fit(EXTREMES[name])
    except sr.errors.SwaprankError:
        return
    for scored in (EXTREMES[name], DATA, EXTREMES["largest features"]):
        with suppress(sr.errors.DataError):
            assert np.isfinite(fitted.predict(scored)).all()


@pytest.mark.parametrize("parameters", [{"sigma": 1e300}, {"learning_rate": 1.7e308}])
def test_diverging_trees_are_explained(parameters: Any) -> None:
    with pytest.raises(sr.errors.DataError, match="choose a smaller learning_rate or sigma, or rescale the labels"):
        sr.LambdaMART(n_trees=3, **parameters).fit(DATA)


def test_a_base_score_beyond_the_largest_is_refused() -> None:
    with pytest.raises(
        sr.errors.DataError, match=r"base_score, row 2: -1e\+200 is too large; the largest score is 1e\+100"
    ):
        data(base_score=np.where(np.arange(len(DATA)) == 2, -1e200, 0))


def test_a_score_that_is_not_finite_is_an_error_with_its_row() -> None:
    ranker = sr.LinearRegressionRanker(regularization=0.0).fit(data(base_score=1e99 * SIGNS))
    ranker.model_.weights[:] = 1e300
    with pytest.raises(
        sr.errors.DataError, match=r"the score of row 1 is inf: its features or its base score are too large"
    ):
        ranker.predict(np.array([[0, 0, 0], [LARGEST, LARGEST, 1]]))
