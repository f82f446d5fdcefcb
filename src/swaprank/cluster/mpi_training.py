"""`fit` in the processes that `mpiexec` started: each reads its files, and MPI adds up."""

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from swaprank.arrays import Ints, row_blocks
from swaprank.cluster.parts import Parts
from swaprank.cluster.shard import Counts, fit_on_shard, make_shard
from swaprank.collective import Collective
from swaprank.errors import ClusterError, DataError, MissingExtraError

_PIECE = 2**27
"""Older versions of MPI count values in 31 bits."""


@final
class MPICollective(Collective):
    """The processes of MPI's world."""

    def __init__(self) -> None:
        self._mpi = _mpi()
        world = self._mpi.COMM_WORLD
        self.rank, self.size = world.Get_rank(), world.Get_size()
        # Threads of a fit take turns.
        if self._mpi.Query_thread() < self._mpi.THREAD_SERIALIZED:
            raise ClusterError("this MPI was built without support of threads: use one that has MPI_THREAD_SERIALIZED.")

    def add(self, values: Ints) -> None:
        """See `Collective`. If a process is gone, MPI ends all of them."""
        for piece in row_blocks(values.size, _PIECE):
            self._mpi.COMM_WORLD.Allreduce(self._mpi.IN_PLACE, values.reshape(-1)[piece], op=self._mpi.SUM)

    def add_own(self, values: Ints, ends: Ints) -> None:
        """See `Collective`."""
        if values.size > _PIECE:
            self.add(values)
            return
        flat, counts = values.reshape(-1), np.diff(ends, prepend=0)
        own = np.empty(int(counts[self.rank]), np.int64)
        self._mpi.COMM_WORLD.Reduce_scatter(flat, own, counts.tolist(), op=self._mpi.SUM)
        flat[int(ends[self.rank]) - own.size : int(ends[self.rank])] = own

    def gather(self, values: Ints) -> Ints:
        """See `Collective`."""
        rows = np.empty((self.size, values.size), np.int64)
        self._mpi.COMM_WORLD.Allgather(np.ascontiguousarray(values.reshape(-1)), rows)
        return rows

    def abort(self, exit_code: int) -> None:
        """End all processes: one of them cannot go on, and the others would wait for it."""
        self._mpi.COMM_WORLD.Abort(exit_code)


def _mpi() -> Any:
    try:
        from mpi4py import MPI
    except ImportError as error:
        # mpi4py may be there, but no library of MPI.
        raise MissingExtraError(
            f"training with MPI needs mpi4py and MPI: pip install 'swaprank[mpi]' ({error})"
        ) from None
    return MPI


def fit_on_mpi(ranker: Any, collective: Collective, train: Parts, valid: Mapping[str, Parts], **fit: Any) -> Counts:
    """Fit the ranker together with all other processes, which make the same call.

    Args:
        ranker: It is fitted in all processes.
        collective: The processes.
        train: Files; at least one for each process.
        valid: The validation sets by name, in files.
        fit: Other arguments of the ranker's `fit_shard`; callbacks and checkpoints in the first process only.

    Returns:
        The sizes of the data of all processes.
    """
    rank, size = collective.rank, collective.size
    if len(train) < size:
        raise DataError(
            f"there are {size} processes, but {len(train)} files to train on: each process needs one. Start fewer, or "
            "divide the files."
        )
    sets = {name: each.parts for name, each in valid.items()}
    return fit_on_shard(ranker, collective, make_shard(rank, size, train.parts[rank::size], sets), **fit)
