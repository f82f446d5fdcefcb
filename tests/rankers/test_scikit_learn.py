"""The conventions of scikit-learn: its own checks, pipelines, searches, and random states."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import swaprank as sr

TRAIN, TEST = sr.datasets.random_net((30, 20), n_features=4, n_documents=10, random_state=0)
X, Y, QID = TRAIN.features, TRAIN.labels, np.repeat(TRAIN.qids, np.diff(TRAIN.indptr))
FRAME = pd.DataFrame(X, columns=list("abcd"))

NEEDS_QID = {
    "check_fit_score_takes_y",
    "check_estimators_overwrite_params",
    "check_dont_overwrite_parameters",
    "check_estimators_fit_returns_self",
    "check_readonly_memmap_input",
    "check_n_features_in_after_fitting",
    "check_positive_only_tag_during_fit",
    "check_estimators_dtypes",
    "check_sample_weights_pandas_series",
    "check_sample_weights_not_an_array",
    "check_sample_weights_list",
    "check_all_zero_sample_weights_error",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_complex_data",
    "check_dtype_object",
    "check_estimators_empty_data_messages",
    "check_pipeline_consistency",
    "check_estimators_nan_inf",
    "check_estimator_sparse_tag",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_fit2d_1sample",
    "check_fit2d_1feature",
    "check_dict_unchanged",
    "check_fit_idempotent",
    "check_fit_check_is_fitted",
    "check_n_features_in",
    "check_fit2d_predict1d",
    "check_requires_y_none",
}
"""Checks that call fit(X, y). Which rows belong to one query cannot be guessed."""

CANNOT_PASS = {
    "check_sample_weight_equivalence_on_dense_data": "a document that is listed twice takes two ranks",
    "check_sample_weight_equivalence_on_sparse_data": "a document that is listed twice takes two ranks",
    "check_fit2d_1sample": "one document has no order; the error says so, in other words",
    "check_positive_only_tag_during_fit": "rows of a class are adjacent, so that each query has one label",
    "check_dtype_object": "an object that is no number is a DataError, which is a ValueError, not a TypeError",
}
"""Checks that fail also if query ids are given, and why."""


class WithQueries(sr.LambdaMART):  # type: ignore[misc]
    """LambdaMART, with query ids for the checks: five rows to a query."""

    __init__ = sr.LambdaMART.__init__

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:  # type: ignore[override]
        return super().fit(X, y, qid=queries(y), sample_weight=sample_weight)

    def score(self, X: Any, y: Any = None) -> float:  # type: ignore[override]
        return super().score(X, y, qid=queries(y))


def queries(y: Any) -> Any:
    return None if y is None else np.arange(np.asarray(y).size) // 5


def failing_checks(estimator: Any) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    return {result["check_name"] for result in results if result["status"] == "failed"}


@pytest.mark.slow
@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 6),
    reason="check_estimator(on_fail=…) is new in scikit-learn 1.6",
)
def test_checks_of_scikit_learn() -> None:
    small: dict[str, Any] = {"metric": "ndcg@10(gain=linear)", "n_trees": 3, "min_docs_in_leaf": 1}
    assert failing_checks(sr.LambdaMART(**small)) <= NEEDS_QID
    assert failing_checks(WithQueries(**small)) <= set(CANNOT_PASS)


def test_pipelines() -> None:
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), sr.LambdaMART(n_trees=5))
    pipeline.fit(FRAME, Y, lambdamart__qid=QID)
    assert pipeline[-1].feature_names_in_.tolist() == list("abcd")
    expected = sr.LambdaMART(n_trees=5).fit(StandardScaler().fit_transform(X), Y, qid=QID)
    np.testing.assert_array_equal(pipeline.predict(FRAME), expected.predict(StandardScaler().fit_transform(X)))


@pytest.fixture
def metadata_routing() -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(n_trees: int) -> list[float]:
    """The metric on each fold of GroupKFold."""
    return [
        sr.LambdaMART(n_trees=n_trees).fit(X[a], Y[a], qid=QID[a]).score(X[b], Y[b], qid=QID[b])
        for a, b in GroupKFold(3).split(X, Y, QID)
    ]


@pytest.mark.usefixtures("metadata_routing")
def test_searches_route_the_query_ids() -> None:
    search = GridSearchCV(sr.LambdaMART(), {"n_trees": [1, 5]}, cv=GroupKFold(3)).fit(X, Y, qid=QID, groups=QID)
    expected = [np.mean(by_hand(n_trees)) for n_trees in (1, 5)]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
    scores = cross_val_score(sr.LambdaMART(n_trees=5), X, Y, cv=GroupKFold(3), params={"qid": QID, "groups": QID})
    np.testing.assert_allclose(scores, by_hand(5))


def test_a_scorer_that_needs_no_routing() -> None:
    frame = FRAME.assign(query=QID)
    scorer = sr.evaluation.RankingScorer("ndcg@10", qid="query")
    search = GridSearchCV(sr.LambdaMART(), {"n_trees": [1, 5]}, cv=GroupKFold(3), scoring=scorer)
    search.fit(frame, Y, groups=QID, qid="query")
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], [np.mean(by_hand(n)) for n in (1, 5)])
    assert search.best_estimator_.feature_names_in_.tolist() == list("abcd")
    assert scorer(search, frame, Y) == search.best_estimator_.score(X, Y, qid=QID)


def test_a_column_name_as_qid_needs_a_table() -> None:
    with pytest.raises(sr.errors.DataError, match="qid='query' names a column of a table, but X is of type ndarray"):
        sr.LambdaMART(n_trees=1).fit(X, Y, qid="query")
    with pytest.raises(sr.errors.DataError, match="there is no column 'query'; known are a, b, c, d"):
        sr.LambdaMART(n_trees=1).fit(FRAME, Y, qid="query")


@pytest.mark.parametrize(
    "ranker", [sr.LambdaMART(n_trees=3, feature_fraction=0.5), sr.LambdaRank(n_epochs=2)], ids=["trees", "net"]
)
def test_random_states(ranker: Any, tmp_path: Any) -> None:
    def scores(random_state: Any) -> Any:
        return clone(ranker).set_params(random_state=random_state).fit(TRAIN).predict(TEST)

    np.testing.assert_array_equal(scores(np.random.RandomState(3)), scores(np.random.RandomState(3)))
    np.testing.assert_array_equal(scores(np.random.default_rng(3)), scores(np.random.default_rng(3)))
    unseeded = clone(ranker).set_params(random_state=None).fit(TRAIN)
    assert (unseeded.predict(TEST) != scores(None)).any()
    assert unseeded.random_state is None
    # A model file has the seed that was used, so that the training can be repeated.
    unseeded.save(tmp_path / "model.swaprank")
    loaded = sr.load(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(scores(loaded.get_params()["random_state"]), unseeded.predict(TEST))
    with pytest.raises(
        sr.errors.ParameterError, match="random_state must be a whole number from 0, or None; found 'seed'"
    ):
        scores("seed")


def test_feature_importances() -> None:
    ranker = sr.LambdaMART(n_trees=5).fit(TRAIN)
    gains = ranker.importances()
    expected = np.array([gains[name] for name in TRAIN.feature_names])
    np.testing.assert_allclose(ranker.feature_importances_, expected / expected.sum())
    assert not hasattr(sr.LambdaRank(n_epochs=1).fit(TRAIN), "feature_importances_")


@pytest.mark.usefixtures("metadata_routing")
def test_searches_over_pipelines() -> None:
    pipeline = make_pipeline(StandardScaler(), sr.LambdaMART(n_trees=5))
    assert pipeline.fit(X, Y, qid=QID).score(X, Y, qid=QID) > 0.8
    search = GridSearchCV(pipeline, {"lambdamart__n_leaves": [3, 7]}, cv=GroupKFold(3), error_score="raise")
    assert search.fit(X, Y, qid=QID, groups=QID).best_score_ > 0.8
    with pytest.raises(sr.errors.DataError, match="metrics have no weights"):
        sr.LambdaMART(n_trees=1).fit(TRAIN).score(X, Y, qid=QID, sample_weight=Y)  # type: ignore[arg-type]


def test_clones_draw_the_same_seed() -> None:
    ranker = sr.LambdaMART(n_trees=2, feature_fraction=0.5, random_state=np.random.RandomState(0))
    first, second = clone(ranker).fit(TRAIN), clone(ranker).fit(TRAIN)
    assert first.random_state_ == second.random_state_
    custom = sr.metrics.CustomMetric(evaluate=lambda labels: float(labels[0]), name="first")
    assert clone(sr.LambdaMART(custom)).metric is custom
