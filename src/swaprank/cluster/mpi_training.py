"""`fit` in the processes that `mpiexec` started: each reads its files."""

from collections.abc import Mapping
from typing import Any

from swaprank.cluster.parts import FilePart, Parts
from swaprank.cluster.shares import Given, Share, dealt, read_share
from swaprank.collective import Collective
from swaprank.errors import DataError


def fit_on_mpi(ranker: Any, collective: Collective, train: Parts, valid: Mapping[str, Parts], **fit: Any) -> int:
    """Fit the ranker together with all other processes, which make the same call.

    Args:
        ranker: It is fitted in all processes.
        collective: The processes.
        train: Files; at least one for each process.
        valid: The validation sets by name, in files.
        fit: Other arguments of the ranker's `fit_share`; callbacks and checkpoints of the first process only.

    Returns:
        The number of documents of this process.
    """
    if len(train) < collective.size:
        raise DataError(
            f"there are {collective.size} processes, but {len(train)} files to train on: each process needs one. "
            "Start fewer, or divide the files."
        )
    rank, size = collective.rank, collective.size
    sets = {name: _files(parts) for name, parts in valid.items()}
    own = {name: dealt(parts, rank, size) for name, parts in sets.items()}
    divided = {name for name, parts in sets.items() if len(parts) < size}
    data, shares = read_share(collective, Share(rank, size, _files(train)[rank::size], own, divided))
    ranker.fit_share(data, shares, collective, **(fit if rank == 0 else _of_all(fit)))
    return len(data)


def _of_all(fit: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that processes other than the first are given."""
    return {name: value for name, value in fit.items() if name not in ("callbacks", "checkpoint")}


def _files(parts: Parts) -> list[Given]:
    return [Given(part.name, part) for part in parts.parts if isinstance(part, FilePart)]
