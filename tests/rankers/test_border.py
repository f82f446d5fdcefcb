"""What fit is told at its border: nothing to learn, labels that are no grades, names of other libraries."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold

import swaprank as sr
from swaprank import peer_names

TRAIN, VALI = sr.datasets.random_net((20, 10), n_features=4, levels=4, random_state=0)
QID = np.repeat(TRAIN.qids, np.diff(TRAIN.indptr))


@pytest.mark.parametrize("ranker", [sr.LambdaMART(n_trees=2), sr.LambdaRank(n_epochs=1), sr.RankNet(n_epochs=1)])
def test_nothing_to_learn(ranker: Any) -> None:
    X = TRAIN.features
    for labels, qid in [(np.ones(len(X)), QID), (TRAIN.labels, np.arange(len(X)))]:
        with pytest.raises(sr.errors.DataError, match="nothing to learn from: none of the"):
            ranker.fit(X, labels, qid=qid)
    few = np.zeros(len(X))
    few[0] = 1
    with pytest.warns(sr.errors.LabelWarning, match="only 1 of 20 queries"):
        ranker.fit(X, few, qid=QID)


@pytest.mark.parametrize("largest", [40.0, -1.0, 19.99])
def test_labels_that_are_no_grades(largest: float) -> None:
    labels = np.array(TRAIN.labels)
    labels[0] = largest
    data = sr.Dataset(TRAIN.features, labels, qid=QID)
    with pytest.warns(sr.errors.LabelWarning, match="gain=linear"):
        sr.LambdaMART(n_trees=1).fit(data)
    with pytest.warns(sr.errors.LabelWarning, match="gain=linear"):
        sr.evaluate(data, data.column(0), "ndcg@10")
    sr.evaluate(data, data.column(0), "ndcg@10(gain=linear)")


def test_soft_labels_are_no_reason_to_warn() -> None:
    soft = np.random.default_rng(0).random(len(TRAIN))
    with warnings.catch_warnings(action="error"):
        sr.LambdaMART(n_trees=1).fit(TRAIN.features, soft, qid=QID)


def test_callbacks_of_lightgbm() -> None:
    lgb = pytest.importorskip("lightgbm")
    history: dict[str, Any] = {}
    ranker = sr.LambdaMART(n_trees=200).fit(
        TRAIN, valid=VALI, callbacks=[lgb.early_stopping(5), lgb.record_evaluation(history), lgb.log_evaluation(0)]
    )
    same = sr.LambdaMART(n_trees=200, early_stopping_rounds=5).fit(TRAIN, valid=VALI)
    assert (ranker.n_rounds_, ranker.best_round_) == (same.n_rounds_, same.best_round_)
    assert history == same.history_
    with pytest.raises(sr.errors.DataError, match="needs a data set to watch"):
        sr.LambdaMART().fit(TRAIN, callbacks=[lgb.early_stopping(5)])
    with pytest.raises(sr.errors.ParameterError, match=r"learning_rate=\[…\]"):
        sr.LambdaMART().fit(TRAIN, callbacks=[lgb.reset_parameter(learning_rate=[0.1])])
    with pytest.raises(sr.errors.ParameterError, match="early_stopping_rounds=500"):
        sr.LambdaMART().fit(TRAIN, valid=VALI, callbacks=[lgb.early_stopping(500)])


def test_callbacks_of_xgboost() -> None:
    callback = pytest.importorskip("xgboost").callback
    same = sr.LambdaMART(n_trees=50, early_stopping_rounds=5).fit(TRAIN, valid=VALI)
    ranker = sr.LambdaMART(n_trees=50).fit(TRAIN, valid=VALI, callbacks=[callback.EarlyStopping(rounds=5)])
    assert ranker.n_rounds_ == same.n_rounds_
    with pytest.raises(sr.errors.ParameterError, match="learning_rate"):
        sr.LambdaMART().fit(TRAIN, callbacks=[callback.LearningRateScheduler([0.1])])


def test_attributes_of_other_libraries() -> None:
    ranker = sr.LambdaMART(n_trees=2).fit(TRAIN)
    for theirs, ours in peer_names.ATTRIBUTES.items():
        with pytest.raises(AttributeError, match=f"no attribute '{theirs}'; in swaprank: "):
            getattr(ranker, theirs)
        name = ours.split()[0].partition("(")[0].rstrip(",")
        assert hasattr(sr, name[3:]) if name.startswith("sr.") else hasattr(ranker, name)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        _ = sr.LambdaMART().best_round_


def test_searches_of_scikit_learn() -> None:
    X, y = TRAIN.features, TRAIN.labels
    search = GridSearchCV(sr.LambdaMART(), {"n_trees": [1, 2]}, cv=GroupKFold(2), error_score="raise")
    with pytest.raises(sr.errors.DataError, match=r"enable_metadata_routing=True.*RankingScorer"):
        search.fit(X, y, groups=QID)
    with sklearn.config_context(enable_metadata_routing=True):
        expected = search.fit(X, y, qid=QID, groups=QID).cv_results_["mean_test_score"]
        search.set_params(scoring=sr.evaluation.RankingScorer("ndcg@10"))
        found = search.fit(X, y, qid=QID, groups=QID).cv_results_["mean_test_score"]
    np.testing.assert_allclose(found, expected)
