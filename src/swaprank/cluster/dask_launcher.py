"""Training on a Dask cluster: each worker runs one long task on the parts that it has.

Workers send by Dask's events, through the scheduler, and the driver calls by `Client.run`: both work for a client that
no worker can reach.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, final

from swaprank.cluster.dask_placement import place
from swaprank.cluster.dask_supervisor import CHECK_SECONDS, Supervisor
from swaprank.cluster.formation import Address
from swaprank.cluster.launcher import Gone, Launcher, Outcome, Placement, Team
from swaprank.cluster.parts import Parts
from swaprank.cluster.shard import Shard
from swaprank.cluster.socket_collective import SILENCE_SECONDS
from swaprank.cluster.worker_task import Broken, Job, Message, WorkerResult, Workplace, train_shard
from swaprank.errors import ClusterError, ParameterError, import_extra


@final
class Dask(Launcher):
    """A Dask cluster: the one of the current client, or of a given one.

    Args:
        client: A `distributed.Client`; by default the one that was made last.
        max_restarts: How many times a training goes on without workers that were lost.
        silence: A worker without a heartbeat for so many seconds is taken for lost; the time that it computes does not
            matter.

    >>> from swaprank.cluster import Dask
    >>> Dask(silence=20).silence
    20.0
    """

    def __init__(self, client: Any = None, *, max_restarts: int = 3, silence: float = SILENCE_SECONDS) -> None:
        super().__init__(max_restarts=max_restarts, silence=silence)
        if client is not None and not hasattr(client, "scheduler_info"):
            raise ParameterError(
                "client must be a client of Dask, such as distributed.Client('scheduler:8786'); found "
                f"{type(client).__name__}."
            )
        self._given = client
        self._had_workers = False

    @property
    def client(self) -> Any:
        """The client; ClusterError if there is none, or it was closed."""
        client = current_client() if self._given is None else self._given
        if client.status == "closed":
            raise ClusterError("the Dask client was closed: connect again, distributed.Client('scheduler:8786').")
        return client

    def place(self, train: Parts, valid: Mapping[str, Parts], without: Collection[str] = ()) -> Placement:
        """See `Launcher`."""
        again, self._had_workers = self._had_workers, True
        return place(self.client, train, valid, without, self.silence, again)

    def start(self, job: Job, placement: Placement) -> Team:
        """See `Launcher`."""
        return DaskTeam(self.client, job, placement)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Run one training at a time on a cluster: two could wait for ever, each for a thread that the other has.

        A semaphore, and not a lock: the scheduler takes it back from a client that is gone.
        """
        from distributed import Semaphore

        client = self.client
        semaphore = Semaphore(name="swaprank-training", scheduler_rpc=client.scheduler, loop=client.loop)
        try:
            _acquire(semaphore)
            yield
        finally:
            with suppress(Exception):  # The scheduler may be gone, or this training had no turn.
                semaphore.release()
            with suppress(Exception):
                # Otherwise it stays in the loop of the client.
                client.loop.add_callback(semaphore.refresh_callback.stop)


