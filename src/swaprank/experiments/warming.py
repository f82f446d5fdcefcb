"""Compile kernels ahead: every ranker is trained on a few documents, in parallel processes."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import swaprank as sr
from swaprank.compilation.storage import PACKAGED, STORAGE, make_private
from swaprank.errors import DataError, MetricError, SwaprankError
from swaprank.experiments.processes import processes
from swaprank.rankers.growth_trial import FEWEST_TREES
from swaprank.registry import RANKERS, load, ranker_class

SHARED_WORK = "files and metrics"
"""The name of the kernels that are compiled beside those of the rankers."""


_VARIANTS = (
    ("metric", "map"),
    ("document_fraction", 0.5),
    ("grow_policy", "symmetric"),
    ("grow_policy", "leafwise"),
    ("n_trees", FEWEST_TREES),  # Both policies are tried.
)
"""Parameters whose other values need other kernels, to train or to score."""


class Warmed(NamedTuple):
    """The result of compiling ahead."""

    folder: Path
    n_files: int
    n_bytes: int


def warm(
    rankers: Sequence[str] = (), n_jobs: int | None = None, progress: Callable[[int, int, str], None] | None = None
) -> Warmed:
    """Compile the kernels that these rankers need, or all rankers, and store them where other users find them.

    That is the folder of the package. If it is not writable, or NUMBA_CACHE_DIR is set, it is the user's cache.
    """
    names = list(rankers) or [name for name in sorted(RANKERS) if ranker_class(name).can.learns_from != "nothing"]
    for name in names:
        ranker_class(name)  # raises an error for an unknown name
    folder = _folder()
    jobs = [*sorted(names, key=lambda name: name not in ("lambdamart", "ranknet")), SHARED_WORK]
    workers = min(len(jobs), n_jobs or os.cpu_count() or 1)
    with TemporaryDirectory() as place, processes(workers) as pool:
        running = {pool.submit(compile_for, name, folder, Path(place)): name for name in jobs}
        for number, done in enumerate(as_completed(running), start=1):
            done.result()
            if progress:
                progress(number, len(jobs), running[done])
    files = [path.stat().st_size for path in folder.glob("*.kernel")]
    return Warmed(folder, len(files), sum(files))


def _folder() -> Path:
    """The folder that the kernels are saved in."""
    if "NUMBA_CACHE_DIR" not in os.environ:
        try:
            make_private(PACKAGED)
        except OSError:
            pass
        else:
            if os.access(PACKAGED, os.W_OK):
                return PACKAGED
    if STORAGE.saved_to is None:
        raise SwaprankError(f"there is no folder to save compiled kernels in: {STORAGE.problem}.")
    try:
        make_private(STORAGE.saved_to)
    except OSError as error:
        raise SwaprankError(f"compiled kernels can't be saved: {error}; set NUMBA_CACHE_DIR.") from error
    return STORAGE.saved_to


def compile_for(name: str, folder: Path, place: Path) -> None:
    """Compile for one ranker, in this process, and save to the folder; `place` is for temporary files."""
    STORAGE.saved_to = folder
    # 800 documents: more than 256 values per feature.
    train, vali = sr.datasets.random_net((40, 10), n_documents=20, n_features=4, levels=5, random_state=0)
    train = sr.Dataset(train.features, train.labels, qid=np.arange(len(train)) // 20, sample_weight=np.ones(len(train)))
    if name == SHARED_WORK:
        _use_files_and_metrics(vali, place / "data.txt")
    else:
        _use_ranker(name, train, vali, place / f"{name}.swaprank")


def _use_files_and_metrics(data: sr.Dataset, file: Path) -> None:
    sr.write_letor(data, file)
    sr.read(file)
    scores = {"first": data.features[:, 0], "second": data.features[:, 1]}
    sr.compare(data, scores, ["ndcg@10", "map", "mrr", "err@10", "pairwise"])


def _use_ranker(name: str, train: sr.Dataset, vali: sr.Dataset, file: Path) -> None:
    ranker = _trained(name, train, vali)
    for parameter, value in _VARIANTS:
        if ranker.can.learns_from == "data" and parameter in ranker.get_params():
            _trained(name, train, vali, **{parameter: value}).predict(vali)
    ranker.save(file)
    load(file).predict(vali)
    sr.Scorer(file)
    ranker.score(vali)
    with suppress(SwaprankError):  # not every model can explain itself
        ranker.contributions(vali)
    if ranker.can.categories and ranker.can.learns_from == "data":
        _use_categories(name, train)


def _use_categories(name: str, train: sr.Dataset) -> None:
    """Train on a category that decides the labels, so that trees split on it."""
    features = np.column_stack((train.labels, train.features))
    data = sr.Dataset(features, train.labels, qid=np.arange(len(train)) // 20, categorical_features=[0])
    trees = _trained(name, data, data)
    trees.predict(data)
    sr.Scorer(trees)
    trees.contributions(data)
    trees.refit(data)


def _trained(name: str, train: sr.Dataset, vali: sr.Dataset, **options: Any) -> Any:
    kind: Any = ranker_class(name)
    if kind.can.learns_from == "rankers":
        return kind(members=[_trained(member, train, vali) for member in ("linear_regression", "mart")]).fit(train)
    if kind.can.rounds_parameter:
        options.setdefault(kind.can.rounds_parameter, 2)
    try:
        return kind(**options).fit(train, valid=vali)
    except DataError:  # It takes no weights.
        return kind(**options).fit(train.replace(sample_weight=None), valid=vali)
    except MetricError:  # It takes another family of metrics.
        options.pop("metric")
        return kind(**options).fit(train, valid=vali)
