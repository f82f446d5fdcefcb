"""What fit is told at its border: nothing to learn, labels that are no grades, names of other libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold

import swaprank as sr
from swaprank import peer_names
from swaprank.rankers.learnable import learnable_queries
from swaprank.registry import RANKERS, ranker_class

TRAIN, VALI = sr.datasets.random_net((20, 10), n_features=4, levels=4, random_state=0)
QID = np.repeat(TRAIN.qids, np.diff(TRAIN.indptr))


# What each kind of ranker needs, said once more: those that compare documents of a query, and those that fit labels.
FIT_LABELS = {"linear_regression", "mart", "oap_bpm", "prank", "random_forest", "rankprop"}
TRAINED = [name for name in sorted(RANKERS) if ranker_class(name).can.learns_from == "data"]
FITTED = sr.LinearRegressionRanker().fit(TRAIN)
ENSEMBLES = [partial(kind, members=[FITTED, FITTED]) for kind in (sr.ensembles.Combination, sr.ensembles.Stacked)]


def with_labels(labels: Any, qid: Any = QID, **others: Any) -> sr.Dataset:
    return sr.Dataset(TRAIN.features, labels, qid=qid, **others)


@pytest.mark.parametrize(
    "make", [*(ranker_class(name) for name in TRAINED), *ENSEMBLES], ids=[*TRAINED, "combination", "stacked"]
)
def test_nothing_to_learn(make: Callable[[], Any]) -> None:
    lists_of_one = with_labels(TRAIN.labels, np.arange(len(TRAIN)))
    ranker = make()
    with pytest.raises(sr.errors.DataError, match="there is nothing to learn from: "):
        ranker.fit(with_labels(np.ones(len(TRAIN))))
    if ranker.kind not in FIT_LABELS:
        with pytest.raises(sr.errors.DataError, match=r"none of the .* queries has documents with different labels"):
            ranker.fit(lists_of_one)
    assert (ranker.can.needs == "labels") == (ranker.kind in FIT_LABELS)


@pytest.mark.parametrize("kind", [sr.LambdaMART, sr.LambdaRank, sr.SmoothRank, sr.baselines.AdaRank])
def test_a_metric_that_is_the_same_for_every_order(kind: type[Any]) -> None:
    with pytest.raises(sr.errors.DataError, match=r"^map is the same for every order: no query has a relevant"):
        kind("map").fit(with_labels(TRAIN.labels / 10))


@pytest.mark.parametrize(
    "ranker", [sr.LambdaMART(n_trees=2), sr.RankNet(n_epochs=1), sr.baselines.RankBoost()], ids=str
)
def test_few_queries_to_learn_from(ranker: Any) -> None:
    few = np.zeros(len(TRAIN))
    few[0] = 1
    with pytest.warns(sr.errors.LabelWarning, match="only 1 of 20 queries"):
        ranker.fit(with_labels(few))


def test_what_else_is_learned_from() -> None:
    same = np.ones(len(TRAIN))
    of_pairs = with_labels(same, pairs=[(0, 1), (2, 1)])
    sr.RankNet(n_epochs=1).fit(of_pairs)
    sr.baselines.KernelRankNet(n_landmarks=5).fit(of_pairs)
    # Others do not look at pairs.
    with pytest.raises(sr.errors.DataError, match="nothing to learn from"):
        sr.LambdaMART(n_trees=1).fit(of_pairs)
    # What base scores leave of the labels differs.
    sr.MART(n_trees=1).fit(with_labels(same, base_score=TRAIN.column(0)))
    sr.MART(n_trees=1, base_ranker=FITTED).fit(with_labels(same))
    # An objective of one's own may learn from anything.
    sr.LambdaMART(n_trees=1, objective=sr.objectives.ListNetObjective()).fit(with_labels(same))


def test_queries_to_learn_from_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    qid, labels = rng.integers(0, 30, 60), rng.integers(0, 2, 60)
    expected = [len({*labels[qid == query]}) > 1 for query in dict.fromkeys(qid.tolist())]
    data = sr.Dataset(np.zeros((60, 1)), labels, qid=qid)
    assert learnable_queries(data).tolist() == expected


@pytest.mark.parametrize("odd", [40.0, 19.99, -1.0])
def test_labels_that_are_no_grades(odd: float) -> None:
    labels = np.array(TRAIN.labels)
    labels[0] = odd
    data = with_labels(labels)
    advice = "so that the lowest is 0" if odd < 0 else "gain=linear"
    with pytest.warns(sr.errors.LabelWarning, match=advice) as caught:
        sr.LambdaMART(n_trees=1).fit(data, valid={"a": data, "b": data})
    assert len(caught) == 1
    with pytest.warns(sr.errors.LabelWarning, match=advice):
        sr.evaluate(data, data.column(0), "ndcg@10")
    with pytest.warns(sr.errors.LabelWarning, match=advice):
        sr.compare(data, {"a": data.column(0), "b": data.column(1)}, "ndcg@10")
    sr.evaluate(data, data.column(0), "ndcg@10(gain=linear)")
    # The metric of a RankNet does not change its training, but validation sets are measured by it.
    sr.RankNet(n_epochs=1).fit(data)
    with pytest.warns(sr.errors.LabelWarning, match=advice):
        sr.RankNet(n_epochs=1).fit(TRAIN, valid=data)
    sr.LambdaMART("map", n_trees=1).fit(data, valid=data)
    with pytest.warns(sr.errors.LabelWarning, match=advice):
        sr.LambdaMART("map", n_trees=1).fit(TRAIN, valid=data, metrics=["map", "ndcg"])


def test_labels_below_0_of_which_nothing_is_lost() -> None:
    signs = np.where(TRAIN.labels > 1, 1.0, -1.0)
    found = sr.evaluate(with_labels(signs), TRAIN.column(0), "ndcg")["ndcg"].mean
    assert found == sr.evaluate(with_labels(signs > 0), TRAIN.column(0), "ndcg")["ndcg"].mean
    sr.LambdaMART(n_trees=1).fit(with_labels(signs))


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
