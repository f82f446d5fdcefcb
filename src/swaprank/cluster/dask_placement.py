"""Divide the parts among the workers of a Dask cluster: training parts stay where they are, others go in turns."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from threading import Thread
from time import monotonic, sleep
from typing import Any

from swaprank.cluster.dask_supervisor import CHECK_SECONDS, Supervisor, heartbeats
from swaprank.cluster.launcher import LostWorkersError, Placement
from swaprank.cluster.parts import DataPart, Parts
from swaprank.cluster.shard import make_shard
from swaprank.data.dataset import Dataset
from swaprank.errors import ClusterError, DataError, Wording


def place(
    client: Any, train: Parts, valid: Mapping[str, Parts], without: Collection[str], silence: float, again: bool
) -> Placement:
    """Compute the parts that are not files, and divide all parts among the workers.

    See `Launcher.place`; again: There were workers before.
    """
    from distributed import KilledWorker

    if without:
        _forget_silent(client, without, silence)
    try:
        present = _worker_addresses(client, without, silence if again else 0.0)
        by_worker = _training_parts(client, train, present, without, silence)
        workers = sorted(by_worker)
        sets = {
            name: _available(client, _in_turns(each, len(workers)), f"the set '{name}'", silence)
            for name, each in valid.items()
        }
    except CancelledError as error:
        raise ClusterError(
            f"parts were lost with a worker of the Dask cluster, and cannot be computed again ({error}): give files, "
            "or delayed values rather than scattered ones."
        ) from error
    except KilledWorker as error:
        raise ClusterError(f"workers of the Dask cluster end when they are given the data: {error}.") from error
    except OSError as error:
        raise LostWorkersError((), f"a worker of the Dask cluster was lost with data: {error}.") from error
    shards = [make_shard(rank, len(workers), by_worker[worker], sets) for rank, worker in enumerate(workers)]
    return Placement(workers, shards)


def _forget_silent(client: Any, lost: Collection[str], silence: float) -> None:
    """Let the scheduler forget workers that it does not hear, either: what they had is then computed again."""
    last = heartbeats(client, silence)
    for worker in lost:
        if worker in last and max(last.values()) - last[worker] > silence / 2:
            with suppress(Exception):  # It has forgotten it meanwhile.
                client.sync(client.scheduler.unregister, address=worker, stimulus_id=f"swaprank-silent-{worker}")


def _training_parts(
    client: Any, train: Parts, present: Sequence[str], without: Collection[str], silence: float
) -> dict[str, list[DataPart]]:
    """Files in turns to all workers that are present, and values to those that have them."""
    available = _available(client, train, "the training data", silence)
    if available[0].is_file:
        return {worker: available[n :: len(present)] for n, worker in enumerate(present[: len(available)])}
    by_worker: dict[str, list[DataPart]] = {}
    where = client.who_has([part.value for part in available])
    for part in available:
        have = where[part.value.key]
        if not have:
            raise LostWorkersError((), f"{part.name} was lost with a worker of the Dask cluster.")
        # If only workers have it that take no part, Dask moves it.
        fewest = min(present, key=lambda worker: len(by_worker.get(worker, ())))
        by_worker.setdefault(min(set(have).difference(without), default=fewest), []).append(part)
    return by_worker


def _in_turns(parts: Parts, n_workers: int) -> Parts:
    """The parts, with a Dataset of this process divided among the workers: no query is sent twice."""
    first = parts.parts[0]
    if len(parts) > 1 or not isinstance(first.value, Dataset):
        return parts
    n_parts = min(n_workers, first.value.n_queries)
    return Parts([first.value.subset(slice(turn, None, n_parts)) for turn in range(n_parts)])


def _worker_addresses(client: Any, without: Collection[str], seconds: float) -> list[str]:
    """All workers; if there are none, those that Dask has within so many seconds."""
    end = monotonic() + seconds
    while True:
        found = [worker for worker in heartbeats(client) if worker not in without]
        if found:
            return sorted(found)
        # Dask starts workers again that ended, if they were started so.
        if monotonic() >= end:
            raise ClusterError(
                "the Dask cluster has no workers: start some",
                Wording(", or wait for them with client.wait_for_workers(1)", ""),
                ".",
            )
        sleep(CHECK_SECONDS)


def _available(client: Any, parts: Parts, where: str, silence: float) -> list[DataPart]:
    """Files as they are; values as futures that have been computed, without empty ones."""
    if parts.parts[0].is_file:
        return list(parts.parts)
    supervisor = Supervisor(client, None, silence)
    values = [part.value for part in parts.parts]
    futures = client.compute([_sent(client, value, supervisor) for value in values])
    sizes = client.map(_n_documents, futures, pure=False)
    try:
        _wait(client, sizes, supervisor, silence)
        # A worker may be lost after it has computed them.
        n_documents = _supervised(lambda: client.gather(sizes), supervisor)
    except CancelledError:
        if not any(isinstance(value, Dataset) for value in values):
            raise
        # They are here still.
        raise LostWorkersError((), "a worker of the Dask cluster was lost with data of the client.") from None
    computed = [part._replace(value=future) for part, future in zip(parts.parts, futures, strict=True)]
    found = [part for part, number in zip(computed, n_documents, strict=True) if number]
    if not found:
        raise DataError(f"{where} has no documents: all of its {len(parts):,} parts are empty.")
    return found


def _sent(client: Any, value: Any, supervisor: Supervisor) -> Any:
    """Data of this process as a future; other values are of Dask already."""
    if isinstance(value, Dataset):
        return _supervised(lambda: client.scatter(value, hash=False), supervisor)
    return value


def _supervised(call: Callable[[], Any], supervisor: Supervisor) -> Any:
    """What a call of Dask returns that alone would wait for a worker that is stopped."""
    # In a thread of its own, which is left behind in that case.
    done: Future[Any] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=run, daemon=True, name="swaprank-call").start()
    while True:
        try:
            return done.result(CHECK_SECONDS)
        except TimeoutError:
            if done.done():
                raise
            _check(supervisor)


def _check(supervisor: Supervisor) -> None:
    for worker, why in supervisor.lost().items():
        raise LostWorkersError([worker], f"the worker {worker} of the Dask cluster {why}.")


def _wait(client: Any, futures: Sequence[Any], supervisor: Supervisor, silence: float) -> None:
    """Wait until all are computed; raises what one of them raised, or CancelledError if it was lost for good."""
    from distributed import wait

    last_good = monotonic()
    while any(future.status in ("pending", "lost") for future in futures):
        with suppress(TimeoutError):
            wait(futures, timeout=CHECK_SECONDS)
        for future in futures:
            if future.status in ("error", "cancelled"):
                future.result()
        _check(supervisor)
        # Dask computes again what was lost, and a nanny restarts a worker, both within seconds.
        if heartbeats(client, silence) and all(future.status != "lost" for future in futures):
            last_good = monotonic()
        elif monotonic() - last_good > silence:
            raise CancelledError("they were not computed again")


def _n_documents(data: Any) -> int:
    return 0 if data is None else len(data)
