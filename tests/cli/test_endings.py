"""How commands end: exit codes, signals at any moment, closed pipes."""

from __future__ import annotations

import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from tests.command_line import here, swaprank

pytestmark = pytest.mark.slow

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
TRAIN = ("train", "train.txt", "--set", "n_trees=12", "--set", "n_leaves=7", "--set", "min_docs_in_leaf=5")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("endings")
    (data,) = sr.datasets.random_net((60,), n_features=6, n_documents=10, levels=4, random_state=0)
    sr.write_letor(data, folder / "train.txt")
    for feature in (0, 1):
        np.savetxt(folder / f"f{feature}.scores", data.column(feature))
    return folder


def after_round(number: int, name: str = "SIGINT", of: str = "") -> str:
    return f"""
import os, signal
import swaprank.rankers.rounds as rounds
def show_rounds(update, title):
    def press(progress):
        if progress.round == {number} and title == {of!r}:
            os.kill(os.getpid(), signal.{name})
    return press
rounds.show_rounds = show_rounds
"""


def on_import(module: str, act: str = "kill") -> str:
    return f"""
import os, signal, sys
def kill(*anything):
    os.kill(os.getpid(), signal.SIGINT)
class Dying:
    __del__ = kill
def CreatingAClass():
    class Named:
        __set_name__ = kill
    type("Made", (), {{"name": Named()}})
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            {act}()
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("error", ["ZeroDivisionError", "EOFError"])
def test_an_internal_error_is_one_line_and_ends_with_70(folder: Path, error: str) -> None:
    before = f"""
import swaprank.data.summary as summary
def fail(data):
    raise {error}("oh")
summary.summarize = fail
"""
    failed = swaprank("info", "train.txt", folder=folder, before=before)
    assert failed.code == 70
    assert failed.err.endswith(f"internal error: {error}: oh; run with SWAPRANK_DEBUG=1 for the traceback.\n")
    assert "Traceback" not in failed.err
    debugged = swaprank("info", "train.txt", folder=folder, before=before, SWAPRANK_DEBUG="1")
    assert debugged.code == 70
    assert "Traceback" in debugged.err


@POSIX
def test_an_interrupt_is_reported_and_ends_with_130(folder: Path) -> None:
    before = """
import os, signal, threading
import swaprank.evaluation.comparison as comparing
real = comparing.randomize
def slow(differences, n_resamples, random_state, largest):
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    return real(differences, 10**12, random_state, largest)
comparing.randomize = slow
"""
    ended = swaprank("compare", "train.txt", "f0.scores", "f1.scores", "-m", "ndcg", folder=folder, before=before)
    assert (ended.code, ended.out, ended.err) == (130, "", "interrupted\n")


@POSIX
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_interrupted_training_saves_the_best_model_so_far(folder: Path, name: str) -> None:
    ended = swaprank(*TRAIN, "-o", "early.swaprank", folder=folder, before=after_round(3, name))
    assert ended.code == 128 + getattr(signal, name), ended.err
    assert "early.swaprank: 3 trees, trained on 600 documents\n" in ended.out
    assert "interrupted: this is the best model so far\nearly.toml: training record" in ended.out
    assert ended.err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in ended.err
    assert sr.load(folder / "early.swaprank").interrupted_
    assert tomllib.loads((folder / "early.toml").read_text())["result"]["interrupted"] is True
    whole = here("train", "--config", folder / "early.toml", "-o", folder / "whole.swaprank", folder=folder)
    assert "12 trees" in whole.out
    assert "identical" not in whole.out
    assert not list(folder.glob(".*.part"))


@POSIX
def test_an_interrupted_search_saves_its_best_model_and_resumes(folder: Path) -> None:
    pytest.importorskip("optuna")
    searched = ("--set", "n_trees=5", "--range", "n_leaves=4..9", "--trials", "4")
    arguments = ("tune", "train.txt", "--valid", "train.txt", *searched, "-o", "best.swaprank")
    ended = swaprank(*arguments, folder=folder, before=after_round(2, of="trial 3"))
    assert (ended.code, ended.err.splitlines()[-1]) == (130, "interrupted"), ended.err
    assert "The best of 2 trials" in ended.out
    assert "interrupted: this is the best model so far; run the same command again to resume" in ended.out
    assert not sr.load(folder / "best.swaprank").interrupted_
    assert not list(folder.glob("best.trials.*")), "the lock of the trials is left"
    again = here(*arguments, folder=folder)
    assert (again.code, "The best of 4 trials" in again.out) == (0, True), again.err


@POSIX
def test_an_interrupt_before_the_end_of_the_first_round_writes_nothing(folder: Path) -> None:
    before = """
import os, signal
from swaprank.rankers.tree_ranker import TreeRanker
real = TreeRanker._boost
def interrupted(self, *others):
    os.kill(os.getpid(), signal.SIGINT)
    return real(self, *others)
