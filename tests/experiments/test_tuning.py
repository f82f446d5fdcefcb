"""Tuning: parameters within their ranges, never worse than the given ranker, and resuming."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import swaprank as sr
from swaprank.experiments import optuna_study
from swaprank.experiments.ranker_parameters import (
    Choice,
    as_range,
    default_ranges,
    fixed_while_tuning,
    trainable_rankers,
)
from swaprank.rankers.rounds import Callback
from swaprank.registry import ranker_class

TRAIN, VALI = sr.datasets.random_net((40, 30), n_features=5, n_documents=10, levels=3, random_state=0)
TREES = sr.MART(n_trees=6, min_docs_in_leaf=5)
RANGE = {"n_leaves": (3, 40), "objective": ["squared", "logistic"]}


@pytest.mark.parametrize("kind", sorted(trainable_rankers()))
def test_every_ranker_has_ranges_and_its_defaults_lie_within(kind: str) -> None:
    ranker = ranker_class(kind)(**fixed_while_tuning(ranker_class(kind)))
    for name, span in default_ranges(ranker).items():
        value = getattr(ranker, name)
        if value is not None:  # chosen by the data
            assert value in span.values if isinstance(span, Choice) else span.low <= value <= span.high, name


def test_a_range_is_bounds_or_choices() -> None:
    wrongs: list[Any] = [7, (7,), (9, 7), [], "abc", (1, 2, 3)]
    for wrong in wrongs:
        with pytest.raises(sr.errors.ParameterError, match="the range of n_leaves must be"):
            as_range("n_leaves", wrong)


def test_a_missing_optuna_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(sr.errors.MissingExtraError, match=r"pip install 'swaprank\[tune\]'"):
        sr.tune(TRAIN, VALI)


class TestWithOptuna:
    @pytest.fixture(autouse=True)
    def optuna(self) -> None:
        pytest.importorskip("optuna", reason="Optuna is not installed")

    def test_the_best_trial_is_the_ranker(self) -> None:
        tuning = sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=6)
        assert [trial.number for trial in tuning.trials] == [1, 2, 3, 4, 5, 6]
        assert tuning.trials[0].parameters == {"n_leaves": 31, "objective": "squared"}
        assert tuning.best.value == max(trial.value for trial in tuning.trials if trial.value is not None)
        assert tuning.ranker.score(VALI) == tuning.best.value
        assert {name: getattr(tuning.ranker, name) for name in RANGE} == tuning.best.parameters
        for trial in tuning.trials:
            assert 3 <= trial.parameters["n_leaves"] <= 40
            assert trial.parameters["objective"] in RANGE["objective"]
        assert not hasattr(TREES, "forest_")
        assert len(json.loads(tuning.to_json())["trials"]) == len(tuning.to_frame()) == 6
        again = sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=6)
        assert [trial.parameters for trial in again.trials] == [trial.parameters for trial in tuning.trials]

    def test_the_first_trial_leaves_to_the_ranker_what_it_chooses_by_the_data(self, tmp_path: Path) -> None:
        trees = sr.LambdaMART("ndcg@5", n_trees=4, min_docs_in_leaf=5)
        ranges = {"n_leaves": (3, 40), "leaf_smoothing": (0.0, 400.0), "squared_error": (0.0, 3.0)}
        first = sr.tune(TRAIN, VALI, trees, ranges=ranges, n_trials=1, storage=tmp_path / "trials")
        assert first.best.parameters == {"n_leaves": 31, "leaf_smoothing": 20.0, "squared_error": 1.0}
        as_it_is = sr.LambdaMART("ndcg@5", n_trees=4, min_docs_in_leaf=5).fit(TRAIN, valid=VALI)
        again = sr.tune(TRAIN, VALI, trees, ranges=ranges, n_trials=1, storage=tmp_path / "trials")
        for tuning in (first, again):
            assert tuning.ranker.leaf_smoothing is None
            assert (tuning.ranker.predict(VALI) == as_it_is.predict(VALI)).all()
        assert len(sr.tune(TRAIN, VALI, trees, ranges=ranges, n_trials=3, storage=tmp_path / "trials").trials) == 3

    def test_ranges_may_have_the_names_of_other_libraries(self) -> None:
        tuning = sr.tune(TRAIN, VALI, TREES, ranges={"num_leaves": (3, 40)}, n_trials=2)
        assert tuning.trials[0].parameters == {"n_leaves": 31}

    def test_a_storage_resumes(self, tmp_path: Path) -> None:
        messages: list[str] = []
        first = sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=3, storage=tmp_path / "trials")
        more = sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=5, storage=tmp_path / "trials", log=messages.append)
        assert [trial.parameters for trial in more.trials[:3]] == [trial.parameters for trial in first.trials]
        assert len(more.trials) == 5
        assert len({tuple(trial.parameters.values()) for trial in more.trials}) > 3
        assert [message.partition(":")[0] for message in messages][:2] == ["trial 4", "trial 5"]
        messages.clear()
        same = sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=5, storage=tmp_path / "trials", log=messages.append)
        assert same.best == more.best
        assert len(messages) == 1
        assert "still the best: training it again" in messages[0]
        assert same.ranker.score(VALI) == more.ranker.score(VALI) == more.best.value

    def test_ctrl_c_ends_the_search_with_the_best_so_far(self, tmp_path: Path) -> None:
        begun: list[str] = []

        def interrupt(progress: sr.rankers.Progress) -> None:
            if len(begun) == 4:
                raise KeyboardInterrupt

        def begin(title: str) -> list[Callback]:
            begun.append(title)
            return [interrupt]

        storage = tmp_path / "trials"
        with pytest.raises(sr.errors.Interrupted) as caught:
            sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=9, storage=storage, callbacks=begin)
        tuning = caught.value.result
        assert tuning.interrupted
        assert len(tuning.trials) == 3
        assert tuning.ranker.score(VALI) == tuning.best.value
        assert len(sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=5, storage=tmp_path / "trials").trials) == 5
        begun[:] = ["", "", ""]
        with pytest.raises(KeyboardInterrupt):
            sr.tune(TRAIN, VALI, TREES, ranges=RANGE, callbacks=begin)

    @pytest.mark.parametrize("is_killed", [False, True])
    def test_the_own_parameters_are_tried_again_after_an_interrupted_first_trial(
        self, tmp_path: Path, is_killed: bool
    ) -> None:
        class Killed(BaseException):
            """Leaves the trial as a killed process does, without an end."""

        def interrupt(progress: sr.rankers.Progress) -> None:
            raise Killed if is_killed else KeyboardInterrupt

        storage = tmp_path / "trials"
        with pytest.raises((KeyboardInterrupt, Killed)):
            sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=3, storage=storage, callbacks=lambda title: [interrupt])
        tuning = sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=3, storage=storage)
        assert tuning.trials[0].parameters == {"n_leaves": 31, "objective": "squared"}
        assert len(tuning.trials) == 3

    @pytest.mark.parametrize(
        "ranges", [{"n_leaves": (1, 8)}, {"learning_rate": (-1.0, 0.5)}, {"normalize": [True, "perhaps"]}]
    )
    def test_a_range_with_a_wrong_value_is_an_error_before_the_search(
        self, tmp_path: Path, ranges: dict[str, Any]
    ) -> None:
        storage = tmp_path / "trials"
        with pytest.raises(sr.errors.ParameterError, match=f"{next(iter(ranges))} must be .*; found"):
            sr.tune(TRAIN, VALI, sr.LambdaMART(n_trees=3), ranges=ranges, n_trials=9, storage=storage)
        assert not storage.exists()

    def test_arguments_of_other_types_are_errors(self) -> None:
        for n_trials in ("3", 2.5, 0):
            with pytest.raises(sr.errors.ParameterError, match="n_trials must be a whole number from 1"):
                sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=n_trials)  # type: ignore[arg-type]
        with pytest.raises(sr.errors.ParameterError, match=r"ranges must be given by name, .*; found list"):
            sr.tune(TRAIN, VALI, TREES, ranges=["n_leaves"])  # type: ignore[arg-type]

    def test_bad_trials_are_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(optuna_study, "_STARTUP_TRIALS", 1)
        monkeypatch.setattr(optuna_study, "_WARMUP_ROUNDS", 1)
        messages: list[str] = []
        net, rates = sr.LambdaRank(n_epochs=20), {"learning_rate": (1e-7, 1e-1)}
        tuning = sr.tune(TRAIN, VALI, net, ranges=rates, n_trials=8, log=messages.append)
        given_up = [trial for trial in tuning.trials if trial.value is None]
        assert given_up
        for trial in given_up:
            assert trial.given_up_after is not None
            assert trial.given_up_after < 20
        assert sum("given up after" in message for message in messages) == len(given_up)
        assert f"{len(given_up)} of them given up early" in str(tuning)

    def test_a_changed_configuration_is_an_error(self, tmp_path: Path) -> None:
        sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=1, storage=tmp_path / "trials")
        with pytest.raises(sr.errors.DataError, match="n_trees was 6, is now 7"):
            sr.tune(TRAIN, VALI, sr.MART(n_trees=7, min_docs_in_leaf=5), ranges=RANGE, storage=tmp_path / "trials")
        with pytest.raises(sr.errors.DataError, match="another configuration: valid was "):
            sr.tune(TRAIN, TRAIN, TREES, ranges=RANGE, storage=tmp_path / "trials")
        (tmp_path / "other").write_text("something else\n")
        with pytest.raises(sr.errors.DataError, match="is not a file of Optuna trials"):
            sr.tune(TRAIN, VALI, TREES, ranges=RANGE, storage=tmp_path / "other")

    def test_a_validation_set_without_a_value_is_reported(self) -> None:
        with pytest.raises(sr.errors.DataError, match="has no value on the validation set"):
            sr.tune(TRAIN, VALI, sr.MART(metric="map(rel=99, empty=skip)", n_trees=2), ranges=RANGE)

    def test_the_timeout_stops_the_search(self) -> None:
        assert 1 <= len(sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=10_000, timeout=0.5).trials) < 10_000
        with pytest.raises(sr.errors.DataError, match="no trial was completed"):
            sr.tune(TRAIN, VALI, TREES, ranges=RANGE, timeout=0.0)

    def test_the_verbosity_of_optuna_is_restored(self) -> None:
        import optuna

        before = optuna.logging.get_verbosity()
        sr.tune(TRAIN, VALI, TREES, ranges=RANGE, n_trials=1)
        assert optuna.logging.get_verbosity() == before


def test_the_study_of_optuna_is_there() -> None:
    import swaprank as sr

    train, valid = sr.datasets.random_net((15, 15), n_features=3, n_documents=5, random_state=0)
    tuning = sr.tune(train, valid, sr.MART(n_trees=2), n_trials=2)
    assert [trial.value for trial in tuning.study.trials] == [trial.value for trial in tuning.trials]


def test_the_metric_may_be_given() -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    given = sr.tune(TRAIN, VALI, TREES, metric="map", ranges=RANGE, n_trials=2)
    expected = sr.tune(TRAIN, VALI, sr.MART("map", n_trees=6, min_docs_in_leaf=5), ranges=RANGE, n_trials=2)
    assert given.metric == expected.metric == "map"
    assert [trial.value for trial in given.trials] == [trial.value for trial in expected.trials]
    assert TREES.metric == "ndcg@10"
