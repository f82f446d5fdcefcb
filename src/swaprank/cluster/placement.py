"""Which worker trains on which parts: those that it has, and validation parts in turns."""

from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from time import monotonic
from typing import Any, NamedTuple

from swaprank.cluster.parts import FilePart, Parts
from swaprank.cluster.shares import Given, Share, dealt
from swaprank.cluster.supervision import CHECK_SECONDS, SILENCE_SECONDS, Supervisor, heartbeats
from swaprank.data.dataset import Dataset
from swaprank.errors import ClusterError, DataError


class Placed(NamedTuple):
    """The shares of the workers that take part."""

    workers: list[str]
    """Their addresses, by rank."""
    shares: list[Share]


def place(client: Any, train: Parts, valid: Mapping[str, Parts]) -> Placed:
    """Compute the parts that are not files, and divide all parts among the workers."""
    from distributed import KilledWorker

    try:
        return _placed(client, train, valid)
    except (OSError, CancelledError, KilledWorker) as error:
        # What Dask says of connections and values that a worker took with it.
        raise ClusterError(
            f"the Dask cluster lost a worker while it was given the data: {error}. Try again."
        ) from error


def _placed(client: Any, train: Parts, valid: Mapping[str, Parts]) -> Placed:
    by_worker = _training_parts(client, train)
    workers = sorted(by_worker)
    sets = {name: _givens(client, _in_turns(parts, len(workers)), name) for name, parts in valid.items()}
    divided = {name for name, parts in sets.items() if len(parts) < len(workers)}
    shares = []
    for rank, worker in enumerate(workers):
        own = {name: dealt(parts, rank, len(workers)) for name, parts in sets.items()}
        shares.append(Share(rank, len(workers), by_worker[worker], own, divided))
    return Placed(workers, shares)


def _training_parts(client: Any, train: Parts) -> dict[str, list[Given]]:
    """Files in turns to all workers, and values to those that have them."""
    present, by_worker = sorted(_worker_addresses(client)), dict[str, list[Given]]()
    files = [part for part in train.parts if isinstance(part, FilePart)]
    for number, file in enumerate(files):
        by_worker.setdefault(present[number % len(present)], []).append(Given(file.name, file))
    values = _computed(client, train, "the training data")
    where = client.who_has([each.part for each in values]) if values else {}
    for value in values:
        if not where[_key(value)]:
            raise CancelledError(f"{value.name} was lost")
        by_worker.setdefault(min(where[_key(value)]), []).append(value)
    return by_worker


def _in_turns(parts: Parts, n_workers: int) -> Parts:
    """The parts, with a Dataset of this process divided among the workers: no query is sent twice."""
    first = parts.parts[0]
    if len(parts) > 1 or isinstance(first, FilePart) or not isinstance(first.value, Dataset):
        return parts
    n_parts = min(n_workers, first.value.n_queries)
    return Parts([first.value.subset(slice(turn, None, n_parts)) for turn in range(n_parts)])


def _worker_addresses(client: Any) -> list[str]:
    found = list(heartbeats(client))
    if not found:
        raise ClusterError(
            "the Dask cluster has no workers: start some, or wait for them with client.wait_for_workers(1)."
        )
    return found


def _givens(client: Any, parts: Parts, name: str) -> list[Given]:
    """All parts of a validation set."""
    files = [Given(part.name, part) for part in parts.parts if isinstance(part, FilePart)]
    return files + _computed(client, parts, f"the set '{name}'")


def _computed(client: Any, parts: Parts, where: str) -> list[Given]:
    """The parts that are values, as futures that have been computed, without empty ones."""
    values = [part for part in parts.parts if not isinstance(part, FilePart)]
    if not values:
        return []
    given = [part.value for part in values]
    sent = [client.scatter(each, hash=False) if isinstance(each, Dataset) else each for each in given]
    futures = client.compute(sent)
    sizes = client.map(_n_documents, futures, pure=False)
    _wait(client, sizes)
    found = [
        Given(each.name, future) for each, future, size in zip(values, futures, sizes, strict=True) if size.result()
    ]
    if not found:
        raise DataError(f"{where} has no documents: all of its {len(values):,} parts are empty.")
    return found


def _wait(client: Any, futures: Sequence[Any]) -> None:
    """Until all are computed; raises what one of them raised, or CancelledError if it was lost for good."""
    from distributed import wait

    last_good, supervisor = monotonic(), Supervisor(client)
    while any(future.status in ("pending", "lost") for future in futures):
        with suppress(TimeoutError):
            wait(futures, timeout=CHECK_SECONDS)
        for future in futures:
            if future.status in ("error", "cancelled"):
                future.result()
        supervisor.check()
        # Dask computes again what was lost, and a nanny restarts a worker, both within seconds.
        if heartbeats(client) and all(future.status != "lost" for future in futures):
            last_good = monotonic()
        elif monotonic() - last_good > SILENCE_SECONDS:
            raise CancelledError("it was not computed again")


def _key(given: Given) -> Any:
    future: Any = given.part
    return future.key


def _n_documents(data: Any) -> int:
    return 0 if data is None else len(data)
