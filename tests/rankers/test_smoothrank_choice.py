"""SmoothRank: the choice of the regularization, its progress reports, and interruption."""

from __future__ import annotations

import signal
from itertools import count
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.smoothrank.annealing import Ascent
from tests.interruption import pressed_at_call
from tests.rankers.smoothrank_data import SHORT, TEST, TRAIN, VALI, ndcg, small


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


def test_the_regularization_is_chosen_on_the_watched_set() -> None:
    strengths = (100.0, 1.0, 0.01, 1e-4)
    ranker = small(regularization=strengths).fit(TRAIN, valid=VALI)
    assert list(ranker.candidates_) == list(strengths)
    for strength, value in ranker.candidates_.items():
        assert small(regularization=strength).fit(TRAIN, valid=VALI).history_["valid"]["ndcg"][-1] == value
    assert ranker.regularization_ == max(strengths, key=ranker.candidates_.__getitem__)
    assert ranker.history_["valid"]["ndcg"][-1] == max(ranker.candidates_.values())


def test_the_regularization_is_chosen_by_cross_validation_where_nothing_is_watched() -> None:
    progress: list[sr.Progress] = []
    ranker = small(regularization=(1.0, 0.01), n_folds=3).fit(TRAIN, callbacks=[progress.append])
    assert set(ranker.candidates_) == {1.0, 0.01}
    assert ranker.regularization_ == max(ranker.candidates_, key=ranker.candidates_.__getitem__)
    np.testing.assert_array_equal(
        ranker.coef_, small(regularization=ranker.regularization_).fit(TRAIN).coef_
    )  # fmt: skip
    assert [each.round for each in progress] == [1, 2, 3, 4, 5, 6]
    assert {each.n_rounds for each in progress} == {6}
    assert {name: list(of_set) for name, of_set in progress[0].measured.items()} == {"folds": ["ndcg"]}
    assert progress[2].measured["folds"]["ndcg"] == max(ranker.candidates_.values())


def test_folds_and_a_watched_set_choose_together() -> None:
    alone = small(regularization=(1.0, 0.01), n_folds=3).fit(TRAIN)
    both = small(regularization=(1.0, 0.01), n_folds=3).fit(TRAIN, valid=VALI)
    assert alone.candidates_ != both.candidates_
    assert {name: set(of_set) for name, of_set in both.history_.items()} == {
        "train": {"smooth ndcg", "ndcg"},
        "valid": {"ndcg"},
    }


def test_best_step_keeps_the_best_annealing_step() -> None:
    ranker = small(best_step=True, annealing=(8.0, 1.0, 1e-3)).fit(TRAIN, valid=VALI)
    values = ranker.history_["valid"]["ndcg"]
    assert len(values) == 3
    assert ranker.smoothing_factor_ == (8.0, 1.0, 1e-3)[int(np.argmax(values))]
    assert ndcg(ranker, VALI) == pytest.approx(max(values))
    by_folds = small(best_step=True, n_folds=3).fit(TRAIN)
    assert by_folds.smoothing_factor_ == SHORT[len(by_folds.history_["train"]["ndcg"]) - 1]


def test_a_callback_sees_every_annealing_step_and_can_stop() -> None:
    seen: list[sr.Progress] = []

    def look(progress: sr.Progress) -> bool:
        seen.append(progress)
        return progress.round == 2

    ranker = small(regularization=(1.0, 0.01)).fit(TRAIN, valid=VALI, callbacks=[look])
    assert [(progress.round, progress.n_rounds) for progress in seen] == [(1, 3), (2, 3)]
    assert ranker.smoothing_factor_ == SHORT[1]
    assert seen[-1].measured["valid"]["ndcg"] == max(ranker.candidates_.values())
    stopped = small(regularization=(1.0, 0.01)).fit(TRAIN, callbacks=[lambda progress: progress.round == 2])
    assert stopped.smoothing_factor_ == np.inf  # stopped during cross-validation: there is no annealing of all queries
    assert ndcg(stopped) > 0.6


@pytest.mark.parametrize("regularization", [0.01, (1.0, 0.01)])
def test_ctrl_c_keeps_the_best_weights_so_far(regularization: Any) -> None:
    def interrupt(progress: sr.Progress) -> None:
        if progress.round == 2:
            signal.raise_signal(signal.SIGINT)

    ranker = small(regularization=regularization).fit(TRAIN, valid=VALI, callbacks=[interrupt])
    assert ranker.interrupted_
    assert ranker.smoothing_factor_ in SHORT[:2]
    assert ndcg(ranker, VALI) == max(ranker.history_["valid"]["ndcg"])


@pytest.mark.parametrize("share", [0.0, 0.4, 0.9])
def test_ctrl_c_during_a_step_keeps_the_steps_before(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    strengths = (1.0, 0.01)
    counted = count(1)
    monkeypatch.setattr(Ascent, "cost", lambda *arguments, real=Ascent.cost: (next(counted), real(*arguments))[1])
    small(regularization=strengths).fit(TRAIN, valid=VALI)
    monkeypatch.undo()
    number = 1 + int(share * next(counted))
    monkeypatch.setattr(Ascent, "cost", pressed_at_call(number, Ascent.cost))
    ranker = small(regularization=strengths, n_threads=3).fit(TRAIN, valid=VALI)
    monkeypatch.undo()
    assert ranker.interrupted_
    assert ranker.n_rounds_ < len(SHORT)
    if ranker.n_rounds_ == 0:
        assert ranker.smoothing_factor_ == np.inf
        start = small(regularization=1e300).fit(TRAIN)
        np.testing.assert_allclose(ranker.predict(TEST), start.predict(TEST), rtol=1e-4, atol=1e-6)
    else:
        shorter = small(regularization=strengths, annealing=SHORT[: ranker.n_rounds_], best_step=True)
        np.testing.assert_array_equal(ranker.predict(TEST), shorter.fit(TRAIN, valid=VALI).predict(TEST))


def test_ctrl_c_during_cross_validation_keeps_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ascent, "cost", pressed_at_call(50, Ascent.cost))
    ranker = small(regularization="auto", n_threads=3).fit(TRAIN)
    assert ranker.interrupted_
    assert ranker.smoothing_factor_ == np.inf
    assert ndcg(ranker) > 0.6


def test_the_last_set_is_watched_also_if_it_is_the_training_set() -> None:
    strengths = (100.0, 0.01, 1e-4)
    ranker = small(regularization=strengths).fit(TRAIN, valid={"vali": VALI, "train": TRAIN})
    assert list(ranker.history_) == ["vali", "train"]
    assert ranker.history_["train"]["ndcg"][-1] == max(ranker.candidates_.values()) == ndcg(ranker, TRAIN)
    first = small(regularization=strengths).fit(TRAIN, valid={"train": TRAIN, "vali": VALI})
    assert first.history_["vali"]["ndcg"][-1] == max(first.candidates_.values()) == ndcg(first, VALI)
    with pytest.raises(sr.DataError, match="'train' is the name of the training data"):
        small().fit(TRAIN, valid={"train": VALI})


def test_one_query_is_too_few_to_choose() -> None:
    message = "one query is too few to choose a regularization by; give a number, or a valid= set."
    for ranker in (small(regularization="auto"), sr.LinearRegressionRanker()):
        with pytest.raises(sr.DataError) as caught:
            ranker.fit(TRAIN.subset([0]))
        assert str(caught.value) == message
