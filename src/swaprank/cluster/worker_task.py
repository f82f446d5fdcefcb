"""What each worker of a training on Dask does: one long task.

client                              first worker                          other workers
  submit train_share      ─►          starts the tracker
  its address             ◄─
  submit train_share      ─────────────────────────────────────►            train_share
  …                       ◄─          progress of each round
  say                     ─►          its answer, told to all   ─►          stop after the same round
  the fitted ranker       ◄─          the model                             a digest of the same model
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, Literal, NamedTuple

import numpy as np

from swaprank.cluster.agreement import NamedPart
from swaprank.cluster.joining import share_of
from swaprank.cluster.parts import FilePart
from swaprank.cluster.xgboost_collective import Tracker, XGBoostCollective
from swaprank.collective import Collective, total
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, Interrupted

Answer = Literal["go on", "stop", "interrupt"]
_CODES: Mapping[Answer, int] = {"go on": 0, "stop": 1, "interrupt": 2}
_CHECK_SECONDS = 0.5


class Given(NamedTuple):
    """A part for one worker: a file, or a data set that Dask has brought there."""

    name: str
    part: FilePart | Dataset | None
    turn: int = 0
    turns: int = 1
    """Every `turns`-th query of the part, from the query `turn`."""


class Job(NamedTuple):
    """What all workers of a training are given."""

    session: str
    ranker: Any
    """Not fitted, with a seed."""
    fit: Mapping[str, Any]
    """Other arguments of `fit_share`."""
    host: str
    """Of the first worker."""
    waits: bool
    """Whether the first worker waits for the answer of the client after each round."""

    @property
    def topic(self) -> str:
        """Where the first worker reports."""
        return f"swaprank-{self.session}"


Round = tuple[int, int, Mapping[str, Mapping[str, float]], int]
"""The fields of a Progress."""


class Message(NamedTuple):
    """What the first worker tells the client."""

    tracker: Mapping[str, Any] | None = None
    """At the start: what the other workers need to find each other."""
    round: Round | None = None


class Share(NamedTuple):
    """What one worker is given."""

    rank: int
    size: int
    train: Sequence[Given]
    valid: Mapping[str, Sequence[Given]]


class Trained(NamedTuple):
    """What a worker gives back."""

    ranker: Any
    """The fitted ranker of the first worker; None of the others."""
    digest: str
    """The same on all workers, or something is wrong."""


_ANSWERS: dict[str, SimpleQueue[Answer]] = {}
"""Of the trainings whose first worker is in this process."""


def say(session: str, answer: Answer) -> None:
    """Called on the first worker: what the client says to a round, or at any time."""
    if session in _ANSWERS:
        _ANSWERS[session].put(answer)


def train_share(job: Job, share: Share, tracker: Mapping[str, Any] | None) -> Trained:
    """The long task. The first worker is given no tracker: it starts one, and tells the client."""
    from distributed import get_worker

    worker = get_worker()
    with _present(job, share, tracker, worker) as collective:
        ranker = copy(job.ranker)
        n_threads = int(worker.state.nthreads)
        ranker.n_threads = n_threads if ranker.n_threads is None else min(n_threads, ranker.n_threads)
        data = share_of(collective, _named_parts(share.train), "the training data")
        valid = {
            name: share_of(collective, _named_parts(parts), f"the set '{name}'") for name, parts in share.valid.items()
        }

        def report(finished: Round) -> None:
            worker.log_event(job.topic, Message(round=finished))

        asking = _asking_client(job, collective, report)
        try:
            ranker.fit_share(data, valid, collective=collective, callbacks=[asking], **job.fit)
        except Interrupted as stopped:
            ranker = stopped.result
    return Trained(ranker if share.rank == 0 else None, _digest(ranker))


@contextmanager
def _present(job: Job, share: Share, tracker: Mapping[str, Any] | None, worker: Any) -> Iterator[XGBoostCollective]:
    """The collective of all workers: left together at the end, or abandoned by one that fails."""
    own_tracker, ended = None, Event()
    if tracker is None:
        own_tracker = Tracker(share.size, job.host)
        tracker = own_tracker.arguments
        _ANSWERS[job.session] = SimpleQueue()
        worker.log_event(job.topic, Message(tracker=tracker))
    collective = XGBoostCollective(tracker, share.rank, share.size)
    try:
        key = worker.get_current_task()
        Thread(target=_watch, args=(worker, key, job.session, collective, ended), daemon=True).start()
        collective.join()
        yield collective
        collective.close()
    except BaseException as error:
        # The others learn of it at once.
        collective.abandon(f"worker {share.rank} has failed: {error}")
        raise
    finally:
        ended.set()
        if own_tracker is not None:
            _ANSWERS.pop(job.session, None)
            # It may wait for workers that are gone.
            Thread(target=own_tracker.stop, daemon=True).start()


def _named_parts(given: Sequence[Given]) -> list[NamedPart]:
    """The parts that have queries for this worker."""
    parts = []
    for name, part, turn, turns in given:
        data = part.read() if isinstance(part, FilePart) else part
        if not isinstance(data, Dataset | None):
            raise DataError(f"{name} is of type {type(data).__name__}, not a Dataset.")
        if data is not None and turn < data.n_queries:
            parts.append(NamedPart(name, data if turns == 1 else data.subset(slice(turn, None, turns))))
    return parts


def _asking_client(job: Job, collective: Collective, report: Callable[[Round], None]) -> Callable[[Any], bool]:
    """A callback that tells the client of each round, and gives all workers the same answer."""

    def answer_of_client() -> Answer:
        answers = _ANSWERS[job.session]
        return answers.get() if job.waits or not answers.empty() else "go on"

    def told(progress: Any) -> bool:
        answer: Answer = "go on"
        if collective.rank == 0:
            report((progress.round, progress.n_rounds, dict(progress.measured), progress.best_round))
            answer = answer_of_client()
        code = total(collective, _CODES[answer])
        if code == _CODES["interrupt"]:
            raise KeyboardInterrupt
        return code == _CODES["stop"]

    return told


def _watch(worker: Any, key: str, session: str, collective: XGBoostCollective, ended: Event) -> None:
    """End the task if nobody waits for it any more: the client has cancelled it, or is gone."""
    while not ended.wait(_CHECK_SECONDS):
        task = worker.state.tasks.get(key)
        if task is None or task.state not in ("executing", "long-running"):
            collective.abandon("the training was cancelled.")
            say(session, "stop")
            return


def _digest(ranker: Any) -> str:
    """A hash of what was learned."""
    values, arrays = ranker.model_.to_parts()
    digest = hashlib.sha256(json.dumps([values, ranker.history_], sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
