from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import swaprank as sr
from tests.rankers.smoothrank_data import TEST, TRAIN, VALI, ndcg, qid_of, small

pytestmark = pytest.mark.slow

SMOOTH = (8.0, 1.0)
"""At smaller smoothing factors there are many local maxima, and rounding decides which one is found."""


@pytest.mark.parametrize(
    "metric",
    ["ndcg", "ndcg@5", "dcg@10", "map", "mrr", "err", "p@5", "rbp", "recall@10",
     sr.metrics.CumulativeMetric(gain=lambda label: 1000 * label, discount=lambda r: 1 / r, name="own"),
     sr.metrics.CascadeMetric(stop=lambda label: label / 8)],
    ids=str,
)  # fmt: skip
def test_every_metric_of_gains_at_ranks_can_be_learned(metric: str | sr.metrics.Metric) -> None:
    ranker = small(metric=metric).fit(TRAIN)
    chance = sr.evaluate(TEST, np.zeros(len(TEST)), metric).results[0].mean
    assert sr.evaluate(TEST, ranker.predict(TEST), metric).results[0].mean > chance * 1.05
    assert ranker.history_["train"][f"smooth {metric}"][-1] > chance


def test_training_improves_the_metric_of_the_regression() -> None:
    start = sr.LinearRegressionRanker(metric="ndcg").fit(TRAIN)
    ranker = small(regularization=1e-4).fit(TRAIN)
    assert ndcg(ranker, TRAIN) > ndcg(start, TRAIN) + 0.002
    assert ndcg(ranker) > 0.7


@pytest.mark.parametrize("start", ["regression", "overweighted", "pairwise", "zero"])
@pytest.mark.parametrize("optimizer", ["cg", "l-bfgs"])
def test_every_start_and_optimizer(start: Any, optimizer: Any) -> None:
    assert ndcg(small(start=start, optimizer=optimizer).fit(TRAIN)) > 0.7


def test_a_strong_regularization_stays_at_the_start_whatever_its_size() -> None:
    regression = LinearRegression().fit(TRAIN.features, TRAIN.labels)
    held = small(regularization=1e9).fit(TRAIN, base_ranker=regression)
    assert np.corrcoef(held.coef_, regression.coef_)[0, 1] == pytest.approx(1)
    regression.coef_ *= 1e-6
    same = small(regularization=1e9).fit(TRAIN, base_ranker=regression)
    np.testing.assert_allclose(same.coef_, held.coef_, rtol=1e-5)


def test_units_of_gains_and_features_change_no_order() -> None:
    """Smoothing factors and lambda are in units of the standard deviations of gains and features."""
    factor = np.array([1.0, 100.0, 1e-3, 1.0, 7.0, 1e4], dtype=np.float32)
    scaled = sr.Dataset(TRAIN.features * factor, TRAIN.labels, qid=qid_of(TRAIN))
    linear, thousand = (
        sr.metrics.CumulativeMetric(gain=gain, name="own") for gain in (lambda label: label, lambda label: 1000 * label)
    )
    expected = small(metric=linear, annealing=SMOOTH).fit(TRAIN).predict(TEST)
    by_gain = small(metric=thousand, annealing=SMOOTH).fit(TRAIN).predict(TEST)
    by_feature = small(metric=linear, annealing=SMOOTH).fit(scaled).predict(TEST.features * factor)
    np.testing.assert_allclose(by_gain, expected, atol=1e-4 * np.ptp(expected))
    # Features are in single precision.
    assert np.corrcoef(by_feature, expected)[0, 1] > 0.999


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"regularization": (1.0, 0.01, 1e-4)},
        {"regularization": "auto", "n_folds": 3},
        {"metric": "map", "smoothing": "ranks", "optimizer": "l-bfgs"},
        {"features": "kernel_pca", "n_landmarks": 20},
        {"hidden": (4,)},
    ],
    ids=str,
)
def test_model_is_identical_for_any_thread_count_and_run(tmp_path: Path, parameters: dict[str, Any]) -> None:
    files = []
    for at, n_threads in enumerate((1, 2, 2, 3)):
        ranker = small(**parameters, n_threads=n_threads, max_iterations=3).fit(TRAIN, valid=VALI)
        ranker.save(tmp_path / f"{at}.swaprank")
        files.append((tmp_path / f"{at}.swaprank").read_bytes())
    assert len(set(files)) == 1


