"""Compiling ahead."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import swaprank as sr
from swaprank.compilation import storage
from swaprank.compilation.storage import is_writable
from tests.command_line import here

pytestmark = pytest.mark.slow

USE = """
import swaprank as sr
from swaprank.compilation.storage import STORAGE
train, vali = sr.datasets.random_search((30, 10), random_state=1)
ranker = sr.LinearRegressionRanker().fit(train, valid=vali)
sr.Scorer(ranker).rank(vali.features, k=10)
sr.compare(vali, {"ours": ranker.predict(vali), "first": vali.features[:, 0]}, "ndcg@10")
print(STORAGE.n_compiled)
"""


def test_a_warmed_ranker_compiles_nothing() -> None:
    ended = here("warm", "linear_regression", "--jobs", "1")
    assert ended.code == 0, ended.err
    assert "compiled kernels" in ended.out
    used = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, check=True)
    assert used.stdout == "0\n"


@pytest.mark.parametrize("ranker", ["coordinate_ascent", "softrank"])
def test_rankers_that_take_no_weights_or_not_every_metric_are_warmed(ranker: str) -> None:
    ended = here("warm", ranker, "--jobs", "1")
    assert ended.code == 0, ended.err


def test_an_unknown_ranker_is_an_error() -> None:
    ended = here("warm", "lambdamat")
    assert ended.code == 2
    assert "lambdamart" in ended.err


def test_kernels_that_could_not_be_saved_are_reported_with_v(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data,) = sr.datasets.random_search(5, random_state=0)
    sr.write_letor(data, tmp_path / "data.txt")
    monkeypatch.setattr(storage.STORAGE, "problem", "the disk is full")
    monkeypatch.setattr(storage.STORAGE, "n_compiled", 3)
    said = "3 compiled kernels could not be saved: the disk is full. Set NUMBA_CACHE_DIR"
    assert here("info", "data.txt", "-v", folder=tmp_path).err.count(said) == 1
    assert said not in here("info", "data.txt", folder=tmp_path).err


def test_the_environment_is_shown() -> None:
    shown, as_json = here("info", "--environment"), here("info", "--environment", "--json")
    assert shown.code == as_json.code == 0
    assert "level" in shown.out
    found = json.loads(as_json.out)
    assert found["cpu"]["level"] in found["cpu"]["levels"]
    assert found["packages"]["numba"]
    assert found["kernels"]["saved_to"] == str(storage.STORAGE.saved_to)


def test_a_folder_is_writable_if_it_can_be_made(tmp_path: Path) -> None:
    assert is_writable(tmp_path / "a" / "b")
    if hasattr(os, "getuid") and os.getuid() != 0:
        tmp_path.chmod(0o500)
        assert not is_writable(tmp_path / "a" / "b")
