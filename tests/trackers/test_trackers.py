"""Trackers keep what a training had: checked with the real libraries where they are installed."""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import swaprank as sr


@pytest.fixture(scope="module")
def sets() -> tuple[sr.Dataset, sr.Dataset]:
    train, vali = sr.datasets.random_net((30, 20), n_features=4, n_documents=8, random_state=0)
    return train, vali


class Told(sr.rankers.Observer):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def started(self, ranker: sr.Ranker, sets: Mapping[str, Any]) -> None:
        self.events.append(f"started with {', '.join(sets)}")

    def __call__(self, progress: sr.rankers.Progress) -> None:
        self.events.append(f"round {progress.round}")

    def ended(self, ranker: sr.Ranker) -> None:
        self.events.append(f"ended with {ranker.size_}")

    def failed(self, error: BaseException) -> None:
        self.events.append(f"failed with {type(error).__name__}")


def test_observers_are_told_of_start_rounds_and_end(sets: tuple[sr.Dataset, sr.Dataset]) -> None:
    told = Told()
    sr.LambdaMART(n_trees=2).fit(sets[0], valid=sets[1], callbacks=[told])
    assert told.events == ["started with train, valid", "round 1", "round 2", "ended with 2 trees"]


def test_observers_are_told_of_an_error_and_of_ctrl_c(sets: tuple[sr.Dataset, sr.Dataset]) -> None:
    def fail(progress: sr.rankers.Progress) -> None:
        raise ZeroDivisionError

    def press_ctrl_c(progress: sr.rankers.Progress) -> None:
        raise KeyboardInterrupt

    told = Told()
    with pytest.raises(ZeroDivisionError):
        sr.LambdaMART(n_trees=2).fit(sets[0], callbacks=[told, fail])
    assert told.events[-1] == "failed with ZeroDivisionError"
    with pytest.raises(sr.errors.Interrupted):
        sr.LambdaMART(n_trees=2).fit(sets[0], callbacks=[told, press_ctrl_c])
    assert told.events[-1] == "ended with 1 trees"


