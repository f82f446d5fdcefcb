from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import swaprank as sr
from swaprank.reproduction import demonstration
from tests.command_line import here

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The working directory and the output of the demo. It trains in processes."""
    home = tmp_path_factory.mktemp("demo")
    shown = here("demo", folder=home)
    assert shown.code == 0, shown.err
    return home, shown.out


def test_all_files_are_written(demo: tuple[Path, str]) -> None:
    home, _ = demo
    models = {f"{name}.swaprank" for name in (*demonstration.TRAININGS, "combination")}
    records = {f"{name}.toml" for name in demonstration.TRAININGS}
    others = {"train.csv", "vali.csv", "test.csv", "report.html", demonstration.MARKER_FILE}
    assert {path.name for path in (home / "swaprank-demo").iterdir()} == models | records | others


def test_files_are_the_generated_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With names of features where tables can be read, and without where they cannot."""
    parts = demonstration.make_data(tmp_path / "named")
    monkeypatch.setattr(demonstration, "find_spec", lambda name: None)
    demonstration.make_data(tmp_path / "numbered")
    for name, part in parts.items():
        named, numbered = sr.read(tmp_path / "named" / f"{name}.csv"), sr.read(tmp_path / "numbered" / f"{name}.txt")
        assert named.feature_names == part.feature_names
        for found in (named, numbered):
            assert (found.features == part.features).all()
            assert (found.labels == part.labels).all()
            assert found.qids.tolist() == part.qids.tolist()


def test_the_table_has_the_metrics_of_the_models(demo: tuple[Path, str]) -> None:
    home, shown = demo
    folder = home / "swaprank-demo"
    test = sr.read(folder / "test.csv")
    for name in ("smoothrank", "ranknet", "lambdarank", "lambdamart", "combination"):
        value = sr.metric("ndcg@10").mean(test.labels, sr.load(folder / f"{name}.swaprank").predict(test), test.indptr)
        assert re.search(rf"ndcg@10  {name} +{value:.4f} ", shown)
    assert "lambdamart is better than linear_regression" in shown


def test_the_printed_commands_train_the_same_models(demo: tuple[Path, str]) -> None:
    home, shown = demo
    line = next(line for line in shown.splitlines() if "--ranker linear_regression" in line)
    command = shlex.split(line.rsplit("  (", 1)[0])
    model = home / "swaprank-demo" / "linear_regression.swaprank"
    before = model.read_bytes()
    model.unlink()
    assert here(*command[1:], folder=home).code == 0
    assert model.read_bytes() == before


def test_the_suggested_next_steps_work(demo: tuple[Path, str]) -> None:
    home, shown = demo
    explain = next(line for line in shown.splitlines() if line.startswith("  swaprank explain"))
    ended = here(*shlex.split(explain)[1:], folder=home)
    assert ended.code == 0, ended.err
    assert "label" in ended.out


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("mine\n")
    shown = here("demo", "-o", tmp_path, folder=tmp_path)
    assert shown.code == 2
    assert "has files that the demo did not create" in shown.err
    assert (tmp_path / "train.txt").read_text() == "mine\n"


def test_a_training_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demonstration, "TRAININGS", {"linear_regression": ()})
    demonstration.make_data(tmp_path)
    demonstration.data_file(tmp_path, "train").write_text("nonsense\n")
    with pytest.raises(
        sr.errors.SwaprankError, match=r"training linear_regression failed: .*train.csv: it has no documents"
    ):
        demonstration.run_all(tmp_path, 0, print)
