"""SmoothRank: the choice of the regularization, its progress reports, and interruption."""

from __future__ import annotations

import signal
from itertools import count
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.linear.annealing import Ascent
from swaprank.linear.cross_validation import query_folds
from tests.interruption import interrupted_fit, pressed_at_call
from tests.rankers.smoothrank_data import SHORT, TEST, TRAIN, VALI, ndcg, small

pytestmark = pytest.mark.slow

STRENGTHS = (1.0, 0.01)


class Linear:
    """A fitted linear model, as a base ranker."""

    def __init__(self, weights: Floats) -> None:
        self.coef_ = weights


def test_history_of_the_annealing_steps() -> None:
    ranker = small().fit(TRAIN, valid={"vali": VALI, "test": TEST}, metrics=["ndcg@5", "map"])
    assert {name: set(of_set) for name, of_set in ranker.history_.items()} == {
        "train": {"smooth ndcg", "ndcg@5", "map"},
        "vali": {"ndcg@5", "map"},
        "test": {"ndcg@5", "map"},
    }
    assert {len(values) for of_set in ranker.history_.values() for values in of_set.values()} == {3}
    assert sr.evaluate(TEST, ranker.predict(TEST), "map").results[0].mean == ranker.history_["test"]["map"][-1]
    assert ranker.smoothing_factor_ == SHORT[-1]
    assert ranker.candidates_ == {}


def test_held_out_queries_find_the_shares_of_the_regularizations() -> None:
    progress: list[sr.rankers.Progress] = []
    strengths = (1e6, 0.1, 0.01)
    ranker = small(regularization=strengths, n_folds=3).fit(TRAIN, callbacks=[progress.append])
    assert list(ranker.candidates_) == list(ranker.shares_) == list(strengths)
    assert sum(ranker.shares_.values()) == pytest.approx(1.0)
    assert ranker.regularization_ == max(strengths, key=ranker.candidates_.__getitem__)
    assert ranker.shares_[1e6] < 0.1
    assert [(each.round, each.n_rounds) for each in progress] == [(1, 3), (2, 3), (3, 3)]
    assert progress[-1].measured == {"train": {"ndcg": ranker.history_["train"]["ndcg"][-1]}}
    assert ndcg(ranker, TRAIN) == ranker.history_["train"]["ndcg"][-1]


def test_folds_and_a_watched_set_choose_together() -> None:
    alone, both = small(regularization=(1.0, 0.01)).fit(TRAIN), small(regularization=(1.0, 0.01)).fit(TRAIN, valid=VALI)
    assert alone.candidates_ != both.candidates_
    assert both.history_["valid"]["ndcg"][-1] == ndcg(both, VALI)


def test_the_model_is_the_mean_of_the_fits_without_each_fold() -> None:
    ranker = small(regularization=(0.02, 0.01), n_folds=2, start="zero", annealing=(8.0, 1.0)).fit(TRAIN)
    folds = query_folds(TRAIN.n_queries, 2, 0)
    fits = [
        small(regularization=strength, start="zero", annealing=(8.0, 1.0)).fit(TRAIN.subset(~held_out))
        for strength in (0.02, 0.01)
        for held_out in folds
    ]
    shares = np.repeat(list(ranker.shares_.values()), 2) / 2
    scores = [fit.predict(TEST) for fit in fits]
    expected = sum(share * each / each.std() for share, each in zip(shares, scores, strict=True))
    assert np.corrcoef(expected, ranker.predict(TEST))[0, 1] > 0.99


def test_last_bits_hardly_change_the_model() -> None:
    """Small smoothing factors have many local maxima, and the last bits of the start decide which ones are found."""
    generator, base = np.random.default_rng(0), sr.LinearRegressionRanker(metric="ndcg").fit(TRAIN)
    scores = []
    for _ in range(2):
        start = Linear(base.coef_ * (1 + 1e-12 * generator.normal(size=6)))
        ranker = small(regularization="auto", annealing=(*SHORT, 2.0**-6), base_ranker=start)
        scores.append(ranker.fit(TRAIN).predict(TEST))
    assert sr.evaluate(TEST, scores[0], "ndcg")["ndcg"].mean == pytest.approx(
        sr.evaluate(TEST, scores[1], "ndcg")["ndcg"].mean, abs=0.003
    )
    one, other = (each / each.std() for each in scores)
    assert np.abs(one - other).mean() < 0.05


def test_best_step_keeps_the_best_annealing_step() -> None:
    steps = (8.0, 1.0, 1e-3)
    net = small(best_step=True, annealing=steps, hidden=(3,), max_iterations=3, n_folds=None)
    ranker = net.fit(TRAIN, valid=VALI)
    values = ranker.history_["valid"]["ndcg"]
    assert len(values) == 3
    assert ranker.smoothing_factor_ == steps[int(np.argmax(values))]
    assert ndcg(ranker, VALI) == pytest.approx(max(values))
    by_folds = small(best_step=True, n_folds=3).fit(TRAIN)
    assert by_folds.smoothing_factor_ == SHORT[by_folds.best_round_ - 1]
    assert ndcg(by_folds, TRAIN) == by_folds.history_["train"]["ndcg"][by_folds.best_round_ - 1]


