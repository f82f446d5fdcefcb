"""`fit` on a Dask cluster: the parts stay where they are, and each worker runs one long task on its shard.

Sums over workers are exact, so the fitted ranker is the one that training on all parts in one process gives.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

from swaprank.cluster.event_handler import Callbacks, EventHandler
from swaprank.cluster.parts import Parts
from swaprank.cluster.placement import Placement, place
from swaprank.cluster.shard import Shard
from swaprank.cluster.supervisor import CHECK_SECONDS, Supervisor
from swaprank.cluster.worker_task import Job, KeptCheckpoint, WorkerResult, train_shard
from swaprank.cluster.xgboost_collective import imported_collective
from swaprank.errors import ClusterError, Hint, Part, Wording, import_extra
from swaprank.seeds import seed_of

_EXPLANATION_SECONDS = 3.0
"""Seconds to wait for the reason of an error."""


def fit_on_dask(
    ranker: Any,
    data: Parts,
    valid: Mapping[str, Parts],
    callbacks: Callbacks,
    checkpoint: tuple[str, int] | None,
    **fit: Any,
) -> WorkerResult:
    """Train a copy of the ranker on the workers of the current Dask client.

    Args:
        ranker: Not fitted.
        data: The training data.
        valid: The validation sets by name.
        callbacks: Called on the client after each round.
        checkpoint: The checkpoint file of the client, and the number of rounds after which it is written.
        fit: Other arguments of the ranker's `fit_shard`.

    Ctrl-C ends training after the round that is under way; what was learned is then marked as interrupted.
    """
    imported_collective()
    client = current_client()
    kept = None if checkpoint is None else KeptCheckpoint(*checkpoint, _content(checkpoint[0]))
    placement = place(client, data, valid)
    sent = copy(ranker)
    if hasattr(ranker, "random_state"):
        # Drawn here: a generator of the user's goes on as it does on one machine.
        sent.random_state = seed_of(ranker.random_state)
    job = Job(
        session=uuid4().hex,
        topic=f"swaprank-{client.id}",
        ranker=sent,
        fit=fit,
        host=_host(placement.workers[0]),
        waits=bool(callbacks.deciding),
        checkpoint=kept,
    )
    with _exclusive(client):
        return _trained(client, placement, job, callbacks)


def _content(file: str) -> bytes:
    return Path(file).read_bytes() if Path(file).exists() else b""


def current_client() -> Any:
    """The Dask client of this process."""
    try:
        return _distributed().default_client()
    except ValueError:
        raise ClusterError(
            "there is no Dask client: connect to a cluster first, client = distributed.Client('scheduler:8786'), or "
            "start one on this machine, client = distributed.Client()."
        ) from None


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """A client of the scheduler at an address such as "scheduler:8786"."""
    try:
        client = _distributed().Client(scheduler)
    except (OSError, ValueError) as error:
        raise ClusterError(f"there is no Dask scheduler at {scheduler}: {error}") from None
    with client:
        yield client


def _distributed() -> Any:
    return import_extra("distributed", "training on a Dask cluster needs Dask: pip install 'swaprank[dask]'")


@contextmanager
def _exclusive(client: Any) -> Iterator[None]:
    """Run one training at a time on a cluster: two could wait for ever, each for a thread that the other has.

    A semaphore, and not a lock: the scheduler takes it back from a client that is gone.
    """
    from distributed import Semaphore

    semaphore = Semaphore(name="swaprank-training", scheduler_rpc=client.scheduler, loop=client.loop)
    while not semaphore.acquire(timeout=CHECK_SECONDS):
        pass
    try:
        yield
    finally:
        with suppress(Exception):  # The scheduler may be gone.
            semaphore.release()


def _trained(client: Any, placement: Placement, job: Job, callbacks: Callbacks) -> WorkerResult:
    """Start the tasks, and wait until they end, one way or the other."""
    workers, shards = placement
    supervisor, futures = Supervisor(client, workers), list[Any]()
    with EventHandler(client, workers[0], job, callbacks, supervisor) as events:

        def submit(shard: Shard, tracker: Mapping[str, Any] | None) -> None:
            # The session is in the key: a task must never be taken for that of another training.
            futures.append(
                client.submit(
                    train_shard,
                    job,
                    shard,
                    tracker,
                    key=f"swaprank-{job.session}-{shard.rank}",
                    workers=[workers[shard.rank]],
                    allow_other_workers=False,
                    retries=0,
                )
            )
            futures[-1].add_done_callback(events.wake)

        try:
            submit(shards[0], None)
            _wait(futures[:1], events, supervisor, lambda: events.tracker is not None)
            for shard in shards[1:]:
                submit(shard, events.tracker)
            _wait(futures, events, supervisor)
            trained = _result(futures, supervisor)
            events.save_checkpoint(trained.checkpoint)
            return trained._replace(learned=replace(trained.learned, interrupted=events.interrupted))
        except ClusterError as error:
            raise ClusterError(error, " ", *_advice(events.n_rounds, job)) from error
        finally:
            # Workers whose task is cancelled end by themselves.
            with suppress(Exception):
                client.cancel(futures, force=True)


def _wait(
    futures: Sequence[Any],
    events: EventHandler,
    supervisor: Supervisor,
    enough: Callable[[], bool] = lambda: False,
) -> None:
    """Wait until all tasks are finished, one has failed, or it is enough."""
    while True:
        states = [future.status for future in futures]
        try:
            events.handle_all()
            if enough() or _failed(futures) or all(state == "finished" for state in states):
                return
            events.wait(CHECK_SECONDS)
            supervisor.check()
        except KeyboardInterrupt:
            events.interrupt()


def _result(futures: Sequence[Any], supervisor: Supervisor) -> WorkerResult:
    """The result of the first worker; raises the error that explains why there is none."""
    end = monotonic() + _EXPLANATION_SECONDS
    while _failed(futures):
        errors = [future.exception() for future in futures if future.status == "error"]
        cause = next((error for error in errors if not isinstance(error, ClusterError)), None)
        if cause is not None:
            raise cause
        # The others have lost a worker: which one is known a moment later, from its own error or from the scheduler.
        supervisor.check(now=True)
        if monotonic() > end:
            raise errors[0] if errors else ClusterError("Dask has cancelled a task: it lost data that the task needs.")
        sleep(_EXPLANATION_SECONDS / 30)
    trained: list[WorkerResult] = [future.result() for future in futures]
    if len({each.digest for each in trained}) > 1:
        raise ClusterError("the workers have different models: they must have the same versions of swaprank and NumPy.")
    return trained[0]


def _failed(futures: Sequence[Any]) -> bool:
    return any(future.status in ("error", "cancelled") for future in futures)


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


def _host(address: str) -> str:
    """The host of a worker's address, tcp://10.0.0.7:41235."""
    from distributed.comm.addressing import get_address_host

    return str(get_address_host(address))
