from __future__ import annotations

import pickle
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import swaprank as sr
from tests.cli.test_cli import swaprank


def harder(data: sr.Dataset) -> sr.Dataset:
    """Without some of the features that made the labels, so that no weights are right."""
    return sr.Dataset(data.features[:, :4], data.labels, qid=np.repeat(data.qids, np.diff(data.indptr)))


TRAIN, VALI, TEST = (
    harder(part)
    for part in sr.datasets.random_net((60, 30, 30), n_features=6, n_documents=15, levels=4, random_state=0)
)
QID = np.repeat(TRAIN.qids, np.diff(TRAIN.indptr))
STEPS = (4.0, 1.0, 0.25, 0.0625)


def small(**parameters: Any) -> sr.SmoothRank:
    usual: dict[str, Any] = {"metric": "ndcg@10", "regularization": 0.01, "sigmas": STEPS}
    return sr.SmoothRank(**(usual | parameters))


@pytest.mark.parametrize(
    ("metric", "smoothing"),
    [("ndcg@10", "indicators"), ("map", "indicators"), ("map", "ranks"), ("p@3", "indicators"), ("err", "indicators")],
)
def test_it_climbs_the_metric_from_its_start(metric: str, smoothing: Any) -> None:
    start = sr.LinearRegressionRanker(metric=metric, regularization=1000.0).fit(TRAIN)
    ranker = small(metric=metric, smoothing=smoothing, base_ranker=start, regularization=1e-4).fit(TRAIN)
    assert ranker.score(TRAIN) > start.score(TRAIN)
    assert list(ranker.history_) == [f"train smooth {metric}", f"train {metric}"]
    assert all(len(values) == len(STEPS) for values in ranker.history_.values())
    assert ranker.score(TRAIN) == pytest.approx(ranker.history_[f"train {metric}"][-1])


@pytest.mark.parametrize("start", ["regression", "overweighted", "pairwise", "zero"])
def test_every_start_learns(start: Any) -> None:
    ranker = small(start=start).fit(TRAIN)
    assert ranker.score(TEST) > sr.evaluate(TEST, np.zeros(len(TEST)), "ndcg@10").results[0].mean + 0.2


@pytest.mark.parametrize("parameters", [
    {"optimizer": "l-bfgs"},
    {"features": "kernel_pca", "n_landmarks": 60},
    {"features": "kernel_pca", "kernel": "polynomial", "n_landmarks": 40},
    {"hidden": (4,), "max_iterations": 10},
], ids=str)  # fmt: skip
def test_every_kind_of_model_learns_and_is_saved(parameters: dict[str, Any], tmp_path: Path) -> None:
    ranker = small(**parameters).fit(TRAIN)
    assert ranker.score(TEST) > 0.8
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(again.predict(TEST), ranker.predict(TEST))
    again.save(tmp_path / "again.swaprank")
    assert (tmp_path / "model.swaprank").read_bytes() == (tmp_path / "again.swaprank").read_bytes()


def test_a_strong_regularization_keeps_the_start() -> None:
    start = sr.LinearRegressionRanker(metric="ndcg@10").fit(TRAIN)
    held, free = (small(base_ranker=start, regularization=strength).fit(TRAIN).coef_ for strength in (1e9, 0.0))

    def cosine(weights: Any) -> float:
        return float(weights @ start.coef_ / np.linalg.norm(weights) / np.linalg.norm(start.coef_))

    assert cosine(held) == pytest.approx(1.0, abs=1e-9)
    assert cosine(free) < 0.9999


def test_much_smoothing_changes_nothing() -> None:
    # [Chapelle2010, 5.3]: towards infinity the smooth metric is a constant, so that w stays at w0.
    start = sr.LinearRegressionRanker(metric="ndcg@10").fit(TRAIN)
    found = small(base_ranker=start, sigmas=(1e12,), regularization=1.0).fit(TRAIN).coef_
    ratios = found / start.coef_
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-5)


def test_sigma_and_regularization_scale_together_when_held_to_0() -> None:
    # [Chapelle2010, Lemma 1]: scores c times as large with c² sigma and lambda / c² have the same objective.
    from swaprank.linear.annealing import Ascent
    from swaprank.linear.scorers import LinearScorer
    from swaprank.objectives.smooth import SmoothObjective

    smooth = SmoothObjective(sr.metric("ndcg")).bind(TRAIN, random_state=0, n_threads=1)
    scorer, w = LinearScorer(TRAIN.features, np.ones(4)), np.array([0.5, -1.0, 0.2, 0.7])
    first, grad = Ascent(scorer, smooth, np.zeros(4), 0.3).cost(w, 0.5)
    second, other = Ascent(scorer, smooth, np.zeros(4), 0.3 / 9).cost(3 * w, 0.5 * 9)
    assert second == pytest.approx(first, rel=1e-12)
    np.testing.assert_allclose(other, grad / 3, rtol=1e-9)


