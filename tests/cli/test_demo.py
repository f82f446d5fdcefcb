from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import swaprank as sr
from swaprank.reproduction import demonstration


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "swaprank", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The working directory and the output of the demo."""
    home = tmp_path_factory.mktemp("demo")
    shown = run("demo", cwd=home)
    assert shown.returncode == 0, shown.stderr
    return home, shown.stdout


def test_all_files_are_written(demo: tuple[Path, str]) -> None:
    home, _ = demo
    models = {f"{name}.swaprank" for name in (*demonstration.TRAININGS, "combination")}
    records = {f"{name}.toml" for name in demonstration.TRAININGS}
    others = {"train.txt", "vali.txt", "test.txt", "report.html", demonstration.MARKER_FILE}
    assert {path.name for path in (home / "swaprank-demo").iterdir()} == models | records | others


def test_the_table_has_the_metrics_of_the_models(demo: tuple[Path, str]) -> None:
    home, shown = demo
    folder = home / "swaprank-demo"
    test = sr.read(folder / "test.txt")
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
    assert run(*command[1:], cwd=home).returncode == 0
    assert model.read_bytes() == before


def test_the_suggested_next_steps_work(demo: tuple[Path, str]) -> None:
    home, shown = demo
    explain = next(line for line in shown.splitlines() if line.startswith("  swaprank explain"))
    ended = run(*shlex.split(explain)[1:], cwd=home)
    assert ended.returncode == 0, ended.stderr
    assert "label" in ended.stdout


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("mine\n")
    shown = run("demo", "-o", tmp_path, cwd=tmp_path)
    assert shown.returncode == 2
    assert "has files that the demo did not create" in shown.stderr
    assert (tmp_path / "train.txt").read_text() == "mine\n"


def test_a_training_that_fails_is_reported(tmp_path: Path) -> None:
    demonstration.make_data(tmp_path)
    (tmp_path / "train.txt").write_text("nonsense\n")
    with pytest.raises(sr.SwaprankError, match=r"training \w+ failed: error: "):
        list(demonstration.train_all(tmp_path))
