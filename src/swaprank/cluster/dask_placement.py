"""Divide the parts among the workers of a Dask cluster: training parts stay where they are, others go in turns."""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from time import monotonic
from typing import Any

from swaprank.cluster.dask_supervisor import CHECK_SECONDS, Supervisor, heartbeats
from swaprank.cluster.launcher import Placement
from swaprank.cluster.parts import DataPart, Parts
from swaprank.cluster.shard import make_shard
from swaprank.data.dataset import Dataset
from swaprank.errors import ClusterError, DataError, Wording


def place(client: Any, train: Parts, valid: Mapping[str, Parts], without: Collection[str], silence: float) -> Placement:
    """Compute the parts that are not files, and divide all parts among the workers."""
    from distributed import KilledWorker

    try:
        by_worker = _training_parts(client, train, without, silence)
        workers = sorted(by_worker)
        sets = {
            name: _available(client, _in_turns(each, len(workers)), f"the set '{name}'", silence)
            for name, each in valid.items()
        }
    except (OSError, CancelledError, KilledWorker) as error:
        # Errors of Dask about connections and values that were lost with a worker.
        raise ClusterError(
            f"the Dask cluster lost a worker while it was given the data: {error}. Try again."
        ) from error
    shards = [make_shard(rank, len(workers), by_worker[worker], sets) for rank, worker in enumerate(workers)]
    return Placement(workers, shards)


def _training_parts(client: Any, train: Parts, without: Collection[str], silence: float) -> dict[str, list[DataPart]]:
    """Files in turns to all workers, and values to those that have them."""
    present = sorted(_worker_addresses(client, without))
    available = _available(client, train, "the training data", silence)
    if available[0].is_file:
        return {worker: available[n :: len(present)] for n, worker in enumerate(present[: len(available)])}
    by_worker: dict[str, list[DataPart]] = {}
    where = client.who_has([part.value for part in available])
    for part in available:
        if not where[part.value.key]:
            raise CancelledError(f"{part.name} was lost")
        by_worker.setdefault(min(where[part.value.key]), []).append(part)
    return by_worker


def _in_turns(parts: Parts, n_workers: int) -> Parts:
    """The parts, with a Dataset of this process divided among the workers: no query is sent twice."""
    first = parts.parts[0]
    if len(parts) > 1 or not isinstance(first.value, Dataset):
        return parts
    n_parts = min(n_workers, first.value.n_queries)
    return Parts([first.value.subset(slice(turn, None, n_parts)) for turn in range(n_parts)])


def _worker_addresses(client: Any, without: Collection[str]) -> list[str]:
    found = [worker for worker in heartbeats(client) if worker not in without]
    if not found:
        raise ClusterError(
            "the Dask cluster has no workers: start some",
            Wording(", or wait for them with client.wait_for_workers(1)", ""),
            ".",
        )
    return found


def _available(client: Any, parts: Parts, where: str, silence: float) -> list[DataPart]:
    """Files as they are; values as futures that have been computed, without empty ones."""
    if parts.parts[0].is_file:
        return list(parts.parts)
    values = [part.value for part in parts.parts]
    futures = client.compute(
        [client.scatter(value, hash=False) if isinstance(value, Dataset) else value for value in values]
    )
    sizes = client.map(_n_documents, futures, pure=False)
    _wait(client, sizes, silence)
    computed = [part._replace(value=future) for part, future in zip(parts.parts, futures, strict=True)]
    found = [part for part, size in zip(computed, sizes, strict=True) if size.result()]
    if not found:
        raise DataError(f"{where} has no documents: all of its {len(parts):,} parts are empty.")
    return found


def _wait(client: Any, futures: Sequence[Any], silence: float) -> None:
    """Wait until all are computed; raises what one of them raised, or CancelledError if it was lost for good."""
    from distributed import wait

    last_good, supervisor = monotonic(), Supervisor(client, None, silence)
    while any(future.status in ("pending", "lost") for future in futures):
        with suppress(TimeoutError):
            wait(futures, timeout=CHECK_SECONDS)
        for future in futures:
            if future.status in ("error", "cancelled"):
                future.result()
        for worker, why in supervisor.lost().items():
            raise ClusterError(f"the worker {worker} of the Dask cluster {why}.")
        # Dask computes again what was lost, and a nanny restarts a worker, both within seconds.
        if heartbeats(client) and all(future.status != "lost" for future in futures):
            last_good = monotonic()
        elif monotonic() - last_good > silence:
            raise CancelledError("it was not computed again")


def _n_documents(data: Any) -> int:
    return 0 if data is None else len(data)
