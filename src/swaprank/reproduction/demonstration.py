"""The steps of `swaprank demo`: generate data, train, combine, compare, certify, report."""

import os
import shlex
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import swaprank as sr
from swaprank.experiments.processes import processes
from swaprank.experiments.training import run_training
from swaprank.experiments.training_config import read_training_config
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
    "smoothrank": ("regularization=0.01",),  # by default, five on ten folds: longer than all others together
    "linear_regression": (),
}
CERTIFIED = "smoothrank"
BASELINE = "linear_regression"
COMBINATION = "combination"


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
    ...     sorted(path.stem for path in Path(folder).iterdir())
    ['about', 'test', 'train', 'vali']
    >>> parts["train"].n_queries, parts["train"].feature_names[:2]
    (300, ('match', 'title_match'))
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
        _write(part, data_file(folder, name))
    return parts


def data_file(folder: Path, name: str) -> Path:
    """The file of one part: a table, whose features have names, if tables can be read here; else LETOR text."""
    return folder / f"{name}.{'csv' if find_spec('polars') else 'txt'}"


def _write(part: sr.Dataset, file: Path) -> None:
    if file.suffix == ".txt":
        sr.write_letor(part, file)
        return
    lines = [",".join(("label", "qid", *part.feature_names))]
    qids = np.repeat(part.qids, np.diff(part.indptr)).tolist()
    # NumPy prints the shortest digits that are read as the same number.
    lines += [
        ",".join((f"{label:g}", str(qid), *map(str, row)))
        for label, qid, row in zip(part.labels.tolist(), qids, part.features, strict=True)
    ]
    with replacing(file) as stream:
        stream.write(("\n".join(lines) + "\n").encode())


def _train(name: str, folder: Path, random_state: int) -> DemoModel:
    train, vali = data_file(folder, "train"), data_file(folder, "vali")
    output, settings = folder / f"{name}.swaprank", TRAININGS[name]
    arguments = ["train", str(train), "--valid", str(vali), "--ranker", name, "-m", METRIC]
    for setting in settings:
        arguments += ["--set", setting]
    arguments += ["--seed", str(random_state), "-o", str(output)]
    options = {"train": train, "valid": vali, "output": output, "ranker": name, "metric": METRIC, "seed": random_state}
    start = time.perf_counter()
    try:
        run_training(read_training_config(None, options, settings))
    except sr.errors.SwaprankError as error:
        raise sr.errors.SwaprankError(f"training {name} failed: ", error) from None
    return DemoModel(name, shlex.join(["swaprank", *arguments]), time.perf_counter() - start)


def combine_two(folder: Path) -> sr.ensembles.Combination:
    """Find the exactly optimal mix of trees and net on the validation queries, and save it."""
    vali = sr.read(data_file(folder, "vali"))
    both = sr.combine(sr.load(folder / "lambdamart.swaprank"), sr.load(folder / "lambdarank.swaprank"), vali, METRIC)
    both.save(folder / f"{COMBINATION}.swaprank")
    return both


def compare_all(folder: Path) -> sr.evaluation.Comparison:
    """Compare all models with the regression on the test queries."""
    test = sr.read(data_file(folder, "test"))
    names = (*reversed(TRAININGS), COMBINATION)
    scores = {name: sr.load(folder / f"{name}.swaprank").predict(test) for name in names}
    return sr.compare(test, scores, METRIC, baseline=BASELINE)


def certify_one(folder: Path) -> sr.instruments.Certificate:
    """Test whether one model is at a local optimum of its metric."""
    train = sr.read(data_file(folder, "train"))
    return sr.certify(sr.load(folder / f"{CERTIFIED}.swaprank"), train, METRIC)


def write_report(folder: Path) -> Path:
    """Write a report that compares the trees with the regression."""
    page = folder / "report.html"
    sr.report(
        folder / "lambdamart.swaprank",
        data_file(folder, "test"),
        page,
        baseline=folder / f"{BASELINE}.swaprank",
        title="LambdaMART on the demo's test queries",
    )
    return page


class Results(NamedTuple):
    """What the demo shows of the trained models."""

    combination: sr.ensembles.Combination
    comparison: sr.evaluation.Comparison
    certificate: sr.instruments.Certificate
    report: Path


_STEPS: dict[str, tuple[Callable[[Path], Any], set[str]]] = {
    COMBINATION: (combine_two, {"lambdamart", "lambdarank"}),
    "comparison": (compare_all, {*TRAININGS, COMBINATION}),
    "certificate": (certify_one, {CERTIFIED}),
    "report": (write_report, {"lambdamart", BASELINE}),
}
"""The results, and the models that each needs."""


def run_all(folder: Path, random_state: int, trained: Callable[[DemoModel], object]) -> Results:
    """Train every ranker, and do each step as soon as it has its models; `trained` is told of every ranker.

    The first run on a machine spends most of its time compiling, and one process compiles one kernel at a time. So all
    work is done in a process per core, and what a process compiled for one step is there for its next.
    """
    done: dict[str, Any] = {}
    with processes(min(len(TRAININGS), os.cpu_count() or 1)) as pool:
        running = {pool.submit(_train, name, folder, random_state): name for name in TRAININGS}
        waiting = dict(_STEPS)
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(future)
                done[name] = future.result()
                if name in TRAININGS:
                    trained(done[name])
            for name in [name for name, (_, needs) in waiting.items() if needs <= done.keys()]:
                step, _ = waiting.pop(name)
                running[pool.submit(step, folder)] = name
    return Results(*(done[name] for name in Results._fields))
