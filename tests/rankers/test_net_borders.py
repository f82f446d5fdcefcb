from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import swaprank as sr
from tests.rankers.small_nets import QID, TEST, TRAIN, measured, small


@pytest.mark.parametrize(
    "data",
    [
        sr.Dataset([[1.0], [1.0], [1.0]], [0, 1, 2], qid=[1, 1, 1]),
        sr.Dataset([[np.nan], [np.nan]], [0, 1], qid=[1, 1]),
        sr.Dataset([[1.0], [2.0], [3.0]], [0.1, 0.25, -1.5], qid=[1, 1, 2]),
        sr.Dataset([[3e38], [-3e38], [1e-40]], [0, 1, 2], qid=[1, 1, 1]),
    ],
    ids=["constant feature", "all missing", "real labels", "extremes"],
)  # fmt: skip
def test_odd_data_does_no_harm(data: sr.Dataset) -> None:
    for ranker in (
        small(n_epochs=3),
        sr.RankNet(n_epochs=3),
        sr.RankNet(n_epochs=3, training="pairs", log_features=True),
    ):
        assert np.isfinite(ranker.fit(data, valid=data).predict(data)).all()


def test_missing_values_count_as_the_mean() -> None:
    X = TRAIN.features.copy()
    X[::4, 1] = np.nan
    ranker = small().fit(X, TRAIN.labels, qid=QID)
    filled = X.copy()
    filled[::4, 1] = np.nanmean(X[:, 1], dtype=np.float64)
    np.testing.assert_allclose(ranker.predict(X), ranker.predict(filled), atol=1e-5)
    assert measured(ranker) > 0.7


def test_with_standardization_units_of_features_do_not_matter() -> None:
    factors = (2.0 ** np.arange(-12, 12, 3)).astype(np.float32)
    plain, other = (small().fit(X, TRAIN.labels, qid=QID) for X in (TRAIN.features, TRAIN.features * factors))
    np.testing.assert_array_equal(plain.predict(TEST), other.predict(TEST.features * factors))
    raw = small(standardize=False).fit(TRAIN)
    assert (raw.model_.scaling.factor == 1).all()
    assert measured(raw) > 0.6


def test_logarithms_of_counts_are_learned_from() -> None:
    rng = np.random.default_rng(0)
    counts = np.floor(np.exp(rng.normal(size=(2000, 3)) * 3)).astype(np.float32)
    labels = np.digitize(np.log1p(counts).sum(axis=1), [4, 6, 8, 10])
    data = sr.Dataset(counts, labels, qid=np.arange(2000) // 20, feature_names=["hits", "clicks", "links"])
    plain, logged = (
        sr.RankNet(hidden=(), n_epochs=5, learning_rate=0.01, log_features=log).fit(data) for log in (False, True)
    )
    assert measured(logged, "pairwise", data) > 0.97 > measured(plain, "pairwise", data)
    by_name = sr.RankNet(hidden=(), n_epochs=5, learning_rate=0.01, log_features=("hits", "clicks", 2)).fit(data)
    np.testing.assert_array_equal(by_name.predict(data), logged.predict(data))
    with pytest.raises(sr.errors.DataError, match="log_features: no feature 'click'; did you mean 'clicks'"):
        sr.RankNet(log_features=("click",)).fit(data)
    with pytest.raises(sr.errors.ParameterError, match=r"found True. Instead of a mask, give np.flatnonzero"):
        sr.RankNet(log_features=(True, False, False)).fit(data)
    with pytest.raises(sr.errors.DataError, match="log_features: there is no feature 3: there are 3, numbered from 0"):
        sr.RankNet(log_features=(3,)).fit(data)


@pytest.mark.slow
def test_a_list_of_a_hundred_thousand_documents() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 3)).astype(np.float32)
    data = sr.Dataset(X, np.clip(np.round(X[:, 0] + 1), 0, 4), qid=np.zeros(100_000, int))
    assert measured(sr.RankNet(hidden=(), n_epochs=15, learning_rate=0.3).fit(data), "pairwise", data) > 0.99


def test_fit_and_predict_from_several_threads_at_once() -> None:
    expected = small().fit(TRAIN)
    found: list[Any] = []

    def work() -> None:
        found.append(small().fit(TRAIN).predict(TEST))
        found.append(expected.predict(TEST))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all((scores == expected.predict(TEST)).all() for scores in found)


