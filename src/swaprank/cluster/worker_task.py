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
from swaprank.errors import ClusterError, DataError, ModelFileError

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
    checkpoint: "KeptCheckpoint"
    """The driver has it, because the disk of a worker may be lost with it."""


class KeptCheckpoint(NamedTuple):
    """A checkpoint of the driver."""

    path: str | None
    """The file of the user, or None: then it is only for going on without a worker that was lost."""
    every: int
    """After so many rounds the driver asks for it."""
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
    """The result of a worker whose group is broken."""

    reason: str
    lost: int | None
    """The rank of the worker that this one has lost. That one may be alive: it leaves when it has lost another."""
    silent: bool
    """True if the lost worker said nothing; False if it has ended."""
    checkpoint: bytes
    """The rounds that were finished; empty if there are none."""


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
    """The addresses of all workers; None if the training ends before."""
    answers: SimpleQueue[bool]
    """True to stop: the answers of the driver to each round, or at any time."""
    checkpoint: Path
    ends: list[str]
    """The reason why the driver has ended this attempt; or empty."""
    collectives: list[SocketCollective]
    """That of this worker, as soon as it is known."""

    def end(self, reason: str) -> None:
        """Let the task end, whatever it waits for."""
        self.ends.append(reason)
        self.members.put(None)
        self.answers.put(True)
        for collective in self.collectives:
            collective.abandon(reason)


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
    return _content(_SESSIONS[session, 0].checkpoint) if (session, 0) in _SESSIONS else b""


def give_up(session: str, rank: int, reason: str) -> None:
    """End the attempt: another worker is lost; called by the driver on those that are left."""
    if (session, rank) in _SESSIONS:
        _SESSIONS[session, rank].end(reason)


def _content(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""


def train_shard(job: Job, shard: Shard, workplace: Workplace) -> WorkerResult | Broken:
    """Train on a shard, together with all other workers."""
    with _session(job, shard.rank, workplace) as session, Listener(workplace.host, workplace.name) as listener:
        try:
            with _joined(job, shard, workplace, session, listener) as collective:
                return _trained(job, shard, workplace, session, collective)
        except ClusterError as error:
            collectives = session.collectives
            lost = collectives[0].lost if collectives else None
            if lost is None and not session.ends:
                raise
            silent = lost is not None and collectives[0].is_silent
            return Broken(str(error), lost, silent, _content(session.checkpoint))
        except (DataError, ModelFileError) as error:
            # The user knows the file of the driver, and not its copy here.
            copy_of, file = str(session.checkpoint), str(job.checkpoint.path)
            named = [part.replace(copy_of, file) if isinstance(part, str) else part for part in error.args]
            raise type(error)(*named) from None


def _trained(
    job: Job, shard: Shard, workplace: Workplace, session: Session, collective: SocketCollective
) -> WorkerResult:
    ranker = copy(job.ranker)
    limits = [each for each in (workplace.n_threads, ranker.n_threads) if each is not None]
    ranker.n_threads = min(limits, default=None)
    if shard.rank == 0 and job.checkpoint.content:
        session.checkpoint.write_bytes(job.checkpoint.content)
    counts = fit_on_shard(
        ranker,
        collective,
        shard,
        **job.fit,
        callbacks=[_report(job, session, workplace)] if shard.rank == 0 else [],
        checkpoint=session.checkpoint,
        checkpoint_every=job.checkpoint.every,
    )
    if shard.rank > 0:
        return WorkerResult(_digest(ranker), counts)
    return WorkerResult(_digest(ranker), counts, ranker.learned_, last_checkpoint(job.session))


def _report(job: Job, session: Session, workplace: Workplace) -> Callable[[Any], bool]:
    """The callback of the first worker, by which the driver learns of each round."""

    def report(progress: Any) -> bool:
        finished = (progress.round, progress.n_rounds, dict(progress.measured), progress.best_round)
        workplace.send(Message(job.session, 0, round=finished))
        return session.answers.get() if job.waits or not session.answers.empty() else False

    return report


@contextmanager
def _session(job: Job, rank: int, workplace: Workplace) -> Iterator[Session]:
    """Hear the calls of the driver, with a place for the checkpoint."""
    with TemporaryDirectory(prefix="swaprank-", dir=workplace.folder) as folder:
        session = Session(SimpleQueue(), SimpleQueue(), Path(folder) / "checkpoint", [], [])
        _SESSIONS[job.session, rank] = session
        try:
            yield session
        finally:
            del _SESSIONS[job.session, rank]


@contextmanager
def _joined(
    job: Job, shard: Shard, workplace: Workplace, session: Session, listener: Listener
) -> Iterator[SocketCollective]:
    """The collective of all workers: left together at the end, or abandoned by one that fails."""
    ended = Event()
    Thread(target=_watch, args=(workplace.cancelled, session, ended), daemon=True, name="swaprank-watch").start()
    try:
        workplace.send(Message(job.session, shard.rank, listener.address))
        members = session.members.get()
        if members is None:
            raise ClusterError(session.ends[0])
        collective = SocketCollective(listener, members, shard.rank, job.secret, job.silence)
        session.collectives.append(collective)
        if session.ends:
            collective.abandon(session.ends[0])
        try:
            collective.join()
            yield collective
            collective.close()
        finally:
            # After an error, the others notice at once.
            collective.leave()
    finally:
        ended.set()


def _watch(cancelled: Callable[[], bool], session: Session, ended: Event) -> None:
    """End the task if nobody waits for it any more: the driver has cancelled it, or is gone."""
    while not ended.wait(_CHECK_SECONDS):
        if cancelled():
            session.end("the training was cancelled.")
            return


def _digest(ranker: Any) -> str:
    """A hash of what was learned."""
    values, arrays = ranker.model_.to_parts()
    digest = hashlib.sha256(json.dumps([values, ranker.history_], sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
