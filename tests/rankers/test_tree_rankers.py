from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import NotFittedError

import swaprank as sr
from swaprank.registry import make_ranker
from tests.models.random_forests import walk

TRAIN, VALI, TEST = sr.datasets.random_net((120, 40, 40), n_features=8, n_documents=25, levels=5, random_state=0)


def small(**parameters: Any) -> sr.LambdaMART:
    return sr.LambdaMART(**({"n_trees": 15, "n_leaves": 8} | parameters))


def ndcg(ranker: Any, data: sr.Dataset = TEST) -> float:
    return sr.evaluate(data, ranker.predict(data), "ndcg@10")["ndcg@10"].mean


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric",
    ["ndcg", "ndcg@5", "dcg@10", "map", "mrr", "err", "p@10", "pairwise", "bpref", "rprec", "rbp",
     sr.metrics.CumulativeMetric(gain=lambda label: label, discount=lambda r: 1 / r),
     sr.metrics.CascadeMetric(stop=lambda label: label / 8),
     sr.metrics.CustomMetric(evaluate=lambda labels: labels[:3].sum())],
    ids=str,
)  # fmt: skip
def test_every_metric_can_be_learned(metric: str | sr.metrics.Metric) -> None:
    ranker = small(metric=metric).fit(TRAIN)
    before = sr.evaluate(TEST, np.zeros(len(TEST)), metric).results[0].mean
    assert sr.evaluate(TEST, ranker.predict(TEST), metric).results[0].mean > before * 1.05
    assert ndcg(ranker) > 0.5


@pytest.mark.parametrize("normalize", [True, False])
def test_model_is_identical_for_any_thread_count_and_run(tmp_path: Path, normalize: bool) -> None:
    files = []
    for at, n_threads in enumerate((1, 2, 2, 3, 7)):
        ranker = small(normalize=normalize, query_fraction=0.8, feature_fraction=0.7, document_fraction=0.5)
        ranker.set_params(n_threads=n_threads).fit(TRAIN).save(tmp_path / f"{at}.swaprank")
        files.append((tmp_path / f"{at}.swaprank").read_bytes())
    assert len(set(files)) == 1


def test_rows_in_any_order_learn_and_score_the_same() -> None:
    # The first document of every query, then the second, and so on: queries still appear in the same order.
    order = np.arange(len(TRAIN)).reshape(120, 25).T.ravel()
    qid = np.repeat(TRAIN.qids, np.diff(TRAIN.indptr))
    grouped = small().fit(TRAIN)
    scattered = small().fit(TRAIN.features[order], TRAIN.labels[order], qid=qid[order])
    np.testing.assert_array_equal(scattered.predict(TEST), grouped.predict(TEST))
    np.testing.assert_array_equal(grouped.predict(TEST.features[::-1].copy())[::-1], grouped.predict(TEST))


def test_history_and_early_stopping() -> None:
    ranker = small(n_trees=400, learning_rate=0.5, early_stopping_rounds=5)
    ranker.fit(TRAIN, valid={"train": TRAIN, "vali": VALI}, metrics=["ndcg@10", "map"])
    assert {name: list(of_set) for name, of_set in ranker.history_.items()} == {
        "train": ["ndcg@10", "map"],
        "vali": ["ndcg@10", "map"],
    }
    watched = ranker.history_["vali"]["ndcg@10"]
    assert ranker.n_trees_ == ranker.best_round_ == int(np.argmax(watched)) + 1
    assert len(watched) == ranker.n_rounds_ == ranker.n_trees_ + 5 < 400
    assert ndcg(ranker, VALI) == pytest.approx(max(watched))


def test_history_equals_the_metrics_of_staged_scores() -> None:
    ranker = small().fit(TRAIN, valid=VALI)
    stages = [sr.evaluate(VALI, scores, "ndcg@10").results[0].mean for _, scores in ranker.staged_predict(VALI)]
    assert stages == pytest.approx(ranker.history_["valid"]["ndcg@10"][: ranker.n_trees_])
    np.testing.assert_array_equal(ranker.predict(TEST, n_trees=5), dict(ranker.staged_predict(TEST))[5])
    assert (ranker.predict(TEST, n_trees=0) == 0).all()


