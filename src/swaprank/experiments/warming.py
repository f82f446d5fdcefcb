"""Compile kernels ahead: every ranker is trained on a few documents, in parallel processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from swaprank.compilation.cache import STORAGE
from swaprank.compilation.places import PACKAGED, make_private
from swaprank.data.datasets import random_net
from swaprank.errors import SwaprankError
from swaprank.evaluation.evaluate import evaluate
from swaprank.reading.letor_writing import write_letor
from swaprank.reading.read import read
from swaprank.registry import RANKERS, load, ranker_class

SHARED_WORK = "files and metrics"
"""What is compiled beside the rankers."""


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
    names = list(rankers) or sorted(RANKERS)
    for name in names:
        ranker_class(name)  # raises an error for an unknown name
    folder = _folder()
    jobs = [*sorted(names, key=lambda name: name not in ("lambdamart", "ranknet")), SHARED_WORK]
    workers = min(len(jobs), n_jobs or os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(compile_for, name, folder): name for name in jobs}
        try:
            for number, done in enumerate(as_completed(running), start=1):
                done.result()
                if progress:
                    progress(number, len(jobs), running[done])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    files = [path.stat().st_size for path in folder.glob("*.kernel")]
    return Warmed(folder, len(files), sum(files))


def _folder() -> Path:
    """Where the kernels go."""
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


def compile_for(name: str, folder: Path) -> None:
    """Compile for one ranker, in this process, and save to the folder."""
    STORAGE.saved_to = folder
    train, vali = random_net((40, 10), n_documents=20, n_features=4, random_state=0)  # more than 256 values per feature
    if name == SHARED_WORK:
        with TemporaryDirectory() as place:
            write_letor(train, Path(place) / "train.txt")
            read(Path(place) / "train.txt")
        evaluate(vali, _trained("linear_regression", train).predict(vali), ["ndcg", "map"])
        return
    ranker = _trained(name, train)
    if not ranker.made_of_rankers:
        ranker.fit(train, valid=vali)
    with TemporaryDirectory() as place:
        ranker.save(Path(place) / "model.swaprank")
        load(Path(place) / "model.swaprank").predict(vali)
    ranker.score(vali)


def _trained(name: str, train: Any) -> Any:
    kind = ranker_class(name)
    rounds: dict[str, Any] = {kind.rounds_parameter: 2} if kind.rounds_parameter else {}
    if kind.made_of_rankers:
        rounds = {"members": [_trained("linear_regression", train), _trained("mart", train)]}
    return kind(**rounds).fit(train)
