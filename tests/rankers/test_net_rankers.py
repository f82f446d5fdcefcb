from __future__ import annotations

import copy
import pickle
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import swaprank as sr
from swaprank.models.layers import layer_weights
from swaprank.nets import net_training
from swaprank.nets.epochs import train_epoch
from swaprank.objectives.constructions import CONSTRUCTIONS
from swaprank.objectives.ranknet_costs import ranknet_costs, total_cost
from swaprank.objectives.ranknet_objective import RankNetObjective
from tests.interruption import interrupted_fit, pressed_after_the_first_round, pressed_at_call
from tests.models.naive_net import naive_cost
from tests.rankers.small_nets import KINDS, QID, TEST, TRAIN, VALI, measured, small


@pytest.mark.parametrize(
    "metric",
    ["ndcg", "ndcg@5", "map", "mrr", "err", "p@10", "pairwise", "bpref", "rprec", "rbp",
     sr.metrics.CumulativeMetric(gain=lambda label: label, discount=lambda r: 1 / r),
     sr.metrics.CustomMetric(evaluate=lambda labels: labels[:3].sum())],
    ids=str,
)  # fmt: skip
def test_every_metric_can_be_learned(metric: str | sr.metrics.Metric) -> None:
    ranker = small(metric=metric).fit(TRAIN)
    before = sr.evaluate(TEST, np.zeros(len(TEST)), metric).results[0].mean
    assert measured(ranker, metric) > before * 1.1
    assert measured(ranker) > 0.7


@pytest.mark.parametrize("construction", ["pairs", *CONSTRUCTIONS])
def test_every_construction_learns(construction: str) -> None:
    assert measured(small(construction=construction, n_epochs=20, normalize=False).fit(TRAIN)) > 0.7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hidden", [(), (3,), (10, 5)])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
def test_every_shape_learns(kind: type[Any], hidden: tuple[int, ...], activation: str) -> None:
    ranker = kind(hidden=hidden, activation=activation, learning_rate=0.01, n_epochs=10).fit(TRAIN)
    assert measured(ranker) > 0.75
    assert ranker.model_.hidden == hidden


@pytest.mark.parametrize(("optimizer", "rate"), [("sgd", 0.05), ("momentum", 0.005), ("adam", 0.005)])
@pytest.mark.parametrize("batch_queries", [1, 7, 1000])
def test_every_optimizer_learns(optimizer: Any, rate: float, batch_queries: int) -> None:
    parameters = {"optimizer": optimizer, "learning_rate": rate, "batch_queries": batch_queries}
    assert measured(small(**parameters, n_epochs=60 if batch_queries > 7 else 20).fit(TRAIN)) > 0.7


@pytest.mark.parametrize("training", ["factored", "pairs", "online"])
@pytest.mark.parametrize("ties", [False, True])
def test_every_training_of_ranknet_learns(training: Any, ties: bool) -> None:
    ranker = sr.RankNet(
        hidden=(5,), training=training, ties=ties, optimizer="sgd", learning_rate=0.002, n_epochs=8
    ).fit(TRAIN)
    assert measured(ranker, "pairwise") > 0.8


def test_model_is_identical_for_any_thread_count_and_run(tmp_path: Path) -> None:
    files = []
    for at, n_threads in enumerate((1, 2, 2, 7)):
        ranker = small(
            n_threads=n_threads, batch_queries=3, restart_rounds=2, restart_watch="valid", decay_probability=0.5
        ).fit(TRAIN, valid=VALI)
        ranker.save(tmp_path / f"{at}.swaprank")
        files.append((tmp_path / f"{at}.swaprank").read_bytes())
    assert len(set(files)) == 1
    other = small(random_state=1).fit(TRAIN)
    assert not np.allclose(other.model_.weights, small().fit(TRAIN).model_.weights)


