"""The whole way from data to a verdict, on data that is made on the spot: what `swaprank demo` shows."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from swaprank.data.dataset import Dataset
from swaprank.data.datasets import random_search
from swaprank.ensembles.combination import Combination, combine
from swaprank.errors import DataError, SwaprankError
from swaprank.evaluation.compare import Comparison, compare
from swaprank.instruments.certificate import Certificate
from swaprank.instruments.certify import certify
from swaprank.rankers.ranker import Ranker
from swaprank.reading.letor_writing import write_letor
from swaprank.registry import load
from swaprank.reporting.report import report

METRIC = "ndcg@10"
MARK = "about.txt"
"""Tells a folder of an earlier demo from one of the user's own."""
QUERIES = {"train": 300, "vali": 100, "test": 200}

# The longest to compile comes first, so that the others are done beside it.
TRAININGS: dict[str, tuple[str, ...]] = {
    "lambdamart": ("n_trees=100", "n_leaves=15"),
    "ranknet": ("hidden=(10,)", "n_epochs=30", "log_features=True"),
    "lambdarank": ("hidden=(10,)", "n_epochs=30", "log_features=True"),
    "smoothrank": (),
    "linear_regression": (),
}
CERTIFIED = "smoothrank"
BASELINE = "linear_regression"


class Trained(NamedTuple):
    """A model that was trained by a command."""

    name: str
    command: str
    """What a user would type for the same."""
    seconds: float


def make_data(folder: Path, random_state: int = 0) -> dict[str, Dataset]:
    """Documents of an imaginary search engine, also as files in the folder.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from swaprank.reproduction.demonstration import make_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = make_data(Path(folder))
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['about.txt', 'test.txt', 'train.txt', 'vali.txt']
    >>> parts["train"].n_queries
    300
    """
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / MARK
    if any(folder.iterdir()) and not mark.exists():
        raise DataError(f"{folder} has files that are not of a demo, which could be written over: name another folder.")
    mark.write_text("Made by `swaprank demo`, which writes over all of this when it is run again.\n")
    made = random_search(tuple(QUERIES.values()), random_state=random_state)
    parts = dict(zip(QUERIES, made, strict=True))
    for name, part in parts.items():
        write_letor(part, folder / f"{name}.txt")
    return parts


def train_all(folder: Path, random_state: int = 0) -> Iterator[Trained]:
    """Every ranker in a process of its own, as many at once as there are cores; each is given when it is done.

    On a machine that has never run them, compiling takes most of the time, and one process compiles one kernel at once.
    """
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        begun = [pool.submit(_train, name, folder, random_state) for name in TRAININGS]
        try:
            for done in as_completed(begun):
                yield done.result()
        finally:
            for waiting in begun:
                waiting.cancel()


def _train(name: str, folder: Path, random_state: int) -> Trained:
    arguments = ["train", str(folder / "train.txt"), "--valid", str(folder / "vali.txt")]
    arguments += ["--ranker", name, "-m", METRIC]
    for setting in TRAININGS[name]:
        arguments += ["--set", setting]
    arguments += ["--seed", str(random_state), "-o", str(folder / f"{name}.swaprank")]
    start = time.perf_counter()
    command = [sys.executable, "-m", "swaprank", *arguments, "--quiet"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command.
    if ended.returncode != 0:
        raise SwaprankError(f"training {name} failed: {ended.stderr.strip()}")
    return Trained(name, shlex.join(["swaprank", *arguments]), time.perf_counter() - start)


def combine_two(folder: Path, vali: Dataset) -> Combination:
    """The exactly optimal mix of trees and net on the validation queries, saved beside them."""
    both = combine(load(folder / "lambdamart.swaprank"), load(folder / "lambdarank.swaprank"), vali, METRIC)
    both.save(folder / "combination.swaprank")
    return both


def compare_all(folder: Path, test: Dataset) -> Comparison:
    """All models against the regression on the test queries."""
    rankers = load_all(folder)
    first = {BASELINE: rankers.pop(BASELINE)}
    scores = {name: ranker.predict(test) for name, ranker in {**first, **rankers}.items()}
    return compare(test, scores, METRIC)


def load_all(folder: Path) -> dict[str, Ranker]:
    """The trained models by name, the combination last."""
    return {name: load(folder / f"{name}.swaprank") for name in (*reversed(TRAININGS), "combination")}


def certify_one(folder: Path, train: Dataset, progress: Callable[[int, int], None] | None = None) -> Certificate:
    """Whether one of them is at a local optimum of what it learned for."""
    return certify(load(folder / f"{CERTIFIED}.swaprank"), train, METRIC, progress=progress)


def write_report(folder: Path) -> Path:
    """A page about the trees beside the regression."""
    page = folder / "report.html"
    report(
        folder / "lambdamart.swaprank",
        folder / "test.txt",
        page,
        baseline=folder / f"{BASELINE}.swaprank",
        title="LambdaMART on the demo's test queries",
        certify=False,
    )
    return page