def test_staged_scores_are_the_same_however_many_stages_are_computed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ranker = small().fit(TRAIN)
    expected = {count: scores.tolist() for count, scores in ranker.staged_predict(TEST, every=2)}
    assert list(expected) == list(range(2, ranker.n_trees_ + 1, 2))
    monkeypatch.setattr("swaprank.rankers.forest_methods._STAGED_SCORES", 3 * len(TEST))
    assert {count: scores.tolist() for count, scores in ranker.staged_predict(TEST, every=2)} == expected
    assert expected == {count: ranker.predict(TEST, n_trees=count).tolist() for count in expected}
    with pytest.raises(sr.errors.ParameterError, match="every must be a whole number from 1; found 0"):
        next(ranker.staged_predict(TEST, every=0))


def test_a_callback_sees_every_round_and_can_stop() -> None:
    seen: list[sr.rankers.Progress] = []

    def look(progress: sr.rankers.Progress) -> bool:
        seen.append(progress)
        return progress.round == 4

    ranker = small().fit(TRAIN, valid=VALI, callbacks=[look])
    assert [progress.round for progress in seen] == [1, 2, 3, 4]
    assert ranker.n_rounds_ == 4
    assert seen[-1].measured["valid"]["ndcg@10"] == ranker.history_["valid"]["ndcg@10"][-1]


def test_continued_training_equals_one_long_training() -> None:
    sampled = {"metric": "ndcg", "random_state": 3, "query_fraction": 0.8, "feature_fraction": 0.7}
    long = small(n_trees=12, **sampled).fit(TRAIN)
    first = small(n_trees=8, **sampled).fit(TRAIN)
    more = small(n_trees=4, **sampled).fit(TRAIN, base_ranker=first)
    for name, array in long.model_.to_parts().arrays.items():
        np.testing.assert_array_equal(more.model_.to_parts().arrays[name], array)
    np.testing.assert_array_equal(more.predict(TEST, n_trees=8), first.predict(TEST))
    assert ndcg(more, TRAIN) > ndcg(first, TRAIN)


def test_base_scores_are_started_from_and_added() -> None:
    base = 3.0 * TRAIN.column(0).astype(float)
    qid = np.repeat(TRAIN.qids, np.diff(TRAIN.indptr))
    data = sr.Dataset(TRAIN.features, TRAIN.labels, qid=qid, base_score=base)
    ranker = small().fit(data)
    np.testing.assert_allclose(ranker.predict(data), ranker.predict(TRAIN.features) + base)
    assert not np.allclose(ranker.predict(TRAIN.features), small().fit(TRAIN).predict(TRAIN.features))


def test_save_and_load(tmp_path: Path) -> None:
    ranker = small(metric="map").fit(TRAIN, valid=VALI)
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(ranker.predict(TEST), again.predict(TEST))
    assert again.get_params() == ranker.get_params()
    assert again.history_ == ranker.history_
    again.save(tmp_path / "again.swaprank")
    assert (tmp_path / "model.swaprank").read_bytes() == (tmp_path / "again.swaprank").read_bytes()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ranker)).predict(TEST), ranker.predict(TEST))


def test_contributions_and_importances() -> None:
    ranker = small().fit(TRAIN)
    np.testing.assert_allclose(ranker.contributions(TEST).sum(axis=1), ranker.predict(TEST), atol=1e-9)
    assert set(ranker.importances()) == set(TRAIN.feature_names)
    assert sum(ranker.importances("splits").values()) == len(ranker.model_.feature)
    falls = ranker.permutation_importances(TEST, n_repeats=2)
    assert max(falls.values()) > 0.01
    assert list(falls.values()) == sorted(falls.values(), reverse=True)
    assert ranker.to_text(0).startswith("if ")


def test_mart_is_gradient_boosting() -> None:
    ours = sr.MART(n_trees=30, n_leaves=8, learning_rate=0.2, min_docs_in_leaf=1).fit(TRAIN)
    theirs = GradientBoostingRegressor(
        n_estimators=30, max_leaf_nodes=8, learning_rate=0.2, max_depth=None, init="zero"
    ).fit(TRAIN.features, TRAIN.labels)
    error = np.mean((ours.predict(TEST) - TEST.labels) ** 2)
    assert error == pytest.approx(np.mean((theirs.predict(TEST.features) - TEST.labels) ** 2), rel=0.05)
    assert np.corrcoef(ours.predict(TEST), theirs.predict(TEST.features))[0, 1] > 0.98


@pytest.mark.parametrize("loss", ["squared", "logistic", "balanced_logistic"])
def test_mart_learns(loss: Any) -> None:
    assert ndcg(sr.MART(objective=loss, n_trees=15, n_leaves=8).fit(TRAIN)) > 0.55