TreeRanker._boost = interrupted
"""
    ended = swaprank(*TRAIN, "-o", "none.swaprank", folder=folder, before=before)
    assert ended.code == 130
    assert "Traceback" not in ended.err
    assert not list(folder.glob("*none*"))


@POSIX
@pytest.mark.parametrize("training", ["finished", "interrupted"])
def test_signals_while_saving_leave_complete_files(folder: Path, training: str) -> None:
    before = (
        (after_round(4) if training == "interrupted" else "")
        + """
import os, signal
from swaprank.rankers.ranker import Ranker
real = Ranker.save
def save(self, path):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        os.kill(os.getpid(), number)
    real(self, path)
Ranker.save = save
"""
    )
    output = f"{training}.swaprank"
    ended = swaprank(*TRAIN, "-o", output, folder=folder, before=before)
    assert (ended.code, ended.err.splitlines()[-1]) == (130, "interrupted")
    trained = sr.load(folder / output)
    assert trained.model_.n_stages == (12 if training == "finished" else 4)
    assert f"{output}: {trained.size_}" in ended.out
    record = tomllib.loads((folder / f"{training}.toml").read_text())
    assert record["result"]["interrupted"] is (training == "interrupted")
    assert not list(folder.glob(".*.part"))


@POSIX
@pytest.mark.parametrize(
    ("module", "act"),
    [
        ("swaprank.cli", "kill"),
        ("typer", "Dying"),
        ("numba", "kill"),
        ("numba", "Dying"),
        ("typer", "CreatingAClass"),
        ("numba", "CreatingAClass"),
    ],
)
def test_an_interrupt_while_importing_prints_no_traceback(folder: Path, module: str, act: str) -> None:
    """Also where Python can't raise it, as in a finalizer."""
    ended = swaprank(*TRAIN, "-o", "imported.swaprank", folder=folder, before=on_import(module, act))
    assert ended.code == 130
    assert ended.err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in ended.err


@POSIX
def test_an_ignored_signal_stays_ignored(folder: Path) -> None:
    before = f"import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n{after_round(3, 'SIGHUP')}"
    ended = swaprank(*TRAIN, "-o", "nohup.swaprank", folder=folder, before=before)
    assert ended.code == 0, ended.err
    assert "nohup.swaprank: 12 trees" in ended.out


@POSIX
@pytest.mark.parametrize("arguments", ["info train.txt --json", "--help"])
def test_a_reader_that_leaves_early_is_no_error(folder: Path, arguments: str) -> None:
    # The reader leaves at once; a full pipe of 64 kB need not be waited for, because it is closed first.
    command = f"(sleep 1; {sys.executable} -m swaprank {arguments}; echo $? >&2) | true"
    shown = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=folder, check=True)
    assert shown.stderr == "141\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("info --rankers >&-", 0),
        ("info --rankers >/dev/full", 2),
        ("info nowhere.txt 2>&-", 2),
        ("info nowhere.txt 2>/dev/full", 2),
    ],
)
def test_closed_and_full_outputs_keep_their_exit_codes(folder: Path, command: str, code: int) -> None:
    ended = subprocess.run(["bash", "-c", f"{sys.executable} -m swaprank {command}"], cwd=folder, check=False)
    assert ended.returncode == code


@POSIX
def test_an_interrupted_warm_ends_its_processes(tmp_path: Path) -> None:
    before = """
import os, signal
import swaprank.experiments.warming as warming
warming.as_completed = lambda running: os.kill(os.getpid(), signal.SIGINT)
"""
    ended = swaprank("warm", "mart", "--jobs", 2, before=before, NUMBA_CACHE_DIR=str(tmp_path), folder=tmp_path)
    assert (ended.code, ended.err) == (130, "interrupted\n")
    assert not list(tmp_path.rglob("*.kernel")), "the processes went on compiling"


def test_certify_ends_with_1_if_the_answer_is_no(folder: Path) -> None:
    setting = ("--ranker", "linear_regression", "--set", "regularization=0.1")
    assert here("train", "train.txt", *setting, "-o", "linear.swaprank", folder=folder).code == 0
    ended = here("certify", "linear.swaprank", "train.txt", "--epsilon", 0.1, folder=folder)
    assert (ended.code, ended.err) == (1, "")
    assert "Not a local optimum" in ended.out


@pytest.mark.skipif(sys.platform == "win32", reason="no /dev/stdout")
def test_a_file_that_is_standard_output_has_no_other_text_in_it(tmp_path: Path) -> None:
    (data,) = sr.datasets.random_net((10,), n_features=3, n_documents=5, random_state=0)
    sr.write_letor(data, tmp_path / "data.txt")
    sr.LinearRegressionRanker(regularization=0.1).fit(data).save(tmp_path / "model.swaprank")
    command = [sys.executable, "-m", "swaprank", "predict", "model.swaprank", "data.txt", "-o", "/dev/stdout"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len([float(line) for line in ended.stdout.splitlines()]) == len(data)
    assert ended.stderr == "/dev/stdout: 50 scores\n"