@pytest.mark.parametrize(
    "parameters",
    [{}, {"regularization": (1.0, 0.1)}, {"features": "kernel_pca", "n_landmarks": 30}, {"hidden": (3,)}],
    ids=str,
)
def test_save_and_load(tmp_path: Path, parameters: dict[str, Any]) -> None:
    ranker = small(**parameters).fit(TRAIN, valid=VALI)
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    assert isinstance(again, sr.SmoothRank)
    np.testing.assert_array_equal(ranker.predict(TEST), again.predict(TEST))
    assert again.get_params() == ranker.get_params()
    assert (again.history_, again.smoothing_factor_) == (ranker.history_, ranker.smoothing_factor_)
    assert again.candidates_ == ranker.candidates_
    again.save(tmp_path / "again.swaprank")
    assert (tmp_path / "model.swaprank").read_bytes() == (tmp_path / "again.swaprank").read_bytes()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ranker)).predict(TEST), ranker.predict(TEST))


def test_a_kernel_machine_learns_a_nonlinear_target() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    labels = np.digitize(-(X**2).sum(axis=1), [-3.0, -1.5, -0.5])  # documents near the origin are better
    train, test = sr.Dataset(X, labels, qid=np.arange(2000) // 20).split((0.5, 0.5), random_state=0)
    line = small().fit(train)
    for kernel in ("rbf", "polynomial"):
        curved = small(features="kernel_pca", kernel=kernel, gamma=0.5, n_landmarks=60).fit(train)
        assert ndcg(curved, test) > 0.97 > ndcg(line, test) + 0.15
    net = small(hidden=(8,), max_iterations=50).fit(train)
    assert ndcg(net, test) > 0.95


def test_a_net_starts_from_a_base_net() -> None:
    first = sr.RankNet(hidden=(4,), n_epochs=5).fit(TRAIN)
    ranker = small(hidden=(4,), regularization=1e9).fit(TRAIN, base_ranker=first)
    np.testing.assert_allclose(ranker.predict(TEST), first.predict(TEST), atol=1e-4)
    with pytest.raises(sr.errors.ParameterError, match=r"base_ranker must be a fitted net for hidden=\(4,\)"):
        small(hidden=(4,)).fit(TRAIN, base_ranker=small().fit(TRAIN))
    found = r"the base ranker has hidden=\(4,\) and activation='tanh', but the parameters are hidden="
    with pytest.raises(sr.errors.ParameterError, match=found + r"\(5,\) and activation='tanh'"):
        small(hidden=(5,)).fit(TRAIN, base_ranker=first)
    with pytest.raises(sr.errors.ParameterError, match=found + r"\(4,\) and activation='relu'"):
        small(hidden=(4,), activation="relu").fit(TRAIN, base_ranker=first)
    with pytest.raises(sr.errors.DataError, match="the data has 2 features, but the base ranker is expecting 6"):
        small(hidden=(4,)).fit(TRAIN.features[:, :2], TRAIN.labels, qid=qid_of(TRAIN), base_ranker=first)
    with pytest.raises(AttributeError, match="a net has no coef_"):
        _ = ranker.coef_


def test_base_scores_are_started_from_and_added() -> None:
    base = 3.0 * TRAIN.column(0).astype(float)
    data = sr.Dataset(TRAIN.features, TRAIN.labels, qid=qid_of(TRAIN), base_score=base)
    for ranker in (small(), small(hidden=(3,)), small(start="pairwise"), sr.LinearRegressionRanker()):
        ranker.fit(data)
        np.testing.assert_allclose(ranker.predict(data), ranker.predict(TRAIN.features) + base)
        expected = ranker.predict(TRAIN.features)
        assert not np.allclose(ranker.fit(TRAIN).predict(TRAIN.features), expected, atol=0.1)


@pytest.mark.parametrize("start", ["overweighted", "regression"])
@pytest.mark.parametrize("parameters", [{}, {"hidden": (3,)}], ids=["linear", "net"])
def test_the_level_of_base_scores_does_not_matter(parameters: dict[str, Any], start: Any) -> None:
    found = []
    for level in (0.0, 50.0):
        data = sr.Dataset(TRAIN.features, TRAIN.labels, qid=qid_of(TRAIN), base_score=np.full(len(TRAIN), level))
        found.append(small(start=start, regularization=1e9, **parameters).fit(data).predict(TEST))
    np.testing.assert_allclose(found[0] - found[0].mean(), found[1] - found[1].mean(), atol=1e-3 * np.ptp(found[0]))


@pytest.mark.parametrize(
    ("parameters", "array"),
    [
        ({"annealing": (8.0, 1.0)}, {"annealing": np.array([8.0, 1.0])}),
        ({"hidden": (3, 2)}, {"hidden": np.array([3, 2])}),
        ({"regularization": (1.0, 0.1)}, {"regularization": np.array([0.1, 1.0])}),
        ({"annealing": (8.0, 1.0), "n_folds": 2, "best_step": True},
         {"annealing": np.array([8, 1]), "n_folds": 2, "best_step": True}),
    ],
    ids=["annealing", "hidden", "regularization", "folds"],
)  # fmt: skip
def test_parameters_may_be_arrays(tmp_path: Path, parameters: dict[str, Any], array: dict[str, Any]) -> None:
    expected, found = small(**parameters).fit(TRAIN, valid=VALI), small(**array).fit(TRAIN, valid=VALI)
    np.testing.assert_array_equal(found.predict(TEST), expected.predict(TEST))
    found.save(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(sr.load(tmp_path / "model.swaprank").predict(TEST), found.predict(TEST))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("optimizer", ["cg", "l-bfgs"])
@pytest.mark.parametrize("regularization", [1e300, 1.7e308])
def test_the_strongest_regularization_stays_at_the_start(optimizer: Any, regularization: float) -> None:
    held = small(regularization=regularization, optimizer=optimizer).fit(TRAIN)
    np.testing.assert_allclose(held.coef_, small(regularization=1e9).fit(TRAIN).coef_, rtol=1e-4)


@pytest.mark.parametrize("size", [1e10, 1e30])
def test_a_kernel_that_overflows_is_an_error(size: float) -> None:
    huge = sr.Dataset(TRAIN.features * np.float32(size), TRAIN.labels, qid=qid_of(TRAIN))
    machine = small(features="kernel_pca", kernel="polynomial", degree=5, standardize=False, n_landmarks=10)
    with pytest.raises(sr.errors.DataError, match="the polynomial kernel overflows for some documents"):
        machine.fit(huge)
    assert np.isfinite(machine.set_params(standardize=True).fit(huge).predict(huge)).all()


def test_rows_in_any_order_learn_and_score_the_same() -> None:
    # The first document of every query, then the second, and so on: queries still appear in the same order.
    order = np.arange(len(TRAIN)).reshape(60, 20).T.ravel()
    missing = TRAIN.features.copy()
    missing[::7, 2] = np.nan
    grouped = small(annealing=SMOOTH).fit(missing, TRAIN.labels, qid=qid_of(TRAIN))
    scattered = small(annealing=SMOOTH).fit(missing[order], TRAIN.labels[order], qid=qid_of(TRAIN)[order])
    # Means and deviations of features are sums over the rows, and differ in their last digits.
    np.testing.assert_allclose(scattered.coef_, grouped.coef_, atol=1e-5 * np.abs(grouped.coef_).max())
    np.testing.assert_array_equal(grouped.predict(missing[order]), grouped.predict(missing)[order])
    assert np.isfinite(grouped.predict(missing)).all()


def test_weights_of_queries_count() -> None:
    weights = np.where(qid_of(TRAIN) == TRAIN.qids[0], 1.0, 0.0)
    one = sr.Dataset(TRAIN.features, TRAIN.labels, qid=qid_of(TRAIN), sample_weight=weights)
    ranker = small(regularization=1e-6, metric="ndcg@5").fit(one)
    alone = TRAIN.subset([0])
    assert ranker.score(alone) > small(metric="ndcg@5").fit(TRAIN).score(alone)


@pytest.mark.parametrize(
    "data",
    [
        sr.Dataset([[1.0], [1.0], [1.0]], [0, 1, 2], qid=[1, 1, 1]),
        sr.Dataset([[np.nan], [np.nan]], [0, 1], qid=[1, 1]),
        sr.Dataset([[1.0], [2.0], [3.0]], [0.1, 0.25, -1.5], qid=[1, 1, 2]),
        sr.Dataset([[1e30], [-1e30], [3.0]], [0, 1, 2], qid=[1, 1, 2]),
        sr.Dataset(np.arange(40.0).reshape(-1, 2), np.arange(20) % 3, qid=np.maximum(np.arange(20), 1)),
    ],
    ids=["constant feature", "all missing", "real labels", "huge", "one list of two, others of one"],
)  # fmt: skip
@pytest.mark.parametrize(
    "parameters", [{}, {"features": "kernel_pca"}, {"hidden": (2,)}, {"start": "pairwise"}], ids=str
)
@pytest.mark.filterwarnings("ignore:only 1 of 19 queries")
def test_odd_data_does_no_harm(data: sr.Dataset, parameters: dict[str, Any]) -> None:
    assert np.isfinite(small(**parameters).fit(data, valid=data).predict(data)).all()
    regression = sr.LinearRegressionRanker(regularization=0.1).fit(data, valid=data)
    assert np.isfinite(regression.predict(data)).all()


def test_lists_of_a_thousand_documents() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5)).astype(np.float32)
    data = sr.Dataset(X, (X[:, 0] + 0.5 * X[:, 1] > 2).astype(int), qid=np.repeat([1, 2, 3], 1000))
    assert small(metric="map").fit(data).score(data) > 0.95