def test_auto_chooses_on_the_watched_set() -> None:
    ranker = small(regularization="auto").fit(TRAIN, valid=VALI)
    assert sorted(ranker.candidates_) == pytest.approx([10.0**power for power in range(-6, 4)])
    assert ranker.candidates_[ranker.regularization_] == max(ranker.candidates_.values())
    assert ranker.history_["valid ndcg@10"][-1] == max(ranker.candidates_.values())
    assert ranker.score(VALI) == pytest.approx(max(ranker.candidates_.values()))


def test_auto_chooses_by_cross_validation_where_nothing_is_watched() -> None:
    seen: list[sr.Progress] = []
    ranker = small(regularization="auto").fit(TRAIN, callbacks=[seen.append])
    assert len(ranker.candidates_) == 10
    assert ranker.candidates_[ranker.regularization_] == max(ranker.candidates_.values())
    assert [told.round for told in seen] == list(range(1, 2 * len(STEPS) + 1))
    assert {told.n_rounds for told in seen} == {2 * len(STEPS)}
    alone = small(regularization=ranker.regularization_).fit(TRAIN)
    np.testing.assert_allclose(alone.coef_, ranker.coef_, rtol=1e-6)


def test_folds_and_the_watched_set_choose_together_when_asked_for() -> None:
    choices: dict[str, Any] = {"regularization": (1.0, 0.01), "n_folds": 3}
    both, alone = small(**choices).fit(TRAIN, valid=VALI), small(**choices).fit(TRAIN)
    assert set(both.candidates_) == set(alone.candidates_) == {1.0, 0.01}
    assert both.candidates_ != alone.candidates_
    assert both.candidates_[both.regularization_] == max(both.candidates_.values())
    assert len(both.history_["valid ndcg@10"]) == len(STEPS)


def test_one_query_cannot_be_cross_validated() -> None:
    alone = sr.Dataset(TRAIN.features[:15], TRAIN.labels[:15], qid=QID[:15])
    for ranker in (small(regularization="auto"), sr.LinearRegressionRanker()):
        with pytest.raises(sr.DataError, match="one query is too few to choose a regularization by"):
            ranker.fit(alone)
    assert np.isfinite(small().fit(alone).predict(alone)).all()


def test_the_best_sigma_can_be_kept() -> None:
    ranker = small(best_sigma=True, regularization=1e-6).fit(TRAIN, valid=VALI)
    watched = ranker.history_["valid ndcg@10"]
    assert ranker.sigma_ == STEPS[int(np.argmax(watched))]
    assert ranker.score(VALI) == pytest.approx(max(watched))
    assert small().fit(TRAIN, valid=VALI).sigma_ == STEPS[-1]


@pytest.mark.parametrize("kind", [small, sr.LinearRegressionRanker])
def test_save_and_load(kind: Any, tmp_path: Path) -> None:
    ranker = kind(regularization=(1.0, 0.01)).fit(TRAIN, valid=VALI)
    ranker.save(tmp_path / "model.swaprank")
    again: Any = sr.load(tmp_path / "model.swaprank")
    assert type(again) is type(ranker)
    np.testing.assert_array_equal(again.predict(TEST), ranker.predict(TEST))
    assert again.get_params() == ranker.get_params()
    assert again.candidates_ == ranker.candidates_
    assert again.regularization_ == ranker.regularization_
    again.save(tmp_path / "again.swaprank")
    assert (tmp_path / "model.swaprank").read_bytes() == (tmp_path / "again.swaprank").read_bytes()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ranker)).predict(TEST), ranker.predict(TEST))