@pytest.mark.parametrize(
    "data",
    [
        sr.Dataset([[1.0], [1.0], [1.0]], [0, 1, 2], qid=[1, 1, 1]),
        sr.Dataset([[np.nan], [np.nan]], [0, 1], qid=[1, 1]),
        sr.Dataset([[1.0], [2.0], [3.0]], [0.1, 0.25, -1.5], qid=[1, 1, 2]),
    ],
    ids=["constant feature", "all missing", "real labels"],
)  # fmt: skip
def test_odd_data_does_no_harm(data: sr.Dataset) -> None:
    for ranker in (sr.LambdaMART(n_trees=3, min_docs_in_leaf=1), sr.MART(n_trees=3, min_docs_in_leaf=1)):
        assert np.isfinite(ranker.fit(data, valid=data).predict(data)).all()


def test_a_list_of_fifty_thousand_documents() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 3)).astype(np.float32)
    data = sr.Dataset(X, np.clip(np.round(X[:, 0] + 1), 0, 4), qid=np.zeros(50_000, int))
    assert ndcg(small(n_trees=5, n_leaves=31).fit(data), data) > ndcg(small(n_trees=0).fit(data), data) + 0.3


def test_fit_and_predict_from_several_threads_at_once() -> None:
    expected = small().fit(TRAIN)
    found: list[Any] = []

    def work() -> None:
        ranker = small().fit(TRAIN)
        found.append(ranker.predict(TEST))
        found.append(expected.predict(TEST))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all((scores == expected.predict(TEST)).all() for scores in found)