@final
class DaskTeam(Team):
    """The tasks of one attempt, as futures."""

    def __init__(self, client: Any, job: Job, placement: Placement) -> None:
        self._client, self._job, self._workers = client, job, placement.workers
        self._supervisor = Supervisor(client, placement.workers, job.silence)
        self._messages: SimpleQueue[Message | None] = SimpleQueue()
        _TEAMS[job.session] = self
        topic = f"swaprank-{client.id}"
        client.subscribe_topic(topic, _receive)
        # The session is in the key: a task must never be taken for that of another training.
        self._futures = [
            client.submit(
                train_on_worker,
                job,
                shard,
                topic,
                key=f"swaprank-{job.session}-{shard.rank}",
                workers=[worker],
                allow_other_workers=False,
                retries=0,
            )
            for worker, shard in zip(placement.workers, placement.shards, strict=True)
        ]
        for future in self._futures:
            future.add_done_callback(lambda future: self._messages.put(None))

    def receive(self, message: Message) -> None:
        """Keep a message for `wait`; called in a thread of Dask."""
        self._messages.put(message)

    def wait(self, seconds: float) -> Sequence[Message]:
        """See `Team`."""
        found = []
        with suppress(Empty):
            found.append(self._messages.get(timeout=seconds))
            while True:
                found.append(self._messages.get_nowait())
        messages = [message for message in found if message is not None]
        for message in messages:
            if message.address is not None:
                # From here on the others listen to it, by heartbeats that need less of it than Dask's.
                self._supervisor.may_be_silent.add(self._workers[message.rank])
        return messages

    def outcomes(self) -> Sequence[Outcome | None]:
        """See `Team`."""
        # Dask cancels what it cannot compute again: the worker that had it is gone.
        lost = self._supervisor.lost(now=any(future.status == "cancelled" for future in self._futures))
        return [_outcome(future, lost.get(worker)) for worker, future in zip(self._workers, self._futures, strict=True)]

    def tell(self, rank: int, function: Callable[..., object], *arguments: Any) -> None:
        """See `Team`."""
        self._run(rank, function, arguments)

    def ask(self, rank: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """See `Team`."""
        thread, results = self._run(rank, function, arguments)
        end = monotonic() + self._job.silence
        while thread.is_alive() and monotonic() < end:
            thread.join(CHECK_SECONDS)
            if thread.is_alive() and any(outcome is not None for outcome in self.outcomes()):
                break
        return results[0] if results else None

    def _run(self, rank: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Thread, list[Any]]:
        worker, results = self._workers[rank], list[Any]()

        def run() -> None:
            with suppress(Exception):
                found = self._client.run(function, *arguments, workers=[worker], on_error="ignore")
                results.append(found.get(worker))

        # A worker that is stopped never answers: a thread can be left behind.
        thread = Thread(target=run, daemon=True, name="swaprank-call")
        thread.start()
        return thread, results

    def stop(self) -> None:
        """See `Team`."""
        _TEAMS.pop(self._job.session, None)

        def cancel() -> None:
            with suppress(Exception):
                self._client.cancel(self._futures, force=True)

        thread = Thread(target=cancel, daemon=True)
        thread.start()
        thread.join(self._job.silence)


_TEAMS: dict[str, DaskTeam] = {}
"""Those of trainings under way, by session: a client may train several rankers at once."""


def _receive(event: tuple[float, Any]) -> None:
    # Events come as plain tuples.
    message = Message(*event[1])
    if message.address is not None:
        message = message._replace(address=Address(*message.address))
    if message.session in _TEAMS:
        _TEAMS[message.session].receive(message)


def _outcome(future: Any, lost: str | None) -> Outcome | None:
    if future.status == "finished":
        found: WorkerResult | Broken = future.result()
        return found
    if future.status == "error":
        error: BaseException = future.exception()
        return Gone("has ended") if type(error).__name__ == "KilledWorker" else error
    if lost is not None:
        return Gone(lost)
    if future.status == "cancelled":
        return Broken("Dask has cancelled a task: it lost data that the task needs.", None, False, b"")
    return None


@final
class _DaskWorkplace(Workplace):
    """The worker of Dask whose thread this is."""

    def __init__(self, topic: str) -> None:
        from distributed import get_worker
        from distributed.comm.addressing import get_address_host

        self._worker, self._topic = get_worker(), topic
        self._key = self._worker.get_current_task()
        self.name, self.host = self._worker.address, str(get_address_host(self._worker.address))
        self.n_threads, self.folder = int(self._worker.state.nthreads), self._worker.local_directory

    def send(self, message: Message) -> None:
        """See `Workplace`. There is one topic for each client, because Dask never forgets a topic."""
        self._worker.log_event(self._topic, message)

    def cancelled(self) -> bool:
        """See `Workplace`."""
        task = self._worker.state.tasks.get(self._key)
        return task is None or task.state not in ("executing", "long-running")


def train_on_worker(job: Job, shard: Shard, topic: str) -> WorkerResult | Broken:
    """The task of a worker; Dask has replaced the futures in its shard by their values."""
    return train_shard(job, shard, _DaskWorkplace(topic))


def _acquire(semaphore: Any) -> None:
    try:
        while not semaphore.acquire(timeout=CHECK_SECONDS):
            pass
    except OSError as error:
        raise ClusterError(f"the Dask scheduler does not answer: {error}.") from error


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