@pytest.mark.parametrize(
    ("module", "tracker"),
    [("mlflow", sr.trackers.MLflow()), ("wandb", sr.trackers.WandB()), ("tensorboardX", sr.trackers.TensorBoard("x"))],
)
def test_a_missing_library_is_named_before_training(
    module: str, tracker: sr.trackers.Tracker, sets: tuple[sr.Dataset, sr.Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (module, "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(sr.errors.MissingExtraError, match="pip install"):
        sr.LambdaMART(n_trees=2).fit(sets[0], callbacks=[tracker])


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    found = pytest.importorskip("mlflow", reason="MLflow is not installed")
    found.set_tracking_uri((tmp_path / "runs").as_uri())
    yield found
    found.set_tracking_uri(None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # MLflow warns about its own file store, and of other libraries' future.
def test_mlflow_has_parameters_metrics_record_and_model(
    mlflow: Any, sets: tuple[sr.Dataset, sr.Dataset], tmp_path: Path
) -> None:
    import pandas

    tracker = sr.trackers.MLflow(run_name="small")
    ranker = sr.LambdaMART(n_trees=5, n_leaves=4)
    ranker.fit(sets[0], valid=sets[1], metrics=["ndcg@10", "rbp(p=0.5)"], callbacks=[tracker])
    assert mlflow.active_run() is None
    run = mlflow.get_run(tracker.run_id)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "small")
    assert (run.data.params["n_leaves"], run.data.params["ranker"]) == ("4", "lambdamart")
    history = mlflow.MlflowClient().get_metric_history(tracker.run_id, "valid/ndcg_at_10")
    assert [each.step for each in history] == [1, 2, 3, 4, 5]
    assert [each.value for each in history] == ranker.history_["valid"]["ndcg@10"]
    assert "valid/rbp_p_0.5" in run.data.metrics
    record = json.loads(mlflow.artifacts.load_text(f"runs:/{tracker.run_id}/training.json"))
    assert record["data"]["train"]["queries"] == 30
    loaded = mlflow.pyfunc.load_model(f"runs:/{tracker.run_id}/model")
    features = np.asarray(sets[1].features)
    frame = pandas.DataFrame(features, columns=list(ranker.feature_names_in_))
    np.testing.assert_array_equal(loaded.predict(frame[frame.columns[::-1]]), ranker.predict(features))
    kept = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert ".swaprank" in kept
    assert not kept & {".pkl", ".pickle"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_mlflow_uses_the_active_run_and_ends_its_own_after_an_error(
    mlflow: Any, sets: tuple[sr.Dataset, sr.Dataset]
) -> None:
    def fail(progress: sr.rankers.Progress) -> None:
        raise ZeroDivisionError

    tracker = sr.trackers.MLflow(model=False)
    with mlflow.start_run() as run:
        sr.LambdaMART(n_trees=2).fit(sets[0], valid=sets[1], callbacks=[tracker])
        assert tracker.run_id == run.info.run_id
        assert mlflow.active_run() is not None
    with pytest.raises(ZeroDivisionError):
        sr.LambdaMART(n_trees=2).fit(sets[0], callbacks=[tracker, fail])
    assert mlflow.active_run() is None
    assert mlflow.get_run(tracker.run_id).info.status == "FAILED"


class FakeRun:
    """A run of Weights & Biases that remembers the calls."""

    def __init__(self) -> None:
        self.id, self.logged = "r1", []  # type: ignore[var-annotated]
        self.finished: int | None = None
        self.config, self.summary = FakeConfig(), {}  # type: ignore[var-annotated]
        self.files: list[str] = []

    def log(self, values: dict[str, float]) -> None:
        self.logged.append(values)

    def log_artifact(self, artifact: Any) -> None:
        self.files = artifact.files

    def finish(self, exit_code: int) -> None:
        self.finished = exit_code


class FakeConfig(dict[str, Any]):
    """wandb's configuration takes one more argument than a dictionary."""

    def update(self, values: Any, allow_val_change: bool = False) -> None:  # type: ignore[override]
        super().update(values)


class FakeArtifact:
    def __init__(self, name: str, type: str) -> None:
        self.name, self.type, self.files = name, type, []  # type: ignore[var-annotated]

    def add_file(self, path: str) -> None:
        assert Path(path).is_file()
        self.files.append(Path(path).name)


def test_wandb_is_called_as_it_expects(sets: tuple[sr.Dataset, sr.Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for wandb, which is too large to install for a test."""
    run, given = FakeRun(), {}

    def init(**settings: Any) -> FakeRun:
        given.update(settings)
        return run

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(run=None, init=init, Artifact=FakeArtifact))
    ranker = sr.LambdaMART(n_trees=2)
    ranker.fit(sets[0], valid=sets[1], callbacks=[sr.trackers.WandB("shop", mode="offline")])
    assert given == {"project": "shop", "name": None, "mode": "offline"}
    assert run.config["n_trees"] == 2
    assert [each["valid/ndcg_at_10"] for each in run.logged] == ranker.history_["valid"]["ndcg@10"]
    assert (run.files, run.finished) == (["model.swaprank", "training.json"], 0)


def test_tensorboard_files_have_the_curve(sets: tuple[sr.Dataset, sr.Dataset], tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX", reason="tensorboardX is not installed")
    from tensorboardX.proto.event_pb2 import Event

    ranker = sr.LambdaMART(n_trees=3)
    ranker.fit(sets[0], valid=sets[1], callbacks=[sr.trackers.TensorBoard(tmp_path)])
    (file,) = tmp_path.glob("events*")
    content, at, curve = file.read_bytes(), 0, {}
    while at < len(content):  # length, its checksum, an event, its checksum
        size = int.from_bytes(content[at : at + 8], "little")
        event = Event.FromString(content[at + 12 : at + 12 + size])
        at += size + 16
        for each in event.summary.value:
            if each.tag == "valid/ndcg_at_10":
                curve[event.step] = each.simple_value
    assert list(curve) == [1, 2, 3]
    np.testing.assert_allclose(list(curve.values()), ranker.history_["valid"]["ndcg@10"], rtol=1e-6)


def test_optuna_prunes_trials_of_a_study(sets: tuple[sr.Dataset, sr.Dataset]) -> None:
    optuna = pytest.importorskip("optuna", reason="Optuna is not installed")
    rounds, before = [], optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        # The second trial learns nothing: a leaf must have more documents than there are.
        ranker = sr.LambdaMART(n_trees=10, min_docs_in_leaf=1 if trial.number == 0 else 10_000)
        pruning = sr.trackers.OptunaPruning(trial)
        try:
            ranker.fit(sets[0], valid=sets[1], callbacks=[pruning])
        finally:
            rounds.append(pruning.round)
        return float(ranker.score(sets[1]))

    try:
        study = optuna.create_study(direction="maximize", pruner=optuna.pruners.MedianPruner(1, 2))
        study.optimize(objective, n_trials=2)
    finally:
        optuna.logging.set_verbosity(before)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "PRUNED"]
    assert rounds[0] == 10 > rounds[1]
    with pytest.raises(sr.errors.DataError, match="valid"):
        sr.LambdaMART(n_trees=2).fit(sets[0], callbacks=[sr.trackers.OptunaPruning(None)])


def test_lines_are_logged_or_shown_but_not_both(
    sets: tuple[sr.Dataset, sr.Dataset], caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    ranker = sr.LambdaMART(n_trees=3)
    ranker.fit(*sets[:1], valid=sets[1])
    assert (caplog.messages, capsys.readouterr().err) == ([], "")
    with caplog.at_level(logging.INFO, "swaprank"):
        ranker.fit(sets[0], valid=sets[1])
        assert len(caplog.messages) == 3
        assert caplog.messages[0].startswith("tree 1 of 3  valid ndcg@10 0.")
        assert capsys.readouterr().err == ""
        caplog.clear()
        ranker.fit(sets[0], valid=sets[1], verbose=True)
    assert caplog.messages == []
    assert capsys.readouterr().err.count("tree ") == 3