def test_scikit_learn_conventions() -> None:
    ranker = clone(small(n_leaves=5))
    assert ranker.n_leaves == 5
    qid = np.repeat(TRAIN.qids, np.diff(TRAIN.indptr))
    ranker.fit(TRAIN.features, TRAIN.labels, qid=qid)
    assert ranker.n_features_in_ == 8
    assert "n_leaves=5" in repr(ranker)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_leaves": 1}, "n_leaves must be a whole number from 2 to 65536; found 1."),
        ({"learning_rate": 0}, "learning_rate must be a number above 0; found 0."),
        ({"max_bins": 256}, "max_bins must be a whole number from 2 to 255; found 256."),
        ({"query_fraction": 1.5}, "query_fraction must be a number above 0 to 1; found 1.5."),
        ({"n_trees": 2.5}, "n_trees must be a whole number from 0 to 1e+07, or None; found 2.5."),
        ({"normalize": "no"}, "normalize must be True or False; found 'no'."),
        ({"max_depth": 0}, "max_depth must be a whole number from 1, or None; found 0."),
        ({"metric": "ndgc"}, "there is no metric 'ndgc'; did you mean 'ndcg'?"),
        ({"base_ranker": 3}, "base_ranker must be a fitted ranker, found int."),
        ({"early_stopping_rounds": 5}, "early_stopping_rounds needs a data set to watch: fit(…, valid=…)."),
    ],
)
def test_bad_parameters_get_a_clear_error(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(sr.errors.SwaprankError) as caught:
        small(**parameters).fit(TRAIN)
    assert str(caught.value) == message


def test_bad_requests_get_a_clear_error() -> None:
    with pytest.raises(NotFittedError, match="this LambdaMART has not been fitted"):
        small().predict(TEST)
    ranker = small(n_trees=2).fit(TRAIN)
    with pytest.raises(sr.errors.DataError, match="X has 3 features, but LambdaMART is expecting 8 features as input"):
        ranker.predict(np.zeros((2, 3)))
    with pytest.raises(sr.errors.DataError, match="requires y to be passed, but the target y is None: documents are"):
        small().fit(TRAIN.features)
    with pytest.raises(sr.errors.DataError, match="a data set has its own"):
        small().fit(TRAIN, TRAIN.labels)
    with pytest.raises(sr.errors.ParameterError, match="there is no objective 'square'; did you mean 'squared'"):
        sr.MART(objective="square").fit(TRAIN)  # type: ignore[arg-type]
    with pytest.raises(sr.errors.ParameterError, match="n_trees must be from 0 to 2; found 3"):
        ranker.predict(TEST, n_trees=3)


def test_bad_base_scores_do_not_make_scores_explode() -> None:
    qid = np.repeat(TRAIN.qids, np.diff(TRAIN.indptr))
    for wrong in (10.0, 50.0, 1000.0):
        data = sr.Dataset(TRAIN.features, TRAIN.labels, qid=qid, base_score=-wrong * TRAIN.labels)
        ranker = small(n_trees=5).fit(data)
        assert np.abs(ranker.model_.leaf_value).max() <= 0.1 * 100 + 1e-9
        assert len(ranker.model_.feature) > 0


def test_the_base_ranker_is_kept_if_no_round_is_better() -> None:
    perfect = sr.Dataset(VALI.labels[:, None], VALI.labels, qid=np.repeat(VALI.qids, np.diff(VALI.indptr)))
    base = small(n_trees=30, min_docs_in_leaf=1).fit(perfect)
    upside_down = sr.Dataset(perfect.features, 4 - perfect.labels, qid=np.repeat(VALI.qids, np.diff(VALI.indptr)))
    more = small(n_trees=30, early_stopping_rounds=3).fit(upside_down, valid=perfect, base_ranker=base)
    assert (more.n_trees_, more.best_round_) == (30, 0)


def test_a_failed_fit_leaves_the_model_as_it_was() -> None:
    ranker = small(n_trees=2).fit(TRAIN)
    expected = ranker.predict(TEST)
    with pytest.raises(sr.errors.ParameterError):
        ranker.set_params(n_leaves=0).fit(TRAIN.features[:, :3], TRAIN.labels, qid=np.zeros(len(TRAIN), int))
    np.testing.assert_array_equal(ranker.predict(TEST), expected)


def test_a_base_ranker_survives_cloning() -> None:
    base = small(n_trees=3).fit(TRAIN)
    assert clone(small(n_trees=2, base_ranker=base)).fit(TRAIN).n_trees_ == 5
    with pytest.raises(sr.errors.ParameterError, match="found LambdaMART that is not fitted"):
        small(base_ranker=small()).fit(TRAIN)


def test_a_list_of_gains_is_saved_with_the_model(tmp_path: Path) -> None:
    metric = sr.metrics.NDCG(10, gain=[0, 1, 2, 4, 9, 20])
    ranker = small(n_trees=2, metric=metric).fit(TRAIN)
    ranker.save(tmp_path / "graded.swaprank")
    again = sr.load(tmp_path / "graded.swaprank")
    assert again.training_metric() == metric
    assert again.score(TEST) == ranker.score(TEST)


@pytest.mark.parametrize(
    "own",
    [
        sr.metrics.CumulativeMetric(10, gain=lambda label: label**3, name="ndcg"),
        sr.metrics.NDCG(10, gain=lambda label: label**3),
        sr.metrics.NDCG(10, discount=lambda rank: 1 / rank),
    ],
)
def test_an_own_metric_is_not_read_back_as_another(own: sr.metrics.Metric, tmp_path: Path) -> None:
    small(n_trees=2, metric=own).fit(TRAIN).save(tmp_path / "own.swaprank")
    again = sr.load(tmp_path / "own.swaprank")
    assert np.isfinite(again.predict(TEST)).all()
    with pytest.raises(
        sr.errors.MetricError, match=r"a metric of your own, 'ndcg.*', which a model file does not hold"
    ):
        again.fit(TRAIN)
    assert 0 < again.set_params(metric=own).score(TEST) <= 1


def test_seeds_may_be_numpy_integers() -> None:
    np.testing.assert_array_equal(
        small(n_trees=2, random_state=np.int64(3)).fit(TRAIN).predict(TEST),
        small(n_trees=2, random_state=3).fit(TRAIN).predict(TEST),
    )


def test_permutation_importances_start_from_the_base_scores() -> None:
    """Where base scores decide every order, no feature matters."""
    base = 1e6 * np.random.default_rng(0).normal(size=len(TEST))
    qid = np.repeat(TEST.qids, np.diff(TEST.indptr))
    data = sr.Dataset(TEST.features, TEST.labels, qid=qid, base_score=base)
    ranker = small().fit(TRAIN)
    assert set(ranker.permutation_importances(data, n_repeats=1).values()) == {0.0}
    assert max(ranker.permutation_importances(TEST, n_repeats=1).values()) > 0.01


def test_learning_rates_by_round_equal_a_training_for_each_rate(tmp_path: Path) -> None:
    by_round = small(n_trees=5, learning_rate=[0.4, 0.2, 0.05]).fit(TRAIN)
    one = small(n_trees=1, learning_rate=0.4).fit(TRAIN)
    two = small(n_trees=1, learning_rate=0.2).fit(TRAIN, base_ranker=one)
    all_five = small(n_trees=3, learning_rate=0.05).fit(TRAIN, base_ranker=two)
    np.testing.assert_array_equal(by_round.predict(TEST), all_five.predict(TEST))
    assert not np.array_equal(by_round.predict(TEST), small(n_trees=5, learning_rate=0.4).fit(TRAIN).predict(TEST))
    # A training that continues another one counts its own rounds.
    continued = small(n_trees=2, learning_rate=np.array([0.2, 0.05])).fit(TRAIN, base_ranker=one)
    np.testing.assert_array_equal(continued.predict(TEST), by_round.predict(TEST, n_trees=3))

    by_round.save(tmp_path / "by_round.swaprank")
    again: Any = sr.load(tmp_path / "by_round.swaprank")
    assert again.learning_rate == (0.4, 0.2, 0.05)
    settings = [f"learning_rate={text}" for text in ("(0.4,0.2,0.05)", "[0.4, 0.2, 0.05]", "0.4,0.2,0.05")]
    for copied in (clone(by_round), clone(again), *(make_ranker("lambdamart", [setting]) for setting in settings)):
        copied.set_params(n_trees=5, n_leaves=8)
        np.testing.assert_array_equal(copied.fit(TRAIN).predict(TEST), by_round.predict(TEST))


def test_leaves_by_round_equal_a_training_for_each_number(tmp_path: Path) -> None:
    by_round = small(n_trees=5, n_leaves=[3, 9, 5]).fit(TRAIN)
    assert np.diff(by_round.model_.tree_leaves).tolist() == [3, 9, 5, 5, 5]
    one = small(n_trees=1, n_leaves=3).fit(TRAIN)
    two = small(n_trees=1, n_leaves=9).fit(TRAIN, base_ranker=one)
    all_five = small(n_trees=3, n_leaves=5).fit(TRAIN, base_ranker=two)
    np.testing.assert_array_equal(by_round.predict(TEST), all_five.predict(TEST))
    continued = small(n_trees=2, n_leaves=np.array([9, 5])).fit(TRAIN, base_ranker=one)
    np.testing.assert_array_equal(continued.predict(TEST), by_round.predict(TEST, n_trees=3))
    by_round.save(tmp_path / "by_round.swaprank")
    again: Any = sr.load(tmp_path / "by_round.swaprank")
    assert again.n_leaves == (3, 9, 5)
    for copied in (clone(again), make_ranker("lambdamart", ["n_leaves=3,9,5"])):
        np.testing.assert_array_equal(copied.set_params(n_trees=5).fit(TRAIN).predict(TEST), by_round.predict(TEST))
    for wrong, message in (((), "found none"), ((7, 1), "found 1"), ((7.5,), "found 7.5")):
        with pytest.raises(sr.errors.ParameterError, match=f"n_leaves must be .*{message}"):
            small(n_leaves=wrong).fit(TRAIN)


@pytest.mark.parametrize(
    ("rates", "message"),
    [((), "one per round; found none"), ((0.1, 0.0), "above 0; found 0.0"), ((0.1, "x"), "above 0; found 'x'"),
     (np.ones((2, 2)), "above 0; found array"), ("0.1", "above 0; found '0.1'")],
    ids=str,
)  # fmt: skip
def test_wrong_learning_rates(rates: Any, message: str) -> None:
    with pytest.raises(sr.errors.ParameterError, match=f"learning_rate must be a number.*{message}"):
        small(learning_rate=rates).fit(TRAIN)


def test_nets_take_one_learning_rate() -> None:
    with pytest.raises(sr.errors.ParameterError, match=r"learning_rate must be a number above 0; found \(0\.1, 0\.2\)"):
        sr.RankNet(learning_rate=(0.1, 0.2)).fit(TRAIN)  # type: ignore[arg-type]


def test_leaves_are_those_of_a_walk_down_the_trees() -> None:
    X = TEST.features.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    ranker = small(max_depth=3).fit(TRAIN)
    leaves = ranker.apply(X)
    assert leaves.tolist() == [[walk(ranker.model_, tree, x) for tree in range(ranker.n_trees_)] for x in X]
    values = ranker.model_.leaf_value[leaves + ranker.model_.tree_leaves[:-1]]
    np.testing.assert_allclose(values.sum(axis=1), ranker.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(ranker.apply(sr.Dataset(X, TEST.labels, qid=np.arange(len(X)))), leaves)
    assert small(n_trees=0).fit(TRAIN).apply(TEST).shape == (len(TEST), 0)
    with pytest.raises(NotFittedError):
        small().apply(TEST)
