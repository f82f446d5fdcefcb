"""The steps of `swaprank demo`: generate data, train, combine, compare, certify, report."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import swaprank as sr
from swaprank.files import file_in, replacing

METRIC = "ndcg@10"
MARKER_FILE = "about.txt"
"""Marks a folder as the output of an earlier demo."""
QUERIES = {"train": 300, "vali": 100, "test": 200}

# The ranker that takes longest to compile comes first, so that the others run in parallel.
TRAININGS: dict[str, tuple[str, ...]] = {
    "lambdamart": ("n_trees=100", "n_leaves=15"),
    "ranknet": ("hidden=(10,)", "n_epochs=30", "log_features=True"),
    "lambdarank": ("hidden=(10,)", "n_epochs=30", "log_features=True"),
    "smoothrank": ("n_folds=3",),  # ten by default, which take longer than all others together
    "linear_regression": (),
}
CERTIFIED = "smoothrank"
BASELINE = "linear_regression"


class DemoModel(NamedTuple):
    """A model that the demo trained."""

    name: str
    command: str
    """The command that trains the same model."""
    seconds: float


def make_data(folder: Path, random_state: int = 0) -> dict[str, sr.Dataset]:
    """Generate documents of an imaginary search engine, and write them to the folder.

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
    marker = folder / MARKER_FILE
    if any(folder.iterdir()) and not marker.exists():
        raise sr.errors.DataError(
            f"{folder} has files that the demo did not create and might overwrite: choose another folder."
        )
    for path in folder.iterdir():
        file_in(folder, path.name)
    with replacing(marker) as stream:
        stream.write(b"Created by `swaprank demo`. Running it again overwrites these files.\n")
    generated = sr.datasets.random_search(tuple(QUERIES.values()), random_state=random_state)
    parts = dict(zip(QUERIES, generated, strict=True))
    for name, part in parts.items():
        sr.write_letor(part, folder / f"{name}.txt")
    return parts


def train_all(folder: Path, random_state: int = 0) -> Iterator[DemoModel]:
    """Train every ranker in its own process, one process per core; yields each when it is finished.

    The first run on a machine spends most of its time compiling, and one process compiles one kernel at a time.
    """
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        futures = [pool.submit(_train, name, folder, random_state) for name in TRAININGS]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def _train(name: str, folder: Path, random_state: int) -> DemoModel:
    arguments = ["train", str(folder / "train.txt"), "--valid", str(folder / "vali.txt")]
    arguments += ["--ranker", name, "-m", METRIC]
    for setting in TRAININGS[name]:
        arguments += ["--set", setting]
    arguments += ["--seed", str(random_state), "-o", str(folder / f"{name}.swaprank")]
    start = time.perf_counter()
    command = [sys.executable, "-m", "swaprank", *arguments, "--quiet"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a fixed command.
    if ended.returncode != 0:
        raise sr.errors.SwaprankError(f"training {name} failed: {ended.stderr.strip()}")
    return DemoModel(name, shlex.join(["swaprank", *arguments]), time.perf_counter() - start)


def combine_two(folder: Path, vali: sr.Dataset) -> sr.ensembles.Combination:
    """Find the exactly optimal mix of trees and net on the validation queries, and save it."""
    both = sr.combine(sr.load(folder / "lambdamart.swaprank"), sr.load(folder / "lambdarank.swaprank"), vali, METRIC)
    both.save(folder / "combination.swaprank")
    return both


def compare_all(folder: Path, test: sr.Dataset) -> sr.evaluation.Comparison:
    """Compare all models with the regression on the test queries."""
    names = (*reversed(TRAININGS), "combination")
    scores = {name: sr.load(folder / f"{name}.swaprank").predict(test) for name in names}
    return sr.compare(test, scores, METRIC, baseline=BASELINE)


def certify_one(folder: Path, train: sr.Dataset) -> sr.instruments.Certificate:
    """Test whether one model is at a local optimum of its metric."""
    return sr.certify(sr.load(folder / f"{CERTIFIED}.swaprank"), train, METRIC)


def write_report(folder: Path) -> Path:
    """Write a report that compares the trees with the regression."""
    page = folder / "report.html"
    sr.report(
        folder / "lambdamart.swaprank",
        folder / "test.txt",
        page,
        baseline=folder / f"{BASELINE}.swaprank",
        title="LambdaMART on the demo's test queries",
    )
    return page
