"""`fit` on a Dask cluster: the parts stay where they are, and each worker runs one long task on its share.

What the workers add up is exact, so the fitted ranker is the one that training on all parts in one process gives.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

from swaprank.cluster.conversation import Conversation, Listening, conversation_on
from swaprank.cluster.parts import Parts
from swaprank.cluster.placement import Placed, place
from swaprank.cluster.shares import Share
from swaprank.cluster.supervision import CHECK_SECONDS, Supervisor
from swaprank.cluster.worker_task import Job, KeptCheckpoint, Trained, train_share
from swaprank.cluster.xgboost_collective import check_collective
from swaprank.errors import ClusterError, MissingExtraError
from swaprank.seeds import seed_of

_EXPLANATION_SECONDS = 3.0
"""How long to wait for the reason of an error."""


def fit_on_dask(
    ranker: Any,
    data: Parts,
    valid: Mapping[str, Parts],
    listening: Listening,
    checkpoint: tuple[str, int] | None,
    **fit: Any,
) -> Any:
    """A fitted copy of the ranker, trained on the workers of the current Dask client.

    Args:
        ranker: Not fitted.
        data: The training data.
        valid: The validation sets by name.
        listening: Who is told of the rounds.
        checkpoint: The file of the client in which training is kept, and after how many rounds.
        fit: Other arguments of the ranker's `fit_share`.

    Ctrl-C ends training after the round that is under way; the ranker is then `interrupted_`.
    """
    check_collective()
    client = current_client()
    kept = None if checkpoint is None else KeptCheckpoint(*checkpoint, _content(checkpoint[0]))
    placed = place(client, data, valid)
    sent = copy(ranker)
    if hasattr(ranker, "random_state"):
        # Drawn here: a generator of the user's goes on as it does on one machine.
        sent.random_state = seed_of(ranker.random_state)
    job = Job(
        session=uuid4().hex,
        topic=f"swaprank-{client.id}",
        ranker=sent,
        fit=fit,
        host=_host(placed.workers[0]),
        waits=bool(listening.asked),
        checkpoint=kept,
    )
    with _alone_on(client):
        return _trained(client, placed, job, listening)


def _content(file: str) -> bytes:
    return Path(file).read_bytes() if Path(file).exists() else b""


def current_client() -> Any:
    """The Dask client of this process."""
    try:
        from distributed import default_client
    except ImportError:
        raise MissingExtraError("data on a cluster needs Dask: pip install 'swaprank[dask]'") from None
    try:
        return default_client()
    except ValueError:
        raise ClusterError(
            "there is no Dask client: connect to a cluster first, client = distributed.Client('scheduler:8786'), or "
            "start one on this machine, client = distributed.Client()."
        ) from None


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """A client of the scheduler at an address such as "scheduler:8786"."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("--dask needs Dask: pip install 'swaprank[dask]'") from None
    try:
        client = Client(scheduler)
    except (OSError, ValueError) as error:
        raise ClusterError(f"there is no Dask scheduler at {scheduler}: {error}") from None
    with client:
        yield client


@contextmanager
def _alone_on(client: Any) -> Iterator[None]:
    """Trainings run one after the other: two could wait for ever, each for a thread that the other has.

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


def _trained(client: Any, placed: Placed, job: Job, listening: Listening) -> Any:
    """Start the tasks, and wait until they end, one way or the other."""
    supervisor, futures = Supervisor(client, placed.workers), list[Any]()
    with conversation_on(client, placed.workers[0], job, listening, supervisor) as conversation:

        def submit(share: Share, tracker: Mapping[str, Any] | None) -> None:
            # The session is in the key: a task must never be taken for that of another training.
            futures.append(
                client.submit(
                    train_share,
                    job,
                    share,
                    tracker,
                    key=f"swaprank-{job.session}-{share.rank}",
                    workers=[placed.workers[share.rank]],
                    allow_other_workers=False,
                    retries=0,
                )
            )
            futures[-1].add_done_callback(conversation.wake)

        try:
            submit(placed.shares[0], None)
            _wait(futures[:1], conversation, supervisor, lambda: conversation.tracker is not None)
            for share in placed.shares[1:]:
                submit(share, conversation.tracker)
            _wait(futures, conversation, supervisor)
            trained = _result(futures, supervisor)
            conversation.keep(trained.checkpoint)
            trained.ranker.interrupted_ = conversation.interrupted
            return trained.ranker
        except ClusterError as error:
            raise ClusterError(f"{error} {_advice(conversation.finished, job)}") from error
        finally:
            # Workers whose task is cancelled end by themselves.
            with suppress(Exception):
                client.cancel(futures, force=True)


def _wait(
    futures: Sequence[Any],
    conversation: Conversation,
    supervisor: Supervisor,
    enough: Callable[[], bool] = lambda: False,
) -> None:
    """Until all tasks are finished, one has failed, or it is enough."""
    while True:
        states = [future.status for future in futures]
        try:
            conversation.hear_all()
            if enough() or _failed(futures) or all(state == "finished" for state in states):
                return
            conversation.wait(CHECK_SECONDS)
            supervisor.check()
        except KeyboardInterrupt:
            conversation.interrupt()


def _result(futures: Sequence[Any], supervisor: Supervisor) -> Trained:
    """What the first worker gives back, or the error that explains why there is none."""
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
    trained: list[Trained] = [future.result() for future in futures]
    if len({each.digest for each in trained}) > 1:
        raise ClusterError("the workers have different models: they must have the same versions of swaprank and NumPy.")
    return trained[0]


def _failed(futures: Sequence[Any]) -> bool:
    return any(future.status in ("error", "cancelled") for future in futures)


def _advice(finished: int, job: Job) -> str:
    """How far training came, and how to go on."""
    unit = job.ranker.round_name
    how = f"1 {unit} was finished" if finished == 1 else f"{finished:,} {unit}s were finished"
    if job.checkpoint is None:
        return f"{how}, but not kept: with fit(…, checkpoint='model.checkpoint'), the next fit goes on from there."
    return f"{how}: call fit again with checkpoint='{job.checkpoint.path}' to go on from the last checkpoint."


def _host(address: str) -> str:
    """The host of a worker's address, tcp://10.0.0.7:41235."""
    from distributed.comm.addressing import get_address_host

    return str(get_address_host(address))
