"""Send signals at random moments to `train`, `cv` and `tune`, and check what they leave behind.

    python tools/signals.py [--number 60] [--seed 0]

After every signal: the exit code is 128 + its number, or 0 if the command had finished; there is no traceback and no
partly written file; the process ends soon; a model is absent, or can be loaded and has its record; the same command
then completes, with the result of an undisturbed run.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import swaprank as sr
from swaprank.experiments.training_run import read_record
from swaprank.files import file_digest

PATIENCE = 30.0
"""Seconds after which a process that was sent a signal hangs."""
TREES = ("--set", "n_trees=150", "--set", "n_leaves=15", "--set", "min_docs_in_leaf=3")
LARGE = ("--set", "n_trees=500", "--set", "n_leaves=60", "--set", "min_docs_in_leaf=1", "--threads", "1")
FEW = ("--set", "n_trees=40", "--set", "n_leaves=7")


class Case(NamedTuple):
    """A command, and what it writes."""

    arguments: tuple[str, ...]
    output: str
    while_saving: bool = False
    """True if the signal is sent when a file is about to be written, else at any time."""


CASES = {
    "train": Case(("train", "train.txt", "--valid", "vali.txt", *TREES, "-o", "out.swaprank"), "out.swaprank"),
    "cv": Case(("cv", "train.txt", "--folds", "3", *FEW, "--grid", "n_leaves=4,7", "-o", "out"), "out"),
    "tune": Case(
        ("tune", "train.txt", "--valid", "vali.txt", *FEW, "--trials", "6", "-o", "out.swaprank"), "out.swaprank"
    ),
    "save": Case(("train", "vali.txt", *LARGE, "-o", "out.swaprank"), "out.swaprank", while_saving=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=60, help="number of signals")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    failures = 0
    with TemporaryDirectory() as place:
        data = Path(place) / "data"
        data.mkdir()
        parts = sr.datasets.random_net((150, 60), n_features=8, n_documents=12, levels=4, random_state=0)
        for name, part in zip(("train", "vali"), parts, strict=True):
            sr.write_letor(part, data / f"{name}.txt")
        whole = {name: _undisturbed(case, data, Path(place) / f"whole-{name}") for name, case in CASES.items()}
        for number in range(options.number):
            name = list(CASES)[number % len(CASES)]
            folder = Path(place) / str(number)
            shutil.copytree(data, folder)
            seconds, expected = whole[name]
            sent = [chance.choice((signal.SIGINT,) * 3 + (signal.SIGTERM,))]
            sent += [signal.SIGINT] * chance.choice((0, 0, 0, 1))
            said, problems = _disturb(CASES[name], folder, sent, chance, seconds)
            problems += _complete(CASES[name], folder, expected)
            failures += bool(problems)
            print(f"{number + 1:3}  {name:<5}  {said}  {'; '.join(problems) or 'ok'}", flush=True)
            shutil.rmtree(folder)
    print(f"{options.number} tried, {failures} failed")
    sys.exit(failures > 0)


def _undisturbed(case: Case, data: Path, folder: Path) -> tuple[float, object]:
    """Run time and result of the command; it runs twice, the first time to compile."""
    for _ in range(2):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(data, folder)
        started = time.perf_counter()
        subprocess.run(_command(case), cwd=folder, check=True, capture_output=True)
        seconds = time.perf_counter() - started
    return seconds, _result(folder / case.output)


def _command(case: Case) -> list[str]:
    return [sys.executable, "-m", "swaprank", *case.arguments]


def _result(output: Path) -> object:
    """The part of the output that must not depend on an interruption."""
    if output.is_dir():
        found = json.loads((output / "results.json").read_text())
        return found["results"], [{**each, "tried": len(each["tried"])} for each in found["chosen"]]
    return file_digest(output)


def _disturb(
    case: Case, folder: Path, signals: list[signal.Signals], chance: random.Random, seconds: float
) -> tuple[str, list[str]]:
    """Run the command and send it signals; what was done, and what went wrong."""
    problems: list[str] = []
    started = time.perf_counter()
    with subprocess.Popen(
        _command(case), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        if case.while_saving:
            while process.poll() is None and not list(folder.glob(".*.part")):
                pass
            time.sleep(chance.uniform(0, 0.01))
        else:
            time.sleep(chance.uniform(0, seconds))
        moment = time.perf_counter() - started
        for number in signals:
            process.send_signal(number)
            time.sleep(chance.uniform(0, 0.02))
        try:
            _, errors = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
            problems.append(f"still running after {PATIENCE:g} s")
    took = time.perf_counter() - started - moment
    # A signal that comes before Python handles signals ends the process at once, which a shell reports in the same way.
    code = 128 - process.returncode if process.returncode < 0 else process.returncode
    if code not in {0, *(128 + number for number in signals)}:
        problems.append(f"exit code {process.returncode}")
    if "Traceback" in errors or "Error" in errors or "Exception" in errors:
        problems.append(f"it printed: {errors.strip()}")
    problems += [f"{path.name} is left" for path in _leftovers(folder)]
    if not (folder / case.output).is_dir():
        problems += _check_model(folder / case.output, code)
    names = "+".join(number.name for number in signals)
    return f"{names:<15} at {moment:5.2f} s: {process.returncode:4} after {took:4.2f} s", problems


def _leftovers(folder: Path) -> Iterator[Path]:
    for pattern in ("*.part", "*.lock*"):
        yield from folder.rglob(pattern)


def _check_model(file: Path, code: int) -> list[str]:
    if not file.exists():
        return ["there is no model"] if code == 0 else []
    try:
        sr.load(file)
    except sr.errors.SwaprankError as error:
        return [str(error)]
    return [] if read_record(file, file_digest(file)) else ["the model has no record"]


def _complete(case: Case, folder: Path, expected: object) -> list[str]:
    """Run the same command again: it must give the result of an undisturbed run."""
    again = subprocess.run(_command(case), cwd=folder, check=False, capture_output=True, text=True)
    if again.returncode:
        return [f"running it again ends with {again.returncode}: {again.stderr.strip()}"]
    # Trials of a resumed search have other seeds.
    if case.arguments[0] != "tune" and _result(folder / case.output) != expected:
        return ["running it again gives another result"]
    return []


if __name__ == "__main__":
    main()
