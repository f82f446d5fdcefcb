from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import swaprank as sr
from tests.rankers.smoothrank_data import TEST, TRAIN, VALI


def test_regression_is_least_squares() -> None:
    ranker = sr.LinearRegressionRanker("labels", regularization=0).fit(TRAIN)
    expected = LinearRegression().fit(TRAIN.features.astype(float), TRAIN.labels)
    np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=1e-4)
    gains = LinearRegression().fit(TRAIN.features.astype(float), 2**TRAIN.labels - 1)
    np.testing.assert_allclose(
        sr.LinearRegressionRanker(regularization=0).fit(TRAIN).coef_, gains.coef_, rtol=1e-4
    )  # fmt: skip


def test_regression_chooses_shrinks_and_saves(tmp_path: Path) -> None:
    told: list[sr.Progress] = []
    ranker = sr.LinearRegressionRanker(overweight=True).fit(TRAIN, valid=VALI, callbacks=[told.append])
    assert len(told) == 1
    assert ranker.candidates_[ranker.regularization_] == max(ranker.candidates_.values())
    assert ranker.history_["valid ndcg@10"] == [max(ranker.candidates_.values())]
    assert sr.LinearRegressionRanker(n_folds=4).fit(TRAIN, valid=VALI).candidates_ != ranker.candidates_
    held = sr.LinearRegressionRanker(regularization=1e9).fit(TRAIN, base=ranker)
    np.testing.assert_allclose(held.coef_, ranker.coef_, rtol=1e-4)
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(again.predict(TEST), ranker.predict(TEST))
    assert again.get_params() == ranker.get_params()
    with pytest.raises(sr.ParameterError, match="there is no target 'gain'; did you mean 'gains'"):
        sr.LinearRegressionRanker("gain").fit(TRAIN)  # type: ignore[arg-type]
