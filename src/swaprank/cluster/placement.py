"""Which worker trains on which parts: those that it has, and validation parts in turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from swaprank.cluster.parts import FilePart, Parts
from swaprank.cluster.worker_task import Given, Share
from swaprank.data.dataset import Dataset
from swaprank.errors import ClusterError, DataError


class Placed(NamedTuple):
    """The shares of the workers that take part."""

    workers: list[str]
    """Their addresses, by rank."""
    shares: list[Share]


def place(client: Any, train: Parts, valid: Mapping[str, Parts]) -> Placed:
    """Compute the parts that are not files, and divide all parts among the workers."""
    present = sorted(_worker_addresses(client))
    by_worker: dict[str, list[Given]] = {}
    files = [part for part in train.parts if isinstance(part, FilePart)]
    for number, file in enumerate(files):
        by_worker.setdefault(present[number % len(present)], []).append(Given(file.name, file))
    values = _computed(client, train, "the training data")
    where = client.who_has([each.part for each in values]) if values else {}
    for value in values:
        by_worker.setdefault(min(where[_key(value)]), []).append(value)
    workers = sorted(by_worker)
    dealt = {name: _dealt(_givens(client, parts, name), len(workers)) for name, parts in valid.items()}
    shares = [
        Share(rank, len(workers), by_worker[worker], {name: shares[rank] for name, shares in dealt.items()})
        for rank, worker in enumerate(workers)
    ]
    return Placed(workers, shares)


def _worker_addresses(client: Any) -> list[str]:
    found = list(client.scheduler_info(n_workers=-1)["workers"])
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
    from distributed import wait

    values = [part for part in parts.parts if not isinstance(part, FilePart)]
    if not values:
        return []
    given = [part.value for part in values]
    sent = [client.scatter(each, hash=False) if isinstance(each, Dataset) else each for each in given]
    futures = client.compute(sent)
    wait(futures)
    sizes = client.gather(client.map(_n_documents, futures, pure=False))
    found = [Given(each.name, future) for each, future, n in zip(values, futures, sizes, strict=True) if n]
    if not found:
        raise DataError(f"{where} has no documents: all of its {len(values):,} parts are empty.")
    return found


def _key(given: Given) -> Any:
    future: Any = given.part
    return future.key


def _n_documents(data: Any) -> int:
    return 0 if data is None else len(data)


def _dealt(parts: Sequence[Given], n_workers: int) -> list[list[Given]]:
    """The parts of each worker, in turns; if there are fewer parts than workers, several share the queries of one."""
    dealt: list[list[Given]] = [[] for _ in range(n_workers)]
    for number in range(max(len(parts), n_workers)):
        at = number % len(parts)
        turns = len(range(at, n_workers, len(parts))) if len(parts) < n_workers else 1
        dealt[number % n_workers].append(parts[at]._replace(turn=number // len(parts), turns=turns))
    return dealt