def test_rows_in_any_order_learn_and_score_the_same() -> None:
    # The first document of every query, then the second, and so on: queries still appear in the same order.
    order = np.arange(len(TRAIN)).reshape(100, 20).T.ravel()
    scattered = sr.Dataset(TRAIN.features[order], TRAIN.labels[order], qid=QID[order])
    assert scattered.order is not None
    first, second = (sr.RankNet(hidden=(5,), n_epochs=3, decay=1.0).fit(data) for data in (TRAIN, scattered))
    # Sums over the rows differ in their last digits, the steps do not.
    np.testing.assert_allclose(first.predict(TEST), second.predict(TEST), rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(first.predict(scattered), first.predict(TRAIN)[order])


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_epoch_on_the_watched_set_is_kept(kind: type[Any]) -> None:
    ranker = kind(hidden=(20,), n_epochs=40, learning_rate=0.03, decay=1.0)
    ranker.fit(TRAIN, valid={"train": TRAIN, "vali": VALI}, metrics=["ndcg@10", "map"])
    assert {name: list(of_set) for name, of_set in ranker.history_.items()} == {
        "train": ["ndcg@10", "map"],
        "vali": ["ndcg@10", "map"],
    }
    watched = ranker.history_["vali"]["ndcg@10"]
    assert ranker.best_round_ == int(np.argmax(watched)) + 1
    assert ranker.best_round_ < ranker.n_rounds_ == len(watched) == 40
    assert measured(ranker, data=VALI) == max(watched)


def test_the_last_epoch_is_kept_where_nothing_is_watched() -> None:
    ranker = small(n_epochs=7).fit(TRAIN)
    assert ranker.best_round_ == ranker.n_rounds_ == 7
    assert ranker.history_ == {}


def test_a_watched_set_whose_metric_is_constant_chooses_nothing() -> None:
    nothing = sr.Dataset(VALI.features, np.zeros(len(VALI)), qid=np.repeat(VALI.qids, np.diff(VALI.indptr)))
    for metric in ("ndcg@10(empty=skip)", "ndcg@10"):
        ranker = small(n_epochs=4).fit(TRAIN, valid=nothing, metrics=metric)
        assert ranker.best_round_ == 4
        np.testing.assert_array_equal(ranker.model_.weights, small(n_epochs=4).fit(TRAIN).model_.weights)
    for impatient in (small(early_stopping_rounds=2), sr.LambdaMART(n_trees=5, early_stopping_rounds=2)):
        with pytest.raises(
            sr.errors.DataError, match=r"early_stopping_rounds watches ndcg@10 on 'valid', .* same for every order"
        ):
            impatient.fit(TRAIN, valid=nothing)
    assert sr.LambdaMART(n_trees=5).fit(TRAIN, valid=nothing).n_trees_ == 5


def test_early_stopping() -> None:
    ranker = small(n_epochs=1000, learning_rate=0.03, early_stopping_rounds=5).fit(TRAIN, valid=VALI)
    assert ranker.n_rounds_ == ranker.best_round_ + 5 < 1000


def test_a_callback_sees_every_epoch_and_can_stop() -> None:
    seen: list[sr.rankers.Progress] = []

    def look(progress: sr.rankers.Progress) -> bool:
        seen.append(progress)
        return progress.round == 4

    ranker = small().fit(TRAIN, valid=VALI, callbacks=[look])
    assert [progress.round for progress in seen] == [1, 2, 3, 4]
    assert ranker.n_rounds_ == 4


def test_ctrl_c_keeps_the_best_epoch_so_far() -> None:
    def interrupt(progress: sr.rankers.Progress) -> None:
        if progress.round == 6:
            signal.raise_signal(signal.SIGINT)

    ranker = interrupted_fit(small(n_epochs=1000), TRAIN, valid=VALI, callbacks=[interrupt])
    assert ranker.n_rounds_ == len(ranker.history_["valid"]["ndcg@10"]) == 6
    assert measured(ranker, data=VALI) == max(ranker.history_["valid"]["ndcg@10"])


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.1])
def test_ctrl_c_at_any_moment_leaves_the_net_of_the_best_epoch(seconds: float) -> None:
    sets = {"a": VALI, "b": TEST}
    with pressed_after_the_first_round(seconds) as press:
        ranker = interrupted_fit(small(n_epochs=10**6), TRAIN, valid=sets, callbacks=[press])
    n_measured = len(ranker.history_["b"]["ndcg@10"])
    assert n_measured >= 1
    assert ranker.n_rounds_ - n_measured in (0, 1)  # The last epoch may not have been measured yet.
    shorter = small(n_epochs=n_measured).fit(TRAIN, valid=sets)
    assert ranker.history_ == shorter.history_
    np.testing.assert_array_equal(ranker.predict(TEST), shorter.predict(TEST))


def test_ctrl_c_during_an_epoch_keeps_the_epochs_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net_training, "train_epoch", pressed_at_call(4, train_epoch))
    ranker = interrupted_fit(small(), TRAIN)
    assert ranker.n_rounds_ == 3
    monkeypatch.undo()
    np.testing.assert_array_equal(ranker.predict(TEST), small(n_epochs=3).fit(TRAIN).predict(TEST))


