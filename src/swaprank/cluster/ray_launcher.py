"""Training on Ray: an actor for each worker, with the rows of its queries from the object store.

driver                                          actors
  rows of each worker, by reference   ─►            tables, joined
  tell, ask                           ─►            a function beside the task
  next_messages                       ◄─            messages, as soon as there are some
  train                               ◄─            what was learned, or an error
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, final

from swaprank.cluster.arrow_rows import RowColumns, Rows, check_queries, dataset_of
from swaprank.cluster.launcher import Gone, Launcher, Outcome, Placement, Team, check_number
from swaprank.cluster.parts import DataPart, Parts
from swaprank.cluster.ray_rows import divided, joined
from swaprank.cluster.shard import Shard
from swaprank.cluster.socket_collective import SILENCE_SECONDS
from swaprank.cluster.worker_task import Job, Message, Workplace, train_shard
from swaprank.data.dataset import Dataset
from swaprank.errors import ClusterError, DataError, Hint

_START_SECONDS = 60.0
"""For other programs that use the cluster, and for actors to start."""
_POLL_SECONDS = 5.0
"""How long a worker waits for messages that it could send."""


class Pieces(NamedTuple):
    """The rows of a worker in the object store."""

    tables: Sequence[Any]
    """References to tables, or to None for no rows."""
    columns: RowColumns
    in_turns: bool
    """True if all workers are given the same rows, of which each takes some of the queries: there are few."""


@final
class Ray(Launcher):
    """The Ray cluster that this process is connected with.

    Args:
        n_workers: The number of actors; by default as many as there are CPUs for.
        cpus_per_worker: The CPUs of each, and the number of its threads.
        max_restarts: How many times a training goes on without workers that were lost.
        silence: A worker without a heartbeat for so many seconds is taken for lost; the time that it computes does not
            matter.
    """

    def __init__(
        self,
        n_workers: int | None = None,
        cpus_per_worker: int = 1,
        *,
        max_restarts: int = 3,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        super().__init__(max_restarts=max_restarts, silence=silence)
        if n_workers is not None:
            check_number("n_workers", n_workers, 1)
        check_number("cpus_per_worker", cpus_per_worker, 1)
        self._n_workers, self._cpus = n_workers, cpus_per_worker
        self._divided: dict[tuple[int, int], list[Pieces]] = {}

    def place(self, train: Parts, valid: Mapping[str, Parts], without: Collection[str] = ()) -> Placement:
        """See `Launcher`. Ray itself finds machines for the actors, and does without those that it has lost."""
        if len(train) > 1 or not isinstance(train.parts[0].value, Rows):
            raise DataError("Ray trains on data sets of Ray Data, with swaprank.ray.fit.")
        size = self._size()
        own = self._pieces(train.parts[0], size)
        of_sets: dict[str, list[Sequence[DataPart]]] = {}
        given = [name for name, parts in valid.items() if not isinstance(parts.parts[0].value, Rows)]
        for name, parts in valid.items():
            of_sets[name] = [parts.parts] * size if name in given else self._pieces(parts.parts[0], size)
        shards = [
            Shard(rank, size, own[rank], {name: each[rank] for name, each in of_sets.items()}, tuple(given))
            for rank in range(size)
        ]
        return Placement([f"Ray actor {rank}" for rank in range(size)], shards)

    def start(self, job: Job, placement: Placement) -> Team:
        """See `Launcher`."""
        return RayTeam(job, placement, self._cpus)

    def _size(self) -> int:
        import ray

        n_cpus = int(ray.cluster_resources().get("CPU", 0))
        wanted = self._n_workers or max(1, n_cpus // self._cpus)
        if wanted * self._cpus > n_cpus:
            raise ClusterError(
                f"Ray has {n_cpus:,} CPUs, but training needs {wanted * self._cpus:,}: {wanted:,} workers with "
                f"{self._cpus:,} each. If the cluster can grow, let it grow first, with "
                f"ray.autoscaler.sdk.request_resources(num_cpus={wanted * self._cpus}); or take fewer workers, ",
                Hint("n_workers", max(1, n_cpus // self._cpus)),
                ".",
            )
        return wanted

    def _pieces(self, part: DataPart, size: int) -> list[Sequence[DataPart]]:
        """The rows of each worker; divided once, however often training starts."""
        key = id(part.value.data), size
        if key not in self._divided:
            self._divided[key] = pieces_of(part.value, size)
        return [[part._replace(value=each)] for each in self._divided[key]]


def pieces_of(rows: Rows, size: int) -> list[Pieces]:
    """The rows of each worker; if one would have none, all workers share all rows."""
    tables, counts = divided(rows, size)
    if min(counts) > 0:
        return [Pieces(of_worker, rows.columns, in_turns=False) for of_worker in tables]
    everything = [piece for of_worker in tables for piece in of_worker]
    return [Pieces(everything, rows.columns, in_turns=True)] * size


@final
class RayTeam(Team):
    """The actors of one attempt."""

    def __init__(self, job: Job, placement: Placement, cpus: int) -> None:
        import ray
        from ray.util.placement_group import placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        self._ray, self._job, size = ray, job, len(placement.shards)
        # All actors or none: two trainings could wait for each other.
        self._group = placement_group([{"CPU": cpus}] * size, strategy="SPREAD")
        try:
            is_ready = self._group.wait(_START_SECONDS)
        except BaseException:
            # Otherwise it would take the CPUs when they are free.
            ray.util.remove_placement_group(self._group)
            raise
        if not is_ready:
            ray.util.remove_placement_group(self._group)
            raise ClusterError(
                f"Ray has no {size * cpus:,} free CPUs for {_START_SECONDS:.0f} s: other programs use the cluster. Try "
                "later, or take fewer workers, ",
                Hint("n_workers", ...),
                ".",
            )
        worker = ray.remote(RayWorker)
        self._actors = [
            worker.options(
                num_cpus=cpus,
                max_concurrency=8,
                scheduling_strategy=PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=rank),
            ).remote(cpus)
            for rank in range(size)
        ]
        self._outcomes: list[Outcome | None] = [None] * size
        self._tasks = [
            actor.train.remote(job, shard) for actor, shard in zip(self._actors, placement.shards, strict=True)
        ]
        self._streams = {actor.next_messages.remote(): rank for rank, actor in enumerate(self._actors)}

    def wait(self, seconds: float) -> Sequence[Message]:
        """See `Team`."""
        messages = list[Message]()
        ready, _ = self._ray.wait(list(self._streams), timeout=seconds) if self._streams else ([], [])
        for reference in ready:
            rank = self._streams.pop(reference)
            try:
                found, more = self._ray.get(reference)
            except Exception:
                found, more = [], False  # Its task says why.
            messages += found
            if more:
                self._streams[self._actors[rank].next_messages.remote()] = rank
            else:
                # Only now: a task may end before its last messages are here.
                self._outcomes[rank] = self._outcome(rank)
        return messages

    def outcomes(self) -> Sequence[Outcome | None]:
        """See `Team`."""
        return list(self._outcomes)

    def _outcome(self, rank: int) -> Outcome:
        errors = self._ray.exceptions
        try:
            found: Outcome = self._ray.get(self._tasks[rank])
        except errors.RayTaskError as error:
            return error.cause if isinstance(error.cause, BaseException) else ClusterError(str(error))
        except errors.RayError as error:
            first_line = next(iter(str(error).splitlines()), "")
            return Gone(f"has ended: {first_line}")
        return found

    def tell(self, rank: int, function: Callable[..., object], *arguments: Any) -> None:
        """See `Team`."""
        self._actors[rank].call.remote(function, *arguments)

    def ask(self, rank: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """See `Team`."""
        answer = self._actors[rank].call.remote(function, *arguments)
        ready, _ = self._ray.wait([answer, *self._tasks], timeout=self._job.silence)
        with suppress(self._ray.exceptions.RayError):
            return self._ray.get(answer) if answer in ready else None
        return None

    def stop(self) -> None:
        """See `Team`."""
        for actor in self._actors:
            with suppress(Exception):
                self._ray.kill(actor)
        with suppress(Exception):
            self._ray.util.remove_placement_group(self._group)


@final
class RayWorker:
    """The actor of a worker."""

    def __init__(self, n_threads: int) -> None:
        self._n_threads = n_threads
        self._messages: SimpleQueue[Message | None] = SimpleQueue()

    def train(self, job: Job, shard: Shard) -> Outcome:
        """The task: it takes its rows from the object store, and trains.

        Errors are returned: Ray would print those that are raised by workers that nobody asks any more.
        """
        try:
            train = [_loaded(part, shard, "the training data") for part in shard.train]
            sets = {
                name: parts if name in shard.divided else [_loaded(part, shard, f"the set '{name}'") for part in parts]
                for name, parts in shard.valid.items()
            }
            workplace = _RayWorkplace(shard.rank, self._n_threads, self._messages)
            return train_shard(job, shard._replace(train=train, valid=sets), workplace)
        except Exception as error:
            return error
        finally:
            self._messages.put(None)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function beside the task."""
        return function(*arguments)

    def next_messages(self) -> tuple[list[Message], bool]:
        """What there is to say, and whether there may be more; the driver asks again and again."""
        found = list[Message | None]()
        with suppress(Empty):
            found.append(self._messages.get(timeout=_POLL_SECONDS))
            while found[-1] is not None:
                found.append(self._messages.get_nowait())
        return [message for message in found if message is not None], None not in found


