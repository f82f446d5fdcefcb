"""Training on Spark: a barrier stage with one task a worker, which gets its rows as Arrow batches.

driver                                          tasks
  repartition by query, sort       ─►             rows of whole queries, in order
  port of the driver               ◄─►            messages and calls (driver_port.py)
  nothing                          ◄─             no rows: the model comes through the port

Spark does not repeat a barrier stage that gives results to the driver, so whoever loses a task tells us, and we start
again. Spark chooses the executors.
"""

import os
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic, sleep
from typing import Any, final

import numpy as np

from swaprank.arrays import Ints
from swaprank.cluster.arrow_rows import RowColumns, Rows, evened, whole_queries
from swaprank.cluster.driver_port import DriverConnection, DriverPort
from swaprank.cluster.launcher import Gone, Launcher, Outcome, Placement, Team, check_number
from swaprank.cluster.parts import DataPart, Parts
from swaprank.cluster.shard import Shard
from swaprank.cluster.socket_collective import SILENCE_SECONDS
from swaprank.cluster.spark_rows import SET, arranged
from swaprank.cluster.worker_task import Job, Message, Workplace, train_shard
from swaprank.collective import Collective
from swaprank.errors import ClusterError, DataError, Hint

_TRAIN = "the training data"
_LOOPBACK = "127.0.0.1"
_EXECUTOR_SECONDS = 60.0
"""For executors that are about to start."""
_STOP_SECONDS = 10.0
_LAST_WORDS_SECONDS = 2.0
"""For messages on their way when the job of Spark has ended."""


@final
class Spark(Launcher):
    """The Spark application of a session.

    Args:
        session: Whose executors train; a classic session, not one of Spark Connect.
        n_workers: The number of tasks; by default as many as can run at the same time.
        max_restarts: How many times a training goes on after a task was lost.
        silence: A worker without a heartbeat for so many seconds is taken for lost; the time that it computes does not
            matter.
    """

    def __init__(
        self,
        session: Any,
        n_workers: int | None = None,
        *,
        max_restarts: int = 3,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        super().__init__(max_restarts=max_restarts, silence=silence)
        if n_workers is not None:
            check_number("n_workers", n_workers, 1)
        self._session, self._n_workers = session, n_workers

    def place(self, train: Parts, valid: Mapping[str, Parts], without: Collection[str] = ()) -> Placement:
        """See `Launcher`. Spark itself finds executors for the tasks, and does without those that it has lost."""
        if len(train) > 1 or not isinstance(train.parts[0].value, Rows):
            raise DataError("Spark trains on data frames of Spark, with swaprank.spark.fit.")
        size = _checked_size(self._session, self._n_workers)
        sets = {name: each.parts for name, each in valid.items()}
        shards = [Shard(rank, size, train.parts, sets, ()) for rank in range(size)]
        return Placement([f"Spark task {rank}" for rank in range(size)], shards)

    def start(self, job: Job, placement: Placement) -> Team:
        """See `Launcher`."""
        return SparkTeam(self._session, job, placement.shards[0])


def _checked_size(session: Any, wanted: int | None) -> int:
    """The number of workers: all tasks of a barrier stage run at the same time, or Spark waits for minutes."""
    if ".connect." in type(session).__module__:
        raise ClusterError(
            "training needs a classic Spark session, whose driver is this process; this one is of Spark Connect. "
            "Scoring works with both."
        )
    context = session.sparkContext
    if str(session.conf.get("spark.dynamicAllocation.enabled", "false")).lower() == "true":
        raise ClusterError(
            "Spark runs tasks that wait for each other (barrier stages) only with a fixed number of executors: set "
            "spark.dynamicAllocation.enabled to false."
        )
    end = monotonic() + (0.0 if context._jsc.sc().isLocal() else _EXECUTOR_SECONDS)
    while (slots := _slots(context)) < (wanted or 1) and monotonic() < end:
        sleep(0.5)
    if slots < (wanted or 1):
        raise ClusterError(
            f"Spark can run {slots:,} tasks at the same time, but training needs {wanted or 1:,}, one for each worker: "
            "add executors or cores, let a task have fewer (spark.task.cpus), or take fewer workers, ",
            Hint("n_workers", max(1, slots)),
            ".",
        )
    return wanted or slots


def _slots(context: Any) -> int:
    """The number of tasks that can run at the same time."""
    scala = context._jsc.sc()
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().resourceProfileFromId(0)))