def test_the_learning_rate_falls_when_the_training_metric_does() -> None:
    # With such long steps the metric goes up and down. With decay the steps become short, and it converges.
    wild, tamed = (
        small(optimizer="sgd", learning_rate=1.0, n_epochs=60, decay=decay, pair_weight=0.0).fit(
            TRAIN, valid={"train": TRAIN}
        )
        for decay in (1.0, 0.5)
    )
    late = {
        name: np.std(ranker.history_["train"]["ndcg@10"][-10:]) for name, ranker in (("wild", wild), ("tamed", tamed))
    }
    assert late["tamed"] < late["wild"] / 5


def test_ranknets_rate_falls_when_the_cost_of_its_pairs_rises() -> None:
    # Accuracy goes up and down by chance: by it, the rate would fall in many more epochs.
    ranker = sr.RankNet(hidden=(10,), optimizer="sgd", n_epochs=60)
    trainer = ranker._trainer(TRAIN, ranker._new_net(TRAIN, 0), 0)
    bound, rates = RankNetObjective().bind(TRAIN, random_state=0, n_threads=1), []
    for number in range(1, 61):
        trainer.epoch(number)
        rates.append(trainer.rate)
        costs = [naive_cost(TRAIN.labels[TRAIN.rows(q)], trainer.scores[TRAIN.rows(q)]) for q in range(5)]
        np.testing.assert_allclose(ranknet_costs(bound, trainer.scores)[:5], costs)
        assert trainer.measured[-1] == -total_cost(bound, trainer.scores)
    rose = np.diff(trainer.measured) < 0
    np.testing.assert_allclose(rates[1:], 0.001 * 0.8 ** np.cumsum(rose))
    assert rose.sum() < 15


def test_a_plateau_restarts_and_the_best_epoch_is_kept() -> None:
    steps = {"optimizer": "sgd", "learning_rate": 1e-30, "n_epochs": 12}
    constant = small(**steps).fit(TRAIN, valid=TRAIN)
    assert len(set(constant.history_["valid"]["ndcg@10"])) == 1
    restarted = small(**steps, restart_rounds=3).fit(TRAIN, valid=TRAIN)
    # The learning rate is nearly 0: only restarts change the weights, in epochs 1 to 4, 5 to 8 and 9 to 12.
    values = restarted.history_["valid"]["ndcg@10"]
    assert [len(set(values[a : a + 4])) for a in (0, 4, 8)] == [1, 1, 1]
    assert len(set(values)) == 3
    assert values[0] == constant.history_["valid"]["ndcg@10"][0]
    assert measured(restarted, data=TRAIN) == max(values)
    unwatched = small(**steps, restart_rounds=3).fit(TRAIN)
    assert measured(unwatched, data=TRAIN) == pytest.approx(max(values))
    assert unwatched.n_rounds_ == 12


def test_a_plateau_of_the_validation_metric_restarts() -> None:
    steps = {"optimizer": "sgd", "learning_rate": 1e-30, "n_epochs": 12, "restart_rounds": 3}
    restarted = small(**steps, restart_watch="valid").fit(TRAIN, valid=VALI)
    values = restarted.history_["valid"]["ndcg@10"]
    assert [len(set(values[a : a + 4])) for a in (0, 4, 8)] == [1, 1, 1]
    assert len(set(values)) == 3
    assert measured(restarted, data=VALI) == max(values)
    # Here the metric still rises on the training data, and not on the other set.
    upside_down = sr.Dataset(VALI.features, 4 - VALI.labels, qid=np.repeat(VALI.qids, np.diff(VALI.indptr)))
    often = small(n_epochs=12, restart_rounds=2, restart_watch="valid")
    often.fit(TRAIN, valid={"train": TRAIN, "odd": upside_down})
    falls = np.diff(often.history_["train"]["ndcg@10"])
    assert (falls < -0.005).sum() == 3
    assert measured(often, data=upside_down) == max(often.history_["odd"]["ndcg@10"])
    with pytest.raises(
        sr.errors.DataError, match=r'restart_watch="valid" needs a data set to watch: fit\(…, valid=…\)'
    ):
        small(restart_rounds=2, restart_watch="valid").fit(TRAIN)


