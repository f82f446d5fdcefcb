"""Ctrl-C while trees are trained: the best forest so far is kept, wherever training is."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.trees import boosting
from swaprank.trees.binning import make_bins
from swaprank.trees.document_sampling import draw_sample
from tests.interruption import interrupted_fit, pressed_after_the_first_round, pressed_at_call
from tests.rankers.test_tree_rankers import TEST, TRAIN, VALI, ndcg, small


def test_ctrl_c_keeps_the_best_forest_so_far() -> None:
    def interrupt(progress: sr.rankers.Progress) -> None:
        if progress.round == 6:
            signal.raise_signal(signal.SIGINT)

    ranker = interrupted_fit(small(n_trees=1000), TRAIN, valid=VALI, callbacks=[interrupt])
    assert 1 <= ranker.n_trees_ <= 6
    assert ranker.n_trees_ == ranker.best_round_
    assert ndcg(ranker) > 0.5


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.1])
def test_ctrl_c_at_any_moment_neither_hangs_nor_loses_the_trees(seconds: float) -> None:
    with pressed_after_the_first_round(seconds) as press:
        ranker = interrupted_fit(small(n_trees=10**6, grow_policy="leafwise", n_threads=4), TRAIN, callbacks=[press])
    assert ranker.n_trees_ >= 1
    again = small(n_trees=ranker.n_trees_, grow_policy="leafwise").fit(TRAIN)
    np.testing.assert_array_equal(ranker.predict(TEST), again.predict(TEST))


def test_ctrl_c_during_a_round_keeps_the_rounds_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boosting, "draw_sample", pressed_at_call(4, draw_sample))
    ranker = interrupted_fit(small(), TRAIN)
    assert ranker.n_trees_ == 3
    monkeypatch.undo()
    np.testing.assert_array_equal(ranker.predict(TEST), small(n_trees=3).fit(TRAIN).predict(TEST))


@pytest.mark.parametrize(("name", "function"), [("make_bins", make_bins), ("draw_sample", draw_sample)])
def test_ctrl_c_before_the_end_of_the_first_round_leaves_the_model_as_it_was(
    monkeypatch: pytest.MonkeyPatch, name: str, function: Any
) -> None:
    ranker = small(n_trees=2).fit(TRAIN)
    expected = ranker.predict(TEST)
    monkeypatch.setattr(boosting, name, pressed_at_call(1, function))
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(VALI)
    np.testing.assert_array_equal(ranker.predict(TEST), expected)
