"""When training ends if nobody says so, and what is said about it."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.experiments.model_summary import summarize_model
from swaprank.rankers.endings import ending
from swaprank.rankers.rounds import auto_patience
from tests.rankers.test_tree_checkpoints import CrashError, crash_at
from tests.workers import run_workers

TRAIN, VALI = sr.datasets.random_net((30, 30), n_features=4, n_documents=10, random_state=0)
SAME = sr.Dataset(VALI.features, np.zeros(len(VALI)), qid=np.arange(len(VALI)) // 10)
MOST, USUAL = 2000, 300


def fast(**parameters: Any) -> sr.LambdaMART:
    """It has nothing to gain from a tenth of its trees."""
    return sr.LambdaMART(**{"n_leaves": 4, "learning_rate": 0.5, "leaf_smoothing": 0.0, **parameters})


def stops_after(values: list[float]) -> int | None:
    """The round in which a training stops, which measures these values; None if it goes on."""
    for finished in range(1, len(values) + 1):
        best = int(np.argmax(values[:finished])) + 1
        if finished - best >= auto_patience(best):
            return finished
    return None


def test_training_stops_by_itself_with_a_validation_set() -> None:
    whole = fast(n_trees=600, early_stopping_rounds=None).fit(TRAIN, valid=VALI)
    values = whole.history_["valid"]["ndcg@10"]
    stop = stops_after(values)
    assert whole.n_rounds_ == len(values) == 600
    assert whole.chosen_.get("n_trees") is None
    assert stop is not None
    for n_trees, chosen in ((None, MOST), (600, None), (stop + 1, None)):
        ranker = fast(n_trees=n_trees).fit(TRAIN, valid=VALI)
        assert ranker.history_["valid"]["ndcg@10"] == values[:stop]
        assert ranker.n_rounds_ == stop
        assert ranker.n_trees_ == ranker.best_round_ == int(np.argmax(values[:stop])) + 1
        assert ranker.chosen_.get("n_trees") == chosen
        np.testing.assert_array_equal(ranker.predict(VALI), whole.predict(VALI, n_trees=ranker.n_trees_))


def test_late_rounds_are_given_more_time() -> None:
    patience = [auto_patience(best) for best in range(3000)]
    assert min(patience) == patience[0] > 50
    assert (np.diff(patience) >= 0).all()
    assert patience[2000] >= 1000


@pytest.mark.parametrize(
    ("given", "valid", "most"),
    [
        ({}, None, USUAL),
        ({}, SAME, USUAL),
        ({"early_stopping_rounds": None}, VALI, USUAL),
        ({"early_stopping_rounds": None}, None, USUAL),
    ],
)
def test_nothing_stops_without_something_to_watch(given: dict[str, Any], valid: Any, most: int) -> None:
    ranker = fast(**given).fit(TRAIN, valid=valid)
    assert ranker.n_rounds_ == ranker.chosen_["n_trees"] == most


def test_a_given_patience_has_as_many_trees_to_choose_from() -> None:
    ranker = sr.MART(n_leaves=4, early_stopping_rounds=7, learning_rate=0.5).fit(TRAIN, valid=VALI)
    assert ranker.n_rounds_ == ranker.best_round_ + 7
    assert ranker.chosen_["n_trees"] == MOST


def test_forests_do_not_stop() -> None:
    forest = sr.baselines.RandomForest(n_leaves=4).fit(TRAIN, valid=VALI)
    assert forest.n_rounds_ == forest.n_trees == USUAL
    assert "n_trees" not in forest.chosen_
    for name, value in (("n_trees", None), ("early_stopping_rounds", "auto")):
        given: dict[str, Any] = {name: value}
        with pytest.raises(sr.errors.ParameterError, match=f"{name} must be a whole number from"):
            sr.baselines.RandomForest(**given).fit(TRAIN)


@pytest.mark.parametrize("wrong", ["often", 0, 2.5, True])
def test_another_patience_is_refused(wrong: Any) -> None:
    words = re.escape(f"early_stopping_rounds must be a whole number from 1, 'auto', or None; found {wrong!r}.")
    with pytest.raises(sr.errors.ParameterError, match=words):
        fast(early_stopping_rounds=wrong).fit(TRAIN)


def test_what_was_chosen_is_saved(tmp_path: Path) -> None:
    fast().fit(TRAIN, valid=VALI).save(tmp_path / "model.swaprank")
    ranker: Any = sr.load(tmp_path / "model.swaprank")
    assert (ranker.n_trees, ranker.early_stopping_rounds, ranker.chosen_["n_trees"]) == (None, "auto", MOST)
    text = summarize_model(ranker).to_text()
    assert re.search(rf"^  n_trees +{MOST}, chosen$", text, re.MULTILINE)
    assert re.search(r"^  early_stopping_rounds +auto$", text, re.MULTILINE)
    assert str(ending(ranker)).startswith(f"stopped after {ranker.n_rounds_} trees, kept {ranker.n_trees_}: ndcg@10 0.")
    refitted = ranker.refit(TRAIN, decay_rate=0.5)
    assert (refitted.n_trees_, refitted.chosen_) == (ranker.n_trees_, ranker.chosen_)


@pytest.mark.parametrize("valid", [VALI, None])
def test_a_checkpoint_goes_on_to_the_same_model(valid: sr.Dataset | None, tmp_path: Path) -> None:
    file = tmp_path / "run.checkpoint"
    whole = fast().fit(TRAIN, valid=valid)
    for crash in (25, whole.n_rounds_ - 5):
        with pytest.raises(CrashError):
            fast().fit(TRAIN, valid=valid, checkpoint=file, callbacks=[crash_at(crash)])
    for _ in range(2):  # The second time, little is left to do.
        resumed = fast().fit(TRAIN, valid=valid, checkpoint=file)
        assert resumed.history_ == whole.history_
        assert (resumed.n_rounds_, resumed.best_round_) == (whole.n_rounds_, whole.best_round_)
        assert resumed.chosen_ == whole.chosen_
        np.testing.assert_array_equal(resumed.predict(VALI), whole.predict(VALI))


def test_workers_stop_together() -> None:
    alone = fast().fit(TRAIN, valid=VALI)
    even = np.arange(30) % 2 == 0

    def work(collective: Any) -> sr.LambdaMART:
        own = even if collective.rank else ~even
        return fast().fit_shard(TRAIN.subset(own), {"valid": VALI.subset(own)}, collective)

    for ranker in run_workers(work, 2):
        assert ranker.n_rounds_ == alone.n_rounds_ < MOST
        assert ranker.chosen_ == alone.chosen_
        np.testing.assert_array_equal(ranker.predict(VALI), alone.predict(VALI))


def test_tuning_and_presets() -> None:
    preset = sr.papers.lambdamart2010("map", n_leaves=4)
    assert (preset.n_trees, preset.early_stopping_rounds) == (USUAL, None)
    pytest.importorskip("optuna", reason="Optuna is not installed")
    tuning = sr.tune(TRAIN, VALI, fast(), ranges={"n_leaves": (3, 5)}, n_trials=2)
    assert tuning.ranker.chosen_["n_trees"] == MOST


def test_the_last_line_says_how_training_ended(capsys: pytest.CaptureFixture[str]) -> None:
    ranker = fast().fit(TRAIN, valid={"train": TRAIN, "vali": VALI}, metrics=["map", "ndcg@10"], verbose=50)
    value = max(ranker.history_["vali"]["map"])
    *_, last = capsys.readouterr().err.splitlines()
    assert last == f"stopped after {ranker.n_rounds_} trees, kept {ranker.n_trees_}: map {value:.4f} on vali"
    fast().fit(TRAIN, verbose=100)
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "tree 300 of 300",
        "n_trees: 300, because there is no validation data; give fit(…, valid=…) for early stopping",
    ]
    fast().fit(TRAIN, valid=VALI)
    assert capsys.readouterr().err == ""


def test_there_is_nothing_to_say_if_the_user_has_said_it() -> None:
    assert ending(fast(n_trees=5).fit(TRAIN)) is None
    assert ending(fast(n_trees=5).fit(TRAIN, valid=VALI)) is None
    assert ending(sr.LinearRegressionRanker().fit(TRAIN)) is None
    never = fast(early_stopping_rounds=None).fit(TRAIN, valid=VALI)
    assert str(ending(never)).startswith("trained all 300 trees, kept ")


def test_a_start_that_is_best_is_kept() -> None:
    base = fast(n_trees=60, learning_rate=0.1).fit(VALI)
    upside_down = sr.Dataset(TRAIN.features, TRAIN.labels.max() - TRAIN.labels, qid=np.arange(len(TRAIN)) // 10)
    ranker = fast().fit(upside_down, valid=VALI, base_ranker=base)
    assert (ranker.best_round_, ranker.n_rounds_) == (0, 100)
    assert str(ending(ranker)) == "stopped after 100 trees, kept 0: the start is best by ndcg@10 on valid"


def test_nets_end_with_the_same_words() -> None:
    net = sr.LambdaRank(n_epochs=200, early_stopping_rounds=3).fit(TRAIN, valid=VALI)
    assert str(ending(net)).startswith(f"stopped after {net.n_rounds_} epochs, kept {net.best_round_}: ndcg@10 0.")