def test_the_learning_rate_falls_with_a_probability() -> None:
    falls = {}
    for probability in (1.0, 0.3):
        ranker = small(optimizer="sgd", learning_rate=0.3, decay=0.999, decay_probability=probability)
        trainer = ranker._trainer(TRAIN, ranker._new_net(TRAIN, 0), 0)
        for number in range(1, 301):
            trainer.epoch(number)
        worse = int((np.diff(trainer.measured) < 0).sum())
        falls[probability] = round(np.log(trainer.rate / 0.3) / np.log(0.999)) / worse
    assert falls[1.0] == 1.0
    assert 0.2 < falls[0.3] < 0.4


def test_initial_weights_as_in_the_first_paper() -> None:
    for hidden in ((), (10,), (10, 5)):
        start = sr.RankNet(hidden=hidden, n_epochs=0, initial_weights="zero_first").fit(TRAIN)
        (first, biases), *others = layer_weights(start.model_.layers, start.model_.weights)
        assert not first.any()
        assert not biases.any()
        assert not start.predict(TEST).any()
        for matrix, _ in others:
            assert 0.05 < np.abs(matrix).max() <= 0.1
        learned = sr.RankNet(hidden=hidden, n_epochs=20, learning_rate=0.01, initial_weights="zero_first").fit(TRAIN)
        assert measured(learned) > 0.8
    with pytest.raises(sr.errors.ParameterError, match="'zero_first' does not learn with activation='relu'"):
        sr.RankNet(activation="relu", initial_weights="zero_first").fit(TRAIN)


@pytest.mark.parametrize("kind", KINDS)
def test_partial_fit_is_one_more_epoch(kind: type[Any]) -> None:
    parameters = {"hidden": (5,), "decay": 1.0, "random_state": 3}
    whole = kind(**parameters, n_epochs=3).fit(TRAIN)
    parts = kind(**parameters)
    for _ in range(3):
        assert parts.partial_fit(TRAIN) is parts
    np.testing.assert_array_equal(parts.model_.weights, whole.model_.weights)
    assert parts.n_rounds_ == 3
    parts.partial_fit(VALI.features, VALI.labels, qid=np.repeat(VALI.qids, np.diff(VALI.indptr)))
    assert not np.array_equal(parts.model_.weights, whole.model_.weights)
    np.testing.assert_array_equal(parts.model_.scaling.mean, whole.model_.scaling.mean)
    parts.set_params(optimizer="sgd").partial_fit(TRAIN)
    with pytest.raises(sr.errors.DataError, match="a data set has its own"):
        parts.partial_fit(TRAIN, TRAIN.labels)
    with pytest.raises(sr.errors.DataError, match=r"X has 2 features, but .*Rank.* is expecting 8"):
        parts.partial_fit(np.zeros((3, 2)), [0, 1, 2], qid=[1, 1, 1])


def test_partial_fit_of_a_copy_does_not_change_the_ranker() -> None:
    ranker = small().partial_fit(TRAIN)
    twin = copy.copy(ranker)
    expected = copy.deepcopy(ranker).partial_fit(TRAIN).predict(TEST)
    twin.partial_fit(TRAIN)
    np.testing.assert_array_equal(ranker.partial_fit(TRAIN).predict(TEST), expected)


def test_partial_fit_with_another_shape_is_an_error() -> None:
    ranker = small().partial_fit(TRAIN)
    with pytest.raises(sr.errors.ParameterError, match=r"the net so far has hidden=\(5,\) .* hidden=\(4,\)"):
        ranker.set_params(hidden=(4,)).partial_fit(TRAIN)


@pytest.mark.parametrize("kind", KINDS)
def test_training_starts_from_a_base_net(kind: type[Any]) -> None:
    base = sr.RankNet(hidden=(5,), n_epochs=20, learning_rate=0.01).fit(TRAIN)
    same = kind(hidden=(5,), n_epochs=0).fit(VALI, base_ranker=base)
    np.testing.assert_array_equal(same.predict(TEST), base.predict(TEST))
    more = kind(hidden=(5,), n_epochs=5, base_ranker=base).fit(VALI)
    assert measured(more) > 0.85
    assert clone(more).base_ranker is base
    weights = base.model_.weights.copy()
    assert not np.array_equal(more.model_.weights, weights)
    np.testing.assert_array_equal(base.model_.weights, weights)