@pytest.mark.parametrize("kind", [small, sr.LinearRegressionRanker])
def test_a_damaged_file_is_refused(kind: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.swaprank"
    ranker = kind(regularization=0.1).fit(TRAIN)
    ranker.save(path)
    whole = path.read_bytes()
    for damaged in (whole[:-9], whole[: len(whole) // 2], whole[:-20] + b"\xff" * 20):
        path.write_bytes(damaged)
        with pytest.raises(sr.ModelFileError):
            sr.load(path)
    fitted = ranker.model_
    for bad in (
        replace(fitted, weights=fitted.weights * np.nan),
        replace(fitted, weights=fitted.weights[:2]),
        replace(fitted, missing=fitted.missing[:0]),
    ):
        ranker.model_ = bad
        ranker.save(path)
        with pytest.raises(sr.ModelFileError):
            sr.load(path)


def test_a_damaged_kernel_map_is_refused(tmp_path: Path) -> None:
    ranker = small(features="kernel_pca", n_landmarks=10).fit(TRAIN)
    fitted: Any = ranker.model_
    for bad in (
        replace(fitted, weights=fitted.weights[:-1]),
        replace(fitted, map=replace(fitted.map, gamma=-1.0)),
        replace(fitted, map=replace(fitted.map, landmarks=fitted.map.landmarks[:-1])),
        replace(fitted, map=replace(fitted.map, kernel="cubic")),
    ):
        ranker.model_ = bad
        ranker.save(tmp_path / "model.swaprank")
        with pytest.raises(sr.ModelFileError):
            sr.load(tmp_path / "model.swaprank")


@pytest.mark.parametrize("kind", [small, sr.LinearRegressionRanker])
def test_model_is_identical_for_any_thread_count(kind: Any, tmp_path: Path) -> None:
    files = []
    for n_threads in (1, 2, 5):
        kind(regularization=(1.0, 0.01), n_threads=n_threads).fit(TRAIN, valid=VALI).save(tmp_path / "m")
        files.append((tmp_path / "m").read_bytes())
    assert len(set(files)) == 1


def test_scores_do_not_depend_on_threads_or_on_other_rows() -> None:
    ranker = small().fit(TRAIN)
    many = np.random.default_rng(0).normal(size=(300_000, 4)).astype(np.float32)
    expected = ranker.set_params(n_threads=1).predict(many)
    np.testing.assert_array_equal(ranker.set_params(n_threads=3).predict(many), expected)
    np.testing.assert_array_equal(ranker.predict(many[7:9]), expected[7:9])


def test_queries_of_weight_0_teach_nothing() -> None:
    labels = np.concatenate((TRAIN.labels, 3 - TRAIN.labels))
    both, qid = np.concatenate((TRAIN.features, TRAIN.features)), np.concatenate((QID, QID + 1000))
    weights = np.repeat([1.0, 0.0], len(TRAIN))
    plain = small().fit(TRAIN)
    for kind in (small, sr.LinearRegressionRanker):
        right, wrong = (
            kind(regularization=0.01).fit(sr.Dataset(both, labels, qid=qid, sample_weight=weight)).score(TEST)
            for weight in (weights, 1 - weights)
        )
        assert right > plain.score(TEST) - 0.03
        assert wrong < right - 0.2
    same = small().fit(TRAIN.features, TRAIN.labels, qid=QID, sample_weight=np.ones(len(TRAIN)))
    np.testing.assert_array_equal(same.coef_, plain.coef_)


def test_base_scores_are_started_from_and_added() -> None:
    base = 3.0 * TRAIN.column(0).astype(float)
    data = sr.Dataset(TRAIN.features, TRAIN.labels, qid=QID, base_score=base)
    for ranker in (small(), sr.LinearRegressionRanker(regularization=0.01)):
        ranker.fit(data)
        np.testing.assert_allclose(ranker.predict(data), ranker.predict(TRAIN.features) + base)
        assert ranker.score(data) > 0.8


def test_missing_values_count_as_the_mean() -> None:
    X = TRAIN.features.copy()
    X[::4, 1] = np.nan
    filled = X.copy()
    filled[::4, 1] = np.nanmean(X[:, 1], dtype=np.float64)
    for ranker in (small(), sr.LinearRegressionRanker(regularization=0.1)):
        ranker.fit(X, TRAIN.labels, qid=QID)
        np.testing.assert_allclose(ranker.predict(X), ranker.predict(filled), atol=1e-5)


def test_rows_in_any_order_learn_and_score_the_same() -> None:
    order = np.arange(len(TRAIN)).reshape(60, 15).T.ravel()
    scattered = sr.Dataset(TRAIN.features[order], TRAIN.labels[order], qid=QID[order])
    first, second = (small().fit(data) for data in (TRAIN, scattered))
    np.testing.assert_allclose(second.score(scattered), first.score(TRAIN), atol=0.01)
    np.testing.assert_array_equal(first.predict(scattered), first.predict(TRAIN)[order])


def test_ctrl_c_keeps_the_best_so_far() -> None:
    def interrupt(told: sr.Progress) -> None:
        if told.round == 2:
            signal.raise_signal(signal.SIGINT)

    ranker = small().fit(TRAIN, valid=VALI, callbacks=[interrupt])
    assert ranker.interrupted_
    watched = ranker.history_["valid ndcg@10"]
    assert len(watched) == 2
    assert ranker.score(VALI) == pytest.approx(max(watched))
    assert ranker.sigma_ == STEPS[int(np.argmax(watched))]


def test_ctrl_c_while_folds_are_tried_leaves_the_start(tmp_path: Path) -> None:
    def interrupt(told: sr.Progress) -> None:
        signal.raise_signal(signal.SIGINT)

    ranker = small(regularization="auto").fit(TRAIN, callbacks=[interrupt])
    assert ranker.interrupted_
    assert ranker.sigma_ == np.inf
    assert ranker.score(TEST) > 0.8
    ranker.save(tmp_path / "model.swaprank")
    again: Any = sr.load(tmp_path / "model.swaprank")
    assert again.sigma_ == np.inf


def test_a_callback_can_stop() -> None:
    ranker = small().fit(TRAIN, valid=VALI, callbacks=[lambda told: told.round == 2])
    assert not ranker.interrupted_
    assert ranker.sigma_ == STEPS[1]
    assert len(ranker.history_["valid ndcg@10"]) == 2


@pytest.mark.parametrize(
    "data",
    [
        sr.Dataset([[1.0]], [1], qid=[1]),
        sr.Dataset([[1.0], [2.0]], [1, 1], qid=[1, 1]),
        sr.Dataset([[1.0], [1.0], [1.0]], [0, 1, 2], qid=[1, 1, 1]),
        sr.Dataset([[np.nan], [np.nan]], [0, 1], qid=[1, 1]),
        sr.Dataset(np.arange(40.0).reshape(-1, 2), np.arange(20) % 3, qid=np.arange(20)),
    ],
    ids=["one document", "one label", "constant feature", "all missing", "lists of one"],
)  # fmt: skip
def test_odd_data_does_no_harm(data: sr.Dataset) -> None:
    for ranker in (small(), sr.LinearRegressionRanker(regularization=0.1)):
        assert np.isfinite(ranker.fit(data, valid=data).predict(data)).all()


def test_scikit_learn_conventions() -> None:
    ranker = clone(small(start="zero"))
    assert ranker.get_params() == small(start="zero").get_params()
    assert not hasattr(ranker, "model_")
    ranker.fit(TRAIN.features, TRAIN.labels, qid=QID)
    assert ranker.n_features_in_ == 4
    assert ranker.size_ == "4 weights"
    assert clone(small(base_ranker=ranker)).base_ranker is ranker
    with pytest.raises(NotFittedError, match="this SmoothRank has not been fitted"):
        small().predict(TEST)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"regularization": -1}, "regularization must be a number from 0; found -1."),
        ({"regularization": "best"}, "regularization must be a number from 0, several, or 'auto'; found 'best'."),
        ({"regularization": ()}, "regularization has nothing to choose from: it is empty."),
        ({"start": "ridge"}, "there is no start 'ridge'; known are overweighted, pairwise, regression, zero."),
        ({"sigmas": ()}, "sigmas has no steps: it is empty."),
        ({"sigmas": (1.0, 0.0)}, "sigmas must be a number above 0; found 0.0."),
        ({"sigmas": 2.0}, "sigmas must be a tuple of numbers; found 2.0."),
        ({"smoothing": "rank"}, "there is no smoothing 'rank'; did you mean 'ranks'?"),
        ({"smoothing": "ranks"}, "smoothing='ranks' is for map without a cut-off, found ndcg@10."),
        ({"optimizer": "sgd"}, "there is no optimizer 'sgd'; known are cg, l-bfgs."),
        ({"max_iterations": 0}, "max_iterations must be a whole number from 1 to 1e+07; found 0."),
        ({"n_folds": 1}, "n_folds must be a whole number from 2 to 1e+07, or None; found 1."),
        ({"standardize": 1}, "standardize must be True or False; found 1."),
        ({"features": "kernel"}, "there is no features 'kernel'; did you mean 'kernel_pca'?"),
        ({"hidden": (3,), "features": "kernel_pca"}, "hidden=(3,) and features='kernel_pca' do not go together."),
        ({"hidden": (0,)}, "hidden must be a whole number from 1 to 1e+06; found 0."),
        ({"base_ranker": 3}, "a base ranker must be a fitted linear one, with coef_; found int."),
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters_get_a_clear_error(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(sr.SwaprankError) as caught:
        small(**parameters).fit(TRAIN)
    assert str(caught.value) == message


@pytest.mark.parametrize("metric", ["pairwise", "bpref", sr.CustomMetric(evaluate=lambda labels: labels[0])], ids=str)
def test_a_metric_that_is_not_made_of_gains_at_ranks_is_refused(metric: Any) -> None:
    with pytest.raises(sr.MetricError, match="cannot be smoothed: it is not made of gains at ranks"):
        small(metric=metric).fit(TRAIN)


def test_a_failed_fit_leaves_the_model_as_it_was() -> None:
    ranker = small().fit(TRAIN)
    expected = ranker.predict(TEST)
    with pytest.raises(sr.ParameterError):
        ranker.set_params(sigmas=()).fit(TRAIN.features[:, :3], TRAIN.labels, qid=QID)
    np.testing.assert_array_equal(ranker.predict(TEST), expected)


@pytest.mark.parametrize("target", ["gains", "labels"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strength", [0.0, 0.3])
def test_regression_is_scikit_learns(target: Any, weighted: bool, strength: float) -> None:
    rng = np.random.default_rng(0)
    weights = rng.random(len(TRAIN)) if weighted else np.ones(len(TRAIN))
    X, y = TRAIN.features.astype(float), TRAIN.labels
    data = sr.Dataset(TRAIN.features, y, qid=QID, sample_weight=weights)
    ranker = sr.LinearRegressionRanker(target, regularization=strength, standardize=False).fit(data)
    expected = Ridge(alpha=strength * weights.sum()).fit(X, y if target == "labels" else 2.0**y - 1, weights)
    np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=1e-5, atol=1e-7)
    standardised = sr.LinearRegressionRanker(target, regularization=strength).fit(data)
    deviation = X.std(axis=0)
    expected.fit(X / deviation, y if target == "labels" else 2.0**y - 1, weights)
    np.testing.assert_allclose(standardised.coef_, expected.coef_ / deviation, rtol=1e-4, atol=1e-6)


def test_overweighted_regression_is_scikit_learns_with_weights() -> None:
    y = TRAIN.labels
    share = np.where(y > 0, 0.5 / (y > 0).sum(), 0.5 / (y == 0).sum())
    expected = Ridge(alpha=0.1).fit(TRAIN.features.astype(float), y, share)
    ranker = sr.LinearRegressionRanker("labels", regularization=0.1, overweight=True, standardize=False).fit(TRAIN)
    np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=1e-5)


def test_regression_is_chosen_on_the_watched_set() -> None:
    ranker = sr.LinearRegressionRanker().fit(TRAIN, valid=VALI)
    assert ranker.candidates_[ranker.regularization_] == max(ranker.candidates_.values())
    assert ranker.history_["valid ndcg@10"] == [pytest.approx(ranker.score(VALI))]
    with pytest.raises(sr.ParameterError, match="there is no target 'label'; did you mean 'labels'"):
        sr.LinearRegressionRanker("label").fit(TRAIN)  # type: ignore[arg-type]


def test_the_command_line_trains_the_same_model(tmp_path: Path) -> None:
    for name, part in (("train", TRAIN), ("vali", VALI)):
        sr.write_letor(part, tmp_path / f"{name}.txt")
    trained = swaprank(
        "train", "train.txt", "--valid", "vali.txt", "--ranker", "smoothrank", "--metric", "ndcg@10", "--set",
        "regularization=(1.0, 0.01)", "--set", "sigmas=(4.0, 1.0)", "-o", "model.swaprank", folder=tmp_path,
    )  # fmt: skip
    assert trained.returncode == 0, trained.stderr
    assert "4 weights learned from 900 documents" in trained.stdout
    train, vali = (sr.read(tmp_path / f"{name}.txt") for name in ("train", "vali"))
    small(regularization=(1.0, 0.01), sigmas=(4.0, 1.0)).fit(train, valid=vali).save(tmp_path / "twin.swaprank")
    assert (tmp_path / "model.swaprank").read_bytes() == (tmp_path / "twin.swaprank").read_bytes()