class _RowsOfWorker(NamedTuple):
    """The rows of a worker; called, they are a data set. They stay in the object store, and are read for each pass."""

    pieces: Pieces
    rank: int
    size: int
    where: str

    def __call__(self) -> Dataset:
        import ray

        table = joined(ray.get(list(self.pieces.tables)))
        if table is None:
            raise DataError(f"{self.where} has no documents.")
        data = dataset_of(table, self.pieces.columns, self.where)
        if self.pieces.in_turns:
            check_queries(self.where, data.n_queries, self.size)
            return data.subset(slice(self.rank, None, self.size))
        return data


def _loaded(part: DataPart, shard: Shard, where: str) -> DataPart:
    """The part with the rows of this worker."""
    name = f"rows of Ray worker {shard.rank}"
    return DataPart(name, _RowsOfWorker(part.value, shard.rank, shard.size, where))


@final
class _RayWorkplace(Workplace):
    """An actor of Ray."""

    def __init__(self, rank: int, n_threads: int, messages: SimpleQueue[Message | None]) -> None:
        from ray.util import get_node_ip_address

        self._messages = messages
        self.host = get_node_ip_address()
        self.name, self.n_threads = f"Ray actor {rank} on {self.host}", n_threads

    def send(self, message: Message) -> None:
        """See `Workplace`."""
        self._messages.put(message)

    def cancelled(self) -> bool:
        """See `Workplace`. The driver ends the process of an actor, and Ray ends it if the driver is gone."""
        return False
