"""The long task of each worker of a training on Dask.

client                              first worker                          other workers
  submit train_shard      ─►          starts the tracker
  its address             ◄─
  submit train_shard      ─────────────────────────────────────►            train_shard
  …                       ◄─          progress of each round
  answer, last_checkpoint ─►
  what was learned        ◄─          the model                             a digest of the same model
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import copy
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any, NamedTuple

import numpy as np

from swaprank.cluster.shard import Counts, Shard, fit_on_shard
from swaprank.cluster.tracker import Tracker
from swaprank.cluster.xgboost_collective import XGBoostCollective

_CHECK_SECONDS = 0.5


class Job(NamedTuple):
    """The arguments of a training that are the same for all workers."""

    session: str
    topic: str
    """The topic of the first worker's messages: one for each client, because Dask never forgets a topic."""
    ranker: Any
    """Not fitted."""
    fit: Mapping[str, Any]
    """Arguments of `fit_shard`."""
    host: str
    """The host of the first worker."""
    waits: bool
    """True if the first worker waits for the answer of the client after each round."""
    checkpoint: "KeptCheckpoint | None"
    """The client has the file, because the disk of a worker may be lost with it."""


class KeptCheckpoint(NamedTuple):
    """A checkpoint on the client."""

    path: str
    every: int
    content: bytes
    """Empty if there is none yet."""


Round = tuple[int, int, Mapping[str, Mapping[str, float]], int]
"""The fields of a Progress."""


class Message(NamedTuple):
    """A message of the first worker to the client."""

    session: str
    tracker: Mapping[str, Any] | None = None
    """At the start: arguments with which the other workers find each other."""
    round: Round | None = None


class WorkerResult(NamedTuple):
    """The result of a worker."""

    digest: str
    """The same on all workers, or something is wrong."""
    counts: Counts
    """The sizes of the data of all workers."""
    learned: Any = None
    """The result of the first worker."""
    checkpoint: bytes = b""
    """The last checkpoint, from the first worker."""


class Session(NamedTuple):
    """A training whose first worker is in this process."""

    answers: SimpleQueue[bool]
    """True to stop: the answers of the client to each round, or at any time."""
    checkpoint: Path


_SESSIONS: dict[str, Session] = {}


def answer(session: str, stop: bool) -> None:
    """Tell the first worker to go on or to stop; called by the client on that worker."""
    if session in _SESSIONS:
        _SESSIONS[session].answers.put(stop)


def last_checkpoint(session: str) -> bytes:
    """The content of the last checkpoint, empty if there is none yet; called by the client on the first worker."""
    file = _SESSIONS[session].checkpoint if session in _SESSIONS else None
    return file.read_bytes() if file is not None and file.exists() else b""


def train_shard(job: Job, shard: Shard, tracker: Mapping[str, Any] | None) -> WorkerResult:
    """Train on a shard. The first worker is given no tracker: it starts one, and sends its address to the client."""
    from distributed import get_worker

    worker = get_worker()
    with _joined(job, shard, tracker, worker) as collective:
        ranker = copy(job.ranker)
        n_threads = int(worker.state.nthreads)
        ranker.n_threads = n_threads if ranker.n_threads is None else min(n_threads, ranker.n_threads)
        own = _arguments_of_first(job, worker) if shard.rank == 0 else {}
        counts = fit_on_shard(ranker, collective, shard, **job.fit, **own)
        if shard.rank > 0:
            return WorkerResult(_digest(ranker), counts)
        return WorkerResult(_digest(ranker), counts, ranker.learned_, last_checkpoint(job.session))


def _arguments_of_first(job: Job, worker: Any) -> dict[str, Any]:
    """The arguments of `fit_shard` that only the first worker is given: it reports each round to the client."""
    session = _SESSIONS[job.session]

    def report(progress: Any) -> bool:
        finished = (progress.round, progress.n_rounds, dict(progress.measured), progress.best_round)
        worker.log_event(job.topic, Message(job.session, round=finished))
        return session.answers.get() if job.waits or not session.answers.empty() else False

    if job.checkpoint is None:
        return {"callbacks": [report]}
    if job.checkpoint.content:
        session.checkpoint.write_bytes(job.checkpoint.content)
    return {"callbacks": [report], "checkpoint": session.checkpoint, "checkpoint_every": job.checkpoint.every}


@contextmanager
def _joined(job: Job, shard: Shard, tracker: Mapping[str, Any] | None, worker: Any) -> Iterator[XGBoostCollective]:
    """The collective of all workers: left together at the end, or abandoned by one that fails."""
    ended = Event()
    with _tracked(job, shard.size, worker) if tracker is None else nullcontext(tracker) as known:
        collective = XGBoostCollective(known, shard.rank, shard.size)
        key = worker.get_current_task()
        Thread(target=_watch, args=(worker, key, job.session, collective, ended), daemon=True).start()
        try:
            collective.join()
            yield collective
            collective.close()
        except BaseException as error:
            # The others notice at once.
            collective.abandon(f"worker {shard.rank} has failed: {error}")
            raise
        finally:
            ended.set()


@contextmanager
def _tracked(job: Job, size: int, worker: Any) -> Iterator[Mapping[str, Any]]:
    """Start the tracker, and make a place for the checkpoint, on the first worker."""
    tracker = Tracker(size, job.host)
    with TemporaryDirectory(prefix="swaprank-", dir=worker.local_directory) as folder:
        name = "none" if job.checkpoint is None else Path(job.checkpoint.path).name
        _SESSIONS[job.session] = Session(SimpleQueue(), Path(folder) / name)
        worker.log_event(job.topic, Message(job.session, tracker=tracker.arguments))
        try:
            yield tracker.arguments
        finally:
            del _SESSIONS[job.session]
            tracker.stop()


def _watch(worker: Any, key: str, session: str, collective: XGBoostCollective, ended: Event) -> None:
    """End the task if nobody waits for it any more: the client has cancelled it, or is gone."""
    while not ended.wait(_CHECK_SECONDS):
        task = worker.state.tasks.get(key)
        if task is None or task.state not in ("executing", "long-running"):
            collective.abandon("the training was cancelled.")
            answer(session, True)
            return


def _digest(ranker: Any) -> str:
    """A hash of what was learned."""
    values, arrays = ranker.model_.to_parts()
    digest = hashlib.sha256(json.dumps([values, ranker.history_], sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