def test_fit_and_predict_from_several_threads_at_once() -> None:
    expected = small(regularization=(1.0, 0.01)).fit(TRAIN, valid=VALI)
    found: list[Any] = []

    def work() -> None:
        found.append(small(regularization=(1.0, 0.01)).fit(TRAIN, valid=VALI).coef_)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all((weights == expected.coef_).all() for weights in found)


def test_scikit_learn_conventions() -> None:
    ranker = clone(small(max_iterations=5))
    assert ranker.max_iterations == 5
    ranker.fit(TRAIN.features, TRAIN.labels, qid=qid_of(TRAIN))
    assert ranker.n_features_in_ == 6
    assert "max_iterations=5" in repr(ranker)
    assert ranker.size_ == "6 weights"
    with pytest.raises(NotFittedError, match="this SmoothRank has not been fitted"):
        small().predict(TEST)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"regularization": -1}, "regularization must be a number from 0; found -1."),
        ({"regularization": "best"}, "regularization must be a number from 0, several, or 'auto'; found 'best'."),
        ({"regularization": ()}, "regularization has nothing to choose from: it is empty."),
        ({"annealing": (1.0, 0.0)}, "annealing must be a number above 0; found 0.0."),
        ({"annealing": ()}, "annealing has no steps: it is empty."),
        ({"annealing": 3}, "annealing must be a tuple of numbers, such as (10,); found 3."),
        ({"annealing": np.array(3.0)}, "annealing must be a tuple of numbers, such as (10,); found array(3.)."),
        ({"annealing": np.ones((1, 1))}, "annealing must be a number above 0; found array([1.])."),
        ({"regularization": np.ones((1, 1))}, "regularization must be a number from 0; found array([1.])."),
        ({"start": "regresion"}, "there is no start 'regresion'; did you mean 'regression'?"),
        ({"optimizer": "bfgs"}, "there is no optimizer 'bfgs'; did you mean 'l-bfgs'?"),
        ({"features": "kernelpca"}, "there is no features 'kernelpca'; did you mean 'kernel_pca'?"),
        ({"best_step": 1}, "best_step must be True or False; found 1."),
        ({"max_iterations": 0}, "max_iterations must be a whole number from 1 to 1e+07; found 0."),
        ({"hidden": (3,), "features": "kernel_pca"}, "hidden=(3,) and features='kernel_pca' cannot be combined."),
        ({"hidden": (0,)}, "hidden must be a whole number from 1 to 1e+06; found 0."),
        ({"base_ranker": 3}, "base_ranker must be a fitted linear ranker, with coef_; found int."),
        (
            {"base_ranker": LinearRegression().fit(np.eye(2), [0, 1])},
            "the data has 6 features, but the base ranker is expecting 2 features as input.",
        ),
        (
            {"base_ranker": LinearRegression().fit(np.eye(6), np.arange(6)), "features": "kernel_pca"},
            "features='kernel_pca' takes no base ranker.",
        ),
        ({"metric": "ndgc"}, "there is no metric 'ndgc'; did you mean 'ndcg'?"),
    ],
)
def test_bad_parameters_get_a_clear_error(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(sr.errors.SwaprankError) as caught:
        small(**parameters).fit(TRAIN)
    assert str(caught.value) == message


def test_a_failed_fit_leaves_the_model_as_it_was() -> None:
    ranker = small(regularization=(1.0, 0.1)).fit(TRAIN, valid=VALI)
    expected, judged = ranker.predict(TEST), ranker.candidates_
    with pytest.raises(sr.errors.DataError):
        ranker.fit(TRAIN.subset([0]))
    np.testing.assert_array_equal(ranker.predict(TEST), expected)
    assert ranker.candidates_ == judged


def test_real_data_is_ranked_better_than_by_least_squares(shared_data: Path) -> None:
    train, vali, test = (sr.read(shared_data / "ohsumed" / f"S{part}.txt.xz") for part in (1, 2, 3))
    ranker = sr.SmoothRank(regularization=(100.0, 1.0), max_iterations=5).fit(train, valid=vali)
    squares = sr.LinearRegressionRanker(metric="ndcg@50", regularization=0).fit(train)
    assert ranker.score(test) > squares.score(test)
