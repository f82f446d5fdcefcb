"""`fit` on a cluster, whatever engine started it: the parts stay where they are, each worker trains on its shard.

Sums over workers are exact, so the fitted ranker is the one that training on all parts in one process gives.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from secrets import token_bytes
from time import monotonic
from typing import Any, cast
from uuid import uuid4

from swaprank.cluster.event_handler import Callbacks, EventHandler
from swaprank.cluster.launcher import Gone, Launcher, Outcome, Placement
from swaprank.cluster.parts import Parts
from swaprank.cluster.worker_task import Broken, Job, KeptCheckpoint, WorkerResult
from swaprank.errors import ClusterError, Hint, Part, Wording
from swaprank.seeds import seed_of

_CHECK_SECONDS = 1.0
_EXPLANATION_SECONDS = 3.0
"""Seconds to wait for the reason of an error."""


def train_on_cluster(
    launcher: Launcher,
    ranker: Any,
    data: Parts,
    valid: Mapping[str, Parts],
    callbacks: Callbacks,
    checkpoint: tuple[str, int] | None,
    **fit: Any,
) -> WorkerResult:
    """Train a copy of the ranker on the workers of a cluster.

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
    kept = None if checkpoint is None else KeptCheckpoint(*checkpoint, _content(checkpoint[0]))
    placement = launcher.place(data, valid)
    sent = copy(ranker)
    if hasattr(ranker, "random_state"):
        # Drawn here: a generator of the user's goes on as it does on one machine.
        sent.random_state = seed_of(ranker.random_state)
    job = Job(uuid4().hex, token_bytes(32), launcher.silence, sent, fit, bool(callbacks.deciding), kept)
    with launcher.turn():
        return _trained(launcher, placement, job, callbacks)


def _content(file: str) -> bytes:
    return Path(file).read_bytes() if Path(file).exists() else b""


def _trained(launcher: Launcher, placement: Placement, job: Job, callbacks: Callbacks) -> WorkerResult:
    """Start the tasks, and wait until they end, one way or the other."""
    team = launcher.start(job, placement)
    events = EventHandler(team, len(placement.workers), job, callbacks)
    try:
        while not _ended(team.outcomes()):
            try:
                for message in team.wait(_CHECK_SECONDS):
                    events.handle(message)
            except KeyboardInterrupt:
                events.interrupt()
        trained = _result(placement, events)
        events.save_checkpoint(trained.checkpoint)
        return trained._replace(learned=replace(trained.learned, interrupted=events.interrupted))
    except ClusterError as error:
        raise ClusterError(error, " ", *_advice(events.n_rounds, job)) from error
    finally:
        # Workers whose task is cancelled end by themselves.
        team.stop()


def _ended(outcomes: Sequence[Outcome | None]) -> bool:
    """True if all have finished or one has failed."""
    return all(isinstance(each, WorkerResult) for each in outcomes) or any(
        isinstance(each, Broken | Gone | BaseException) for each in outcomes
    )


def _result(placement: Placement, events: EventHandler) -> WorkerResult:
    """The result of the first worker; raises the error that explains why there is none."""
    end = monotonic() + _EXPLANATION_SECONDS
    while True:
        outcomes = events.team.outcomes()
        if all(isinstance(each, WorkerResult) for each in outcomes):
            return _same(cast(list[WorkerResult], outcomes))
        errors = [each for each in outcomes if isinstance(each, BaseException)]
        cause = next((error for error in errors if not isinstance(error, ClusterError)), None)
        if cause is not None:
            raise cause
        # The others have lost a worker: which one is known a moment later, from its own error or from the cluster.
        if None not in outcomes or monotonic() > end:
            if errors:
                raise errors[0]
            raise ClusterError(_loss(placement, outcomes))
        events.team.wait(_EXPLANATION_SECONDS / 30)


def _same(trained: list[WorkerResult]) -> WorkerResult:
    if len({each.digest for each in trained}) > 1:
        raise ClusterError("the workers have different models: they must have the same versions of swaprank and NumPy.")
    return trained[0]


def _loss(placement: Placement, outcomes: Sequence[Outcome | None]) -> str:
    """What became of the workers that were lost, by those that are left."""
    gone = {rank: each.why for rank, each in enumerate(outcomes) if isinstance(each, Gone)}
    if gone:
        rank, why = next(iter(gone.items()))
        more = f" (and {len(gone) - 1} more)" if len(gone) > 1 else ""
        return f"worker {rank} of {len(outcomes)} ({placement.workers[rank]}){more} {why}."
    broken = [each for each in outcomes if isinstance(each, Broken)]
    # Who has lost another has left the group, too: what counts is who says nothing.
    silent = [each for each in broken if each.lost is not None and outcomes[each.lost] is None]
    return (silent or broken)[0].reason


def _advice(n_rounds: int, job: Job) -> tuple[Part, ...]:
    """The number of finished rounds, and a way to go on."""
    unit = job.ranker.can.round_name
    finished = f"1 {unit} was finished" if n_rounds == 1 else f"{n_rounds:,} {unit}s were finished"
    if job.checkpoint is None:
        kept = Hint("checkpoint", "model.checkpoint", call="fit")
        again = Wording("the next fit", "the same command")
        return f"{finished}, but not kept: with ", kept, ", ", again, " goes on from there."
    again = Wording("call fit again", "run the same command")
    checkpoint = Hint("checkpoint", str(job.checkpoint.path))
    return f"{finished}: ", again, " with ", checkpoint, " to go on from the last checkpoint."
