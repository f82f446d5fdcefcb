"""The long task of each worker of a training, the same for every launcher.

driver                              first worker                          other workers
  start                   ─►          opens a port                          opens a port
  addresses               ◄─          Here                                  Here
  begin                   ─►          the group forms                       the group forms
  …                       ◄─          progress of each round
  answer, last_checkpoint ─►
  what was learned        ◄─          the model                             a digest of the same model
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any, NamedTuple

import numpy as np

from swaprank.cluster.formation import Address, Listener
from swaprank.cluster.shard import Counts, Shard, fit_on_shard
from swaprank.cluster.socket_collective import SocketCollective
from swaprank.errors import ClusterError, SwaprankError

_CHECK_SECONDS = 0.5


class Job(NamedTuple):
    """The arguments of a training that are the same for all workers."""

    session: str
    """Another one for each attempt."""
    secret: bytes
    """By it the workers know each other."""
    silence: float
    """A worker without a heartbeat for so many seconds is taken for lost."""
    ranker: Any
    """Not fitted."""
    fit: Mapping[str, Any]
    """Arguments of `fit_shard`."""
    waits: bool
    """True if the first worker waits for the answer of the driver after each round."""
    checkpoint: "KeptCheckpoint | None"
    """The driver has the file, because the disk of a worker may be lost with it."""


class KeptCheckpoint(NamedTuple):
    """A checkpoint of the driver."""

    path: str
    every: int
    content: bytes
    """Empty if there is none yet."""


Round = tuple[int, int, Mapping[str, Mapping[str, float]], int]
"""The fields of a Progress."""


class Message(NamedTuple):
    """A small message of a worker to the driver."""

    session: str
    rank: int
    address: Address | None = None
    """At the start, of all workers: where the others find it."""
    round: Round | None = None
    """Of the first worker."""


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


class Broken(NamedTuple):
    """The result of a worker that has lost another one."""

    reason: str
    lost: int | None
    """The rank of the other, if this worker knows: who loses a worker leaves the group, and is lost to others, too."""


class Workplace(ABC):
    """What a launcher gives to the task of a worker."""

    name: str
    """What users call the worker: its address or host, as the cluster shows it."""
    host: str
    """The address of this machine by which the other workers reach it."""
    n_threads: int | None
    """The most threads that the worker may use; None for all cores."""
    folder: str | None = None
    """For temporary files; None for the usual one."""

    @abstractmethod
    def send(self, message: Message) -> None:
        """Send a small message to the driver. The order is kept."""

    @abstractmethod
    def cancelled(self) -> bool:
        """True if nobody waits for the task any more; asked twice a second."""


class Session(NamedTuple):
    """A task in this process, for the calls of the driver."""

    members: SimpleQueue[Sequence[Address] | None]
    """The addresses of all workers; None if the training is cancelled before."""
    answers: SimpleQueue[bool]
    """True to stop: the answers of the driver to each round, or at any time."""
    checkpoint: Path | None


_SESSIONS: dict[tuple[str, int], Session] = {}
"""By session and rank: workers may be threads of one process."""


def begin(session: str, rank: int, members: Sequence[Address]) -> None:
    """Let the group form; called by the driver on each worker."""
    if (session, rank) in _SESSIONS:
        _SESSIONS[session, rank].members.put(members)


def answer(session: str, stop: bool) -> None:
    """Tell the first worker to go on or to stop; called by the driver on that worker."""
    if (session, 0) in _SESSIONS:
        _SESSIONS[session, 0].answers.put(stop)


def last_checkpoint(session: str) -> bytes:
    """The content of the last checkpoint, empty if there is none yet; called by the driver on the first worker."""
    file = _SESSIONS[session, 0].checkpoint if (session, 0) in _SESSIONS else None
    return file.read_bytes() if file is not None and file.exists() else b""


def train_shard(job: Job, shard: Shard, workplace: Workplace) -> WorkerResult | Broken:
    """Train on a shard, together with all other workers."""
    with _session(job, shard.rank, workplace) as session, Listener(workplace.host, workplace.name) as listener:
        try:
            with _joined(job, shard, workplace, session, listener) as collective:
                return _trained(job, shard, workplace, session, collective)
        except _LostError as error:
            return error.broken


class _LostError(Exception):
    """The group is broken; `broken` says what this worker knows."""

    def __init__(self, broken: Broken) -> None:
        super().__init__(broken.reason)
        self.broken = broken


def _trained(
    job: Job, shard: Shard, workplace: Workplace, session: Session, collective: SocketCollective
) -> WorkerResult:
    ranker = copy(job.ranker)
    limits = [each for each in (workplace.n_threads, ranker.n_threads) if each is not None]
    ranker.n_threads = min(limits, default=None)
    own = _arguments_of_first(job, session, workplace) if shard.rank == 0 else {}
    with _checkpoint_of_driver(job, session):
        counts = fit_on_shard(ranker, collective, shard, **job.fit, **own)
    if shard.rank > 0:
        return WorkerResult(_digest(ranker), counts)
    return WorkerResult(_digest(ranker), counts, ranker.learned_, last_checkpoint(job.session))


@contextmanager
def _checkpoint_of_driver(job: Job, session: Session) -> Iterator[None]:
    """Errors about the checkpoint name the file of the driver, not its copy here."""
    try:
        yield
    except SwaprankError as error:
        if job.checkpoint is None or session.checkpoint is None or str(session.checkpoint) not in str(error):
            raise
        copied, given = str(session.checkpoint), job.checkpoint.path
        parts = (part.replace(copied, given) if isinstance(part, str) else part for part in error.args)
        raise type(error)(*parts) from None


def _arguments_of_first(job: Job, session: Session, workplace: Workplace) -> dict[str, Any]:
    """The arguments of `fit_shard` that only the first worker is given: it reports each round to the driver."""

    def report(progress: Any) -> bool:
        finished = (progress.round, progress.n_rounds, dict(progress.measured), progress.best_round)
        workplace.send(Message(job.session, 0, round=finished))
        return session.answers.get() if job.waits or not session.answers.empty() else False

    if job.checkpoint is None or session.checkpoint is None:
        return {"callbacks": [report]}
    if job.checkpoint.content:
        session.checkpoint.write_bytes(job.checkpoint.content)
    return {"callbacks": [report], "checkpoint": session.checkpoint, "checkpoint_every": job.checkpoint.every}


@contextmanager
def _session(job: Job, rank: int, workplace: Workplace) -> Iterator[Session]:
    """Hear the calls of the driver; with a place for the checkpoint on the first worker."""
    with TemporaryDirectory(prefix="swaprank-", dir=workplace.folder) as folder:
        file = None if job.checkpoint is None or rank > 0 else Path(folder) / Path(job.checkpoint.path).name
        session = _SESSIONS[job.session, rank] = Session(SimpleQueue(), SimpleQueue(), file)
        try:
            yield session
        finally:
            del _SESSIONS[job.session, rank]


@contextmanager
def _joined(
    job: Job, shard: Shard, workplace: Workplace, session: Session, listener: Listener
) -> Iterator[SocketCollective]:
    """The collective of all workers: left together at the end, or abandoned by one that fails."""
    ended, joined = Event(), list[SocketCollective]()

    def cancel() -> None:
        session.members.put(None)
        session.answers.put(True)
        for collective in joined:
            collective.abandon("the training was cancelled.")

    Thread(target=_watch, args=(workplace.cancelled, cancel, ended), daemon=True, name="swaprank-watch").start()
    try:
        workplace.send(Message(job.session, shard.rank, listener.address))
        members = session.members.get()
        if members is None:
            raise ClusterError("the training was cancelled.")
        collective = SocketCollective(listener, members, shard.rank, job.secret, job.silence)
        joined.append(collective)
        if ended.is_set():
            cancel()
        try:
            collective.join()
            yield collective
            collective.close()
        except ClusterError as error:
            if collective.lost is None:
                raise
            raise _LostError(Broken(str(error), collective.lost)) from error
        finally:
            # After an error, the others notice at once.
            collective.leave()
    finally:
        ended.set()


def _watch(cancelled: Callable[[], bool], cancel: Callable[[], None], ended: Event) -> None:
    """End the task if nobody waits for it any more: the driver has cancelled it, or is gone."""
    while not ended.wait(_CHECK_SECONDS):
        if cancelled():
            ended.set()
            cancel()


def _digest(ranker: Any) -> str:
    """A hash of what was learned."""
    values, arrays = ranker.model_.to_parts()
    digest = hashlib.sha256(json.dumps([values, ranker.history_], sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