def test_a_net_is_one_fit_of_all_queries() -> None:
    strengths, options = (1e6, 0.01), {"hidden": (3,), "max_iterations": 3, "n_folds": None}
    ranker = small(regularization=strengths, **options).fit(TRAIN, valid=VALI)
    for strength, value in ranker.candidates_.items():
        assert small(regularization=strength, **options).fit(TRAIN, valid=VALI).history_["valid"]["ndcg"][-1] == value
    assert ranker.history_["valid"]["ndcg"][-1] == max(ranker.candidates_.values())
    assert sorted(ranker.shares_.values()) == [0.0, 1.0]
    by_folds = small(regularization=strengths, **options | {"n_folds": 2}).fit(TRAIN)
    alone = small(regularization=by_folds.regularization_, **options).fit(TRAIN)
    np.testing.assert_array_equal(by_folds.predict(TEST), alone.predict(TEST))


def test_a_callback_sees_every_annealing_step_and_can_stop() -> None:
    seen: list[sr.rankers.Progress] = []

    def look(progress: sr.rankers.Progress) -> bool:
        seen.append(progress)
        return progress.round == 2

    ranker = small(regularization=(1.0, 0.01)).fit(TRAIN, valid=VALI, callbacks=[look])
    assert [(progress.round, progress.n_rounds) for progress in seen] == [(1, 3), (2, 3)]
    assert ranker.smoothing_factor_ == SHORT[1]
    assert seen[-1].measured["valid"]["ndcg"] == ndcg(ranker, VALI)


@pytest.mark.parametrize("regularization", [0.01, (1.0, 0.01)])
def test_ctrl_c_keeps_the_best_weights_so_far(regularization: Any) -> None:
    def interrupt(progress: sr.rankers.Progress) -> None:
        if progress.round == 2:
            signal.raise_signal(signal.SIGINT)

    ranker = interrupted_fit(small(regularization=regularization), TRAIN, valid=VALI, callbacks=[interrupt])
    assert ranker.smoothing_factor_ in SHORT[:2]
    assert ndcg(ranker, VALI) == ranker.history_["valid"]["ndcg"][ranker.best_round_ - 1]


def costs_of(n_steps: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the cost is computed in the first annealing steps."""
    counted = count(1)
    monkeypatch.setattr(Ascent, "cost", lambda *arguments, real=Ascent.cost: (next(counted), real(*arguments))[1])
    small(regularization=STRENGTHS, annealing=SHORT[:n_steps]).fit(TRAIN, valid=VALI)
    monkeypatch.undo()
    return next(counted) - 1


@pytest.mark.parametrize("n_steps", [1, 2])
def test_ctrl_c_during_a_step_keeps_the_steps_before(monkeypatch: pytest.MonkeyPatch, n_steps: int) -> None:
    monkeypatch.setattr(Ascent, "cost", pressed_at_call(costs_of(n_steps, monkeypatch) + 5, Ascent.cost))
    ranker = interrupted_fit(small(regularization=STRENGTHS, n_threads=3), TRAIN, valid=VALI)
    monkeypatch.undo()
    assert ranker.n_rounds_ == n_steps
    shorter = small(regularization=STRENGTHS, annealing=SHORT[:n_steps], best_step=True)
    np.testing.assert_array_equal(ranker.predict(TEST), shorter.fit(TRAIN, valid=VALI).predict(TEST))


def test_ctrl_c_during_the_first_step_leaves_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ascent, "cost", pressed_at_call(50, Ascent.cost))
    ranker = small(regularization="auto", n_threads=3)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(TRAIN)
    with pytest.raises(NotFittedError):
        ranker.predict(TEST)


def test_the_last_set_is_watched_also_if_it_is_the_training_set() -> None:
    strengths = (100.0, 0.01, 1e-4)
    ranker = small(regularization=strengths).fit(TRAIN, valid={"vali": VALI, "train": TRAIN})
    first = small(regularization=strengths).fit(TRAIN, valid={"train": TRAIN, "vali": VALI})
    assert [list(each.history_) for each in (ranker, first)] == [["vali", "train"], ["train", "vali"]]
    assert ranker.candidates_ != first.candidates_
    with pytest.raises(sr.errors.DataError, match="'train' is the name of the training data"):
        small().fit(TRAIN, valid={"train": VALI})


def test_one_query_is_too_few_to_choose() -> None:
    message = "one query is too few to choose a regularization by; give a number, or a validation set: fit(…, valid=…)."
    for ranker in (small(regularization="auto"), sr.LinearRegressionRanker()):
        with pytest.raises(sr.errors.DataError) as caught:
            ranker.fit(TRAIN.subset([0]))
        assert str(caught.value) == message