def test_the_base_ranker_is_kept_if_no_round_is_better() -> None:
    base = small(n_epochs=40).fit(TRAIN)
    upside_down = sr.Dataset(TRAIN.features, 4 - TRAIN.labels, qid=QID)
    more = small(n_epochs=30, early_stopping_rounds=3).fit(upside_down, valid=TEST, base_ranker=base)
    assert more.best_round_ == 0
    np.testing.assert_array_equal(more.predict(TEST), base.predict(TEST))


@pytest.mark.parametrize("kind", KINDS)
def test_base_scores_are_started_from_and_added(kind: type[Any]) -> None:
    base = 3.0 * TRAIN.column(0).astype(float)
    data = sr.Dataset(TRAIN.features, TRAIN.labels, qid=QID, base_score=base)
    ranker = kind(hidden=(5,), n_epochs=3).fit(data, valid=data)
    np.testing.assert_allclose(ranker.predict(data), ranker.predict(TRAIN.features) + base)
    assert not np.allclose(
        ranker.predict(TRAIN.features), kind(hidden=(5,), n_epochs=3).fit(TRAIN).predict(TRAIN.features), atol=0.01
    )
    assert measured(ranker, data=data) == max(ranker.history_["valid"]["ndcg@10"])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_weight_0_have_no_effect(kind: type[Any]) -> None:
    upside_down = np.concatenate((TRAIN.labels, 4 - TRAIN.labels))
    both = np.concatenate((TRAIN.features, TRAIN.features))
    weights = np.repeat([1.0, 0.0], len(TRAIN))
    data = sr.Dataset(both, upside_down, qid=np.concatenate((QID, QID + 1000)), sample_weight=weights)
    assert measured(kind(hidden=(5,), n_epochs=10, learning_rate=0.01).fit(data)) > 0.8
    swapped = sr.Dataset(both, upside_down, qid=np.concatenate((QID, QID + 1000)), sample_weight=1.0 - weights)
    assert measured(kind(hidden=(5,), n_epochs=10, learning_rate=0.01).fit(swapped)) < 0.3


def test_given_pairs_are_learned_instead_of_labels() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    above, below = np.divmod(rng.integers(0, 3600, size=500), 60)
    kept = above != below
    probability = 1 / (1 + np.exp(-2.0 * (X[above, 0] - X[below, 0])))
    pairs = np.stack((above, below, probability), axis=1)[kept]
    data = sr.Dataset(X, -X[:, 0], qid=np.zeros(60, int), pairs=pairs)
    ranker = sr.RankNet(hidden=(), n_epochs=2000, learning_rate=0.01, sigma=1.0).fit(data)
    # The targets are those of s = 2 x_0, not of the labels. The net finds them because cross entropy is convex.
    found = ranker.predict_proba_pair(data, above[kept], below[kept])
    np.testing.assert_allclose(found, probability[kept], atol=0.01)


def test_the_probability_of_a_pair() -> None:
    ranker = sr.RankNet(hidden=(5,), n_epochs=3, sigma=2.0).fit(TRAIN)
    s = ranker.predict(TEST)
    found = ranker.predict_proba_pair(TEST, 3, 7)
    assert found == pytest.approx(1 / (1 + np.exp(-2.0 * (s[3] - s[7]))))
    assert ranker.predict_proba_pair(TEST, 7, 3) == pytest.approx(1 - found)
    np.testing.assert_allclose(ranker.predict_proba_pair(TEST, [3, 3], [7, 3]), [found, 0.5])
    with pytest.raises(sr.errors.DataError, match="rows must be whole numbers from 0 to 799; found 800"):
        ranker.predict_proba_pair(TEST, 800, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load(tmp_path: Path, kind: type[Any]) -> None:
    ranker = kind(hidden=(7, 3), n_epochs=3, activation="relu", log_features=("2", 3)).fit(TRAIN, valid=VALI)
    ranker.save(tmp_path / "model.swaprank")
    again: Any = sr.load(tmp_path / "model.swaprank")
    assert type(again) is kind
    np.testing.assert_array_equal(ranker.predict(TEST), again.predict(TEST))
    assert again.get_params() == ranker.get_params()
    assert again.history_ == ranker.history_
    assert (again.n_rounds_, again.best_round_) == (ranker.n_rounds_, ranker.best_round_)
    again.save(tmp_path / "again.swaprank")
    assert (tmp_path / "model.swaprank").read_bytes() == (tmp_path / "again.swaprank").read_bytes()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ranker)).predict(TEST), ranker.predict(TEST))
    again.partial_fit(TRAIN)
    assert again.n_rounds_ == 4
