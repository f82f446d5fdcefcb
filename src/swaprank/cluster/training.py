"""`fit` on a cluster, whatever engine started it: the parts stay where they are, each worker trains on its shard.

Sums over workers are exact, so the fitted ranker is the one that training on all parts in one process gives.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from secrets import token_bytes
from time import monotonic
from typing import Any, cast
from uuid import uuid4

from swaprank.cluster.event_handler import Callbacks, EventHandler
from swaprank.cluster.launcher import Gone, Launcher, LostWorkersError, Outcome, Placement, Team
from swaprank.cluster.parts import Parts
from swaprank.cluster.worker_task import Broken, Job, KeptCheckpoint, WorkerResult, give_up
from swaprank.errors import ClusterError, Hint, Part, Wording
from swaprank.seeds import seed_of

CHECK_SECONDS = 1.0
_EVERY = 10
"""After so many rounds the driver asks for a checkpoint, in case that all workers are lost at once."""


def train_on_cluster(
    launcher: Launcher,
    ranker: Any,
    data: Parts,
    valid: Mapping[str, Parts],
    callbacks: Callbacks,
    checkpoint: tuple[str, int] | None,
    **fit: Any,
) -> WorkerResult:
    """Train a copy of the ranker on the workers of a cluster; without those that are lost, from the last round on.

    Args:
        launcher: It starts the workers.
        ranker: Not fitted.
        data: The training data.
        valid: The validation sets by name.
        callbacks: Called here, on the driver, after each round.
        checkpoint: The checkpoint file of the driver, and the number of rounds after which it is written.
        fit: Other arguments of the ranker's `fit_shard`.

    Ctrl-C ends training after the round that is under way; what was learned is then marked as interrupted.
    """
    sent = copy(ranker)
    # What it learned before is no part of this training.
    vars(sent).pop("_learned", None)
    if hasattr(ranker, "random_state"):
        # Drawn here: a generator of the user's goes on as it does on one machine.
        sent.random_state = seed_of(ranker.random_state)
    file, every = checkpoint or (None, _EVERY)
    kept = KeptCheckpoint(file, every, b"" if file is None or not Path(file).exists() else Path(file).read_bytes())
    job = Job("", token_bytes(32), launcher.silence, sent, fit, bool(callbacks.deciding), kept)
    events, lost = EventHandler(job, callbacks), set[str]()
    with launcher.turn():
        try:
            for n_restarts in range(launcher.max_restarts + 1):
                try:
                    return _attempt(launcher, launcher.place(data, valid, lost), job, events)
                except LostWorkersError as error:
                    if n_restarts == launcher.max_restarts:
                        raise
                    lost.update(error.workers)
                    events.notice(f"{error} Training goes on from {events.n_rounds:,} finished rounds.")
        except ClusterError as error:
            if not events.n_rounds:
                raise
            raise ClusterError(error, " ", *_advice(events.n_rounds, job)) from error
    raise AssertionError


def _attempt(launcher: Launcher, placement: Placement, job: Job, events: EventHandler) -> WorkerResult:
    """Start the tasks, and wait until they end; LostWorkersError if it is worth trying again without somebody."""
    job = job._replace(session=uuid4().hex, checkpoint=job.checkpoint._replace(content=events.checkpoint))
    team = launcher.start(job, placement)
    events.listen(team, job, len(placement.workers))
    try:
        while not _ended(team.outcomes()):
            _listen(team, events, CHECK_SECONDS)
        # Messages that were on their way while the last ones were handled.
        _listen(team, events, 0.0)
        trained = _result(placement, team, job, events)
        events.keep(trained.checkpoint)
        return trained._replace(learned=replace(trained.learned, interrupted=events.interrupted))
    except _BrokenGroupError as broken:
        events.keep(max(broken.checkpoints, key=len))
        raise LostWorkersError(broken.workers, *broken.args) from None
    finally:
        # Workers whose task is cancelled end by themselves.
        team.stop()


def _listen(team: Team, events: EventHandler, seconds: float) -> bool:
    """Handle the messages that arrive, and Ctrl-C; False if nothing arrives within so many seconds."""
    try:
        messages = team.wait(seconds)
        for message in messages:
            events.handle(message)
    except KeyboardInterrupt:
        events.interrupt()
        return True
    return len(messages) > 0


def _ended(outcomes: Sequence[Outcome | None]) -> bool:
    """True if all have finished or one has failed."""
    return all(isinstance(each, WorkerResult) for each in outcomes) or any(
        isinstance(each, Broken | Gone | BaseException) for each in outcomes
    )


class _BrokenGroupError(LostWorkersError):
    """Workers were lost while they trained."""

    def __init__(self, workers: Sequence[str], reason: str, checkpoints: Sequence[bytes]) -> None:
        super().__init__(workers, reason)
        self.checkpoints = checkpoints


def _result(placement: Placement, team: Team, job: Job, events: EventHandler) -> WorkerResult:
    """The result of the first worker; raises the error that explains why there is none."""
    end, told = monotonic() + job.silence, set[int]()
    while True:
        outcomes = team.outcomes()
        errors = [each for each in outcomes if isinstance(each, BaseException)]
        if all(isinstance(each, WorkerResult) for each in outcomes):
            return _same(cast(list[WorkerResult], outcomes))
        if (cause := next((error for error in errors if not isinstance(error, ClusterError)), None)) is not None:
            raise cause
        lost = _lost(outcomes)
        # Whoever has not even started has nothing to tell.
        waited = {rank for rank in events.heard if outcomes[rank] is None} - lost.keys()
        if not waited or monotonic() > end:
            break
        for rank in waited - told:
            # It may wait for the group to form, or compute for long and not know.
            team.tell(rank, give_up, job.session, rank, "another worker was lost.")
            told.add(rank)
        if _listen(team, events, CHECK_SECONDS):
            # Callbacks may take long, and meanwhile nobody has listened.
            end = monotonic() + job.silence
    if errors:
        raise errors[0]
    lost = lost or _blamed(outcomes) | dict.fromkeys(waited, "does not answer")
    kept = [b"", *(each.checkpoint for each in outcomes if isinstance(each, Broken))]
    if not lost:
        raise _BrokenGroupError([], next(each.reason for each in outcomes if isinstance(each, Broken)), kept)
    first = min(lost)
    more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
    name = f"worker {first} of {len(outcomes)} ({placement.workers[first]}){more}"
    raise _BrokenGroupError([placement.workers[rank] for rank in lost], f"{name} {lost[first]}.", kept)


def _same(trained: list[WorkerResult]) -> WorkerResult:
    if len({each.digest for each in trained}) > 1:
        raise ClusterError("the workers have different models: they must have the same versions of swaprank and NumPy.")
    return trained[0]


def _lost(outcomes: Sequence[Outcome | None]) -> dict[int, str]:
    """The workers that are gone, and those that say nothing to others nor to us, with what is known of each."""
    gone = {rank: each.why for rank, each in enumerate(outcomes) if isinstance(each, Gone)}
    silent = {
        each.lost: "is silent: it is stopped, or its machine or network is gone"
        for each in outcomes
        if isinstance(each, Broken) and each.silent and each.lost is not None and outcomes[each.lost] is None
    }
    return {**silent, **gone}


def _blamed(outcomes: Sequence[Outcome | None]) -> dict[int, str]:
    """All live, but some have no connection: who is lost to the most others is left out."""
    counts = Counter(each.lost for each in outcomes if isinstance(each, Broken) and each.lost is not None)
    most = max(counts.items(), key=lambda item: (item[1], item[0]), default=None)
    return {} if most is None else {most[0]: "cannot be reached by another worker"}


def _advice(n_rounds: int, job: Job) -> tuple[Part, ...]:
    """The number of finished rounds, and a way to go on."""
    unit = job.ranker.can.round_name
    finished = f"1 {unit} was finished" if n_rounds == 1 else f"{n_rounds:,} {unit}s were finished"
    if job.checkpoint.path is None:
        kept = Hint("checkpoint", "model.checkpoint", call="fit")
        again = Wording("the next fit", "the same command")
        return f"{finished}, but not kept: with ", kept, ", ", again, " goes on from there."
    again = Wording("call fit again", "run the same command")
    checkpoint = Hint("checkpoint", job.checkpoint.path)
    return f"{finished}: ", again, " with ", checkpoint, " to go on from the last checkpoint."