@final
class SparkTeam(Team):
    """The barrier stage of one attempt."""

    def __init__(self, session: Any, job: Job, shard: Shard) -> None:
        self._context, self._job = session.sparkContext, job
        frames = [shard.train[0].value]
        frames += [parts[0].value for parts in shard.valid.values() if isinstance(parts[0].value, Rows)]
        sets = {name: None if isinstance(parts[0].value, Rows) else parts for name, parts in shard.valid.items()}
        frame = arranged(frames, shard.size)
        host, bound = _driver_addresses(self._context)
        self._port = DriverPort(bound, job.secret, shard.size)
        task = _task(job, [rows.columns for rows in frames], sets, (host, self._port.number))
        self._error: BaseException | None = None
        self._ended: float | None = None
        """When the job of Spark has ended."""
        self._thread = _inheriting_thread(self._run, frame, task)
        self._thread.start()

    def wait(self, seconds: float) -> Sequence[Message]:
        """See `Team`."""
        return self._port.wait(seconds)

    def outcomes(self) -> Sequence[Outcome | None]:
        """See `Team`."""
        outcomes = self._port.outcomes()
        if self._ended is None or monotonic() - self._ended < _LAST_WORDS_SECONDS:
            return outcomes
        if not any(map(self._port.has_met, range(len(outcomes)))):
            # Nobody has started: it is an error of the data frame, or of Spark, which starts no task for no rows.
            return [self._error or DataError(f"{_TRAIN} has no rows.")] * len(outcomes)
        # What a worker has sent may be on its way, unless its machine or network is gone.
        may_come = monotonic() - self._ended < self._job.silence
        return [
            each if each is not None or (may_come and self._port.has_met(rank)) else Gone("has ended")
            for rank, each in enumerate(outcomes)
        ]

    def tell(self, rank: int, function: Callable[..., object], *arguments: Any) -> None:
        """See `Team`."""
        self._port.tell(rank, function, arguments)

    def ask(self, rank: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """See `Team`."""
        return self._port.ask(rank, function, arguments, self._job.silence)

    def stop(self) -> None:
        """See `Team`."""
        self._port.close()
        with suppress(Exception):
            self._context.cancelJobGroup(self._job.session)
        self._thread.join(_STOP_SECONDS)

    def _run(self, frame: Any, task: Callable[[Iterable[Any]], Iterator[Any]]) -> None:
        try:
            self._context.setJobGroup(self._job.session, "swaprank training", interruptOnCancel=True)
            frame.mapInArrow(task, "nothing int", barrier=True).collect()
        except BaseException as error:
            self._error = _said_by_task(error) or error
        self._ended = monotonic()
        self._port.wake()


def _driver_addresses(context: Any) -> tuple[str, str]:
    """Where tasks find the driver, and where it listens."""
    if context._jsc.sc().isLocal():
        # Tasks are on this machine, whose name may lead elsewhere: users then set the address to bind to, only.
        return _LOOPBACK, _LOOPBACK
    conf = context.getConf()
    host = conf.get("spark.driver.host")
    return host, conf.get("spark.driver.bindAddress", host)


def _said_by_task(error: BaseException) -> ClusterError | None:
    """The ClusterError of a task that could not tell the driver, from Spark's report."""
    found = re.search(r"swaprank\.errors\.ClusterError: (.*)", str(error))
    return ClusterError(found[1]) if found else None


def _inheriting_thread(target: Callable[..., None], *arguments: Any) -> Thread:
    """A thread with the properties of Spark jobs that this one has, such as a pool of a fair scheduler."""
    from pyspark import InheritableThread

    thread: Thread = InheritableThread(target=target, args=arguments, daemon=True)
    return thread


Sets = Mapping[str, Sequence[DataPart] | None]
"""Validation sets by name: parts of which each worker takes some of the queries, or None if they are among the rows."""


def _task(
    job: Job, columns: Sequence[RowColumns], valid: Sets, driver: tuple[str, int]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function of a task: it trains on its rows, and gives none."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        train_on_rows(batches, job, columns, valid, driver)
        yield from ()

    return run


def train_on_rows(
    batches: Iterable[Any], job: Job, columns: Sequence[RowColumns], valid: Sets, driver: tuple[str, int]
) -> None:
    """The task of a worker; whatever happens is told to the driver, because Spark would make a text of an error.

    Args:
        batches: The rows of this worker.
        job: The training.
        columns: Those of each data set among the rows; the training data comes first.
        valid: The validation sets.
        driver: The driver's port.
    """
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    workers = BarrierCollective(context)
    host = context.getTaskInfos()[workers.rank].address.rpartition(":")[0] if driver[0] != _LOOPBACK else _LOOPBACK
    try:
        connection = DriverConnection(driver, job.secret, workers.rank, host)
    except OSError as error:
        raise ClusterError(
            f"Spark task {workers.rank} on {host} cannot reach the driver at {driver[0]}:{driver[1]}, the address of "
            f"spark.driver.host: {error}. Let executors connect to any port of that address."
        ) from None
    try:
        with TemporaryDirectory(prefix="swaprank-", dir=_local_folder()) as folder:
            shard = _shard(batches, columns, valid, workers, Path(folder))
            connection.finish(train_shard(job, shard, _SparkWorkplace(connection, context, host)))
    except BaseException as error:
        connection.finish(error)


def _shard(
    batches: Iterable[Any], columns: Sequence[RowColumns], valid: Sets, workers: Collective, folder: Path
) -> Shard:
    """The data of this worker."""
    names = [name for name, parts in valid.items() if parts is None]
    where, called = f"Spark partition {workers.rank}", [_TRAIN, *(f"the set '{name}'" for name in names)]
    found = dict(zip(called, whole_queries(batches, SET, columns, where, folder), strict=True))
    train, *sets = evened(workers, found, where).values()
    given = {name: each for name, each in valid.items() if each is not None}
    return Shard(workers.rank, workers.size, train, {**dict(zip(names, sets, strict=True)), **given}, (*given,))


def _local_folder() -> str | None:
    """A folder for temporary files of Spark; None for the usual one."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None


@final
class _SparkWorkplace(Workplace):
    """A task of Spark."""

    def __init__(self, connection: DriverConnection, context: Any, host: str) -> None:
        self._connection = connection
        self.name, self.host = f"Spark task {context.partitionId()} on {host}", host
        self.n_threads, self.folder = int(context.cpus()), _local_folder()

    def send(self, message: Message) -> None:
        """See `Workplace`."""
        self._connection.send(message)

    def cancelled(self) -> bool:
        """See `Workplace`."""
        return self._connection.ended()


@final
class BarrierCollective(Collective):
    """The tasks of a barrier stage, for a few small sums: their values go through Spark's driver."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.rank, self.size = context.partitionId(), len(context.getTaskInfos())

    def add(self, values: Ints) -> None:
        """See `Collective`."""
        texts = self._context.allGather(b64encode(values.tobytes()).decode())
        values[:] = sum(np.frombuffer(b64decode(text), np.int64).reshape(values.shape) for text in texts)