def test_scikit_learn_conventions() -> None:
    ranker = clone(small(hidden=[4]))
    ranker.fit(TRAIN.features, TRAIN.labels, qid=QID)
    assert ranker.n_features_in_ == 8
    assert "hidden=[4]" in repr(ranker)
    assert ranker.size_ == "a net 8-4-1 of 40 weights"
    assert max(ranker.permutation_importances(TEST, n_repeats=1).values()) > 0.01


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden": (0,)}, "hidden must be a whole number from 1 to 1e+06; found 0."),
        ({"hidden": 10}, "hidden must be a tuple of numbers, such as (10,); found 10."),
        ({"activation": "tan"}, "there is no activation 'tan'; did you mean 'tanh'?"),
        ({"optimizer": "lbfgs"}, "there is no optimizer 'lbfgs'; known are adam, momentum, sgd."),
        ({"construction": "springs"}, "there is no construction 'springs'; did you mean 'spring'?"),
        ({"learning_rate": 0}, "learning_rate must be a number above 0; found 0."),
        ({"decay": 1.5}, "decay must be a number above 0 to 1; found 1.5."),
        ({"decay_probability": 0}, "decay_probability must be a number above 0 to 1; found 0."),
        ({"restart_watch": "vali"}, "there is no restart_watch 'vali'; did you mean 'valid'?"),
        ({"restart_watch": "valid"}, "restart_watch='valid' has no effect without restart_rounds: give both, or none."),
        ({"initial_weights": "zero"}, "there is no initial_weights 'zero'; known are scaled, zero_first."),
        ({"n_epochs": 2.5}, "n_epochs must be a whole number from 0 to 1e+07; found 2.5."),
        ({"batch_queries": 0}, "batch_queries must be a whole number from 1; found 0."),
        ({"restart_rounds": 0}, "restart_rounds must be a whole number from 1, or None; found 0."),
        ({"normalize": "no"}, "normalize must be True or False; found 'no'."),
        ({"standardize": 1}, "standardize must be True or False; found 1."),
        ({"log_features": "hits"}, "log_features must be True, False, or a tuple of features; found 'hits'."),
        ({"metric": "ndgc"}, "there is no metric 'ndgc'; did you mean 'ndcg'?"),
        ({"early_stopping_rounds": 5}, "early_stopping_rounds needs a data set to watch: fit(…, valid=…)."),
        ({"base_ranker": 3}, "base_ranker must be a fitted net (for other scores to start from: "
                             "Dataset(…, base_score=scores)), found int."),
    ],
)  # fmt: skip
def test_bad_parameters_get_a_clear_error(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(sr.errors.SwaprankError) as caught:
        small(**parameters).fit(TRAIN)
    assert str(caught.value) == message


def test_bad_requests_get_a_clear_error() -> None:
    with pytest.raises(NotFittedError, match="this LambdaRank has not been fitted"):
        small().predict(TEST)
    with pytest.raises(sr.errors.ParameterError, match="there is no training 'pair'; did you mean 'pairs'"):
        sr.RankNet(training="pair").fit(TRAIN)  # type: ignore[arg-type]
    with pytest.raises(sr.errors.ParameterError, match="ties must be True or False; found 'yes'"):
        sr.RankNet(ties="yes").fit(TRAIN)  # type: ignore[arg-type]
    base = small(n_epochs=1).fit(TRAIN)
    with pytest.raises(
        sr.errors.ParameterError, match="the base ranker has hidden=\\(5,\\) and activation='tanh', but the"
    ):
        small(hidden=(6,)).fit(TRAIN, base_ranker=base)
    with pytest.raises(sr.errors.ParameterError, match="found LambdaRank that is not fitted"):
        small().fit(TRAIN, base_ranker=small())
    with pytest.raises(sr.errors.DataError, match="the data has 2 features, but the base ranker is expecting 8"):
        small().fit(TRAIN.features[:, :2], TRAIN.labels, qid=QID, base_ranker=base)
    with pytest.raises(sr.errors.ParameterError, match="the weights diverged in epoch"):
        small(hidden=(), optimizer="sgd", learning_rate=1e38).fit(TRAIN)


def test_an_own_metric_that_fails_is_named() -> None:
    broken = sr.metrics.CustomMetric(evaluate=lambda labels: np.nan if labels[0] > 3 else labels[0], name="broken")
    with pytest.raises(sr.errors.MetricError, match="broken"):
        small(metric=broken).fit(TRAIN)


def test_a_failed_fit_leaves_the_model_as_it_was() -> None:
    ranker = small(n_epochs=2).fit(TRAIN)
    expected = ranker.predict(TEST)
    with pytest.raises(sr.errors.ParameterError):
        ranker.set_params(hidden=(0,)).fit(TRAIN.features[:, :3], TRAIN.labels, qid=QID)
    np.testing.assert_array_equal(ranker.predict(TEST), expected)
